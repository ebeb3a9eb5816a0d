/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To be looked at by tests/debug-*.test: one of each kind of thing. */
#include <string>
#include <vector>
#include <map>
#include <memory>
#include <cstdio>
namespace outer { int counter = 3; namespace inner { struct Point { int x, y; static int made; int sum() const { return x + y; } }; int Point::made = 5; enum class Shape { Round, Square = 4 }; enum Old { OldA, OldB }; }
template <typename T> struct Stack { T items[4]; int top; T peek() const { return items[top - 1]; } }; }
namespace { int hidden = 77; struct Secret { int s; }; }
class Base { public: Base(int v) : base_value(v) {} virtual ~Base() {} virtual int f(int x) { return x + base_value; } int base_value; protected: char tag = 'b'; };
class Mixin { public: long mix = 9; virtual void m() {} };
class Derived : public Base, public Mixin { public: Derived(int v) : Base(v), extra(v * 2) {} int f(int x) override; double extra; static int count; private: int secret = 1; };
int Derived::count = 2;
struct VBase { int vb = 1; }; struct L : virtual VBase { int l = 2; }; struct R : virtual VBase { int r = 3; }; struct D : L, R { int d = 4; };
struct Empty {}; struct OnlyBase : Base { OnlyBase() : Base(8) {} };
int Derived::f(int x)
{
	int local = x + base_value + secret;
	puts("in f");
	return local + (int)extra;
}
static int free_fn(outer::inner::Point &p, const outer::Stack<int> &s, Base *b, std::string &str)
{
	outer::inner::Point q = p; outer::inner::Point *pp = &q;
	outer::inner::Shape sh = outer::inner::Shape::Square; outer::inner::Old old = outer::inner::OldB;
	outer::Stack<double> sd = { { 1.5, 2.5 }, 2 };
	Secret sec = { 4 }; D diamond; Empty empty; OnlyBase ob; int &&rr = 5; bool t = true, f = false;
	int Base::*mp = &Base::base_value; int (Base::*mf)(int) = &Base::f; std::nullptr_t np = nullptr; char16_t c16 = u'x'; const char16_t *s16 = u"wide16"; auto lam = [&](int z) { return z + q.x; };
	std::vector<int> v = { 1, 2, 3 }; std::unique_ptr<int> up(new int(4)); int arr[2][2] = { { 1, 2 }, { 3, 4 } }; Base &bref = *b; int *&pref = *new int *(new int(3));
	{ struct Local { int z; } loc = { 6 }; int r = b->f(loc.z) + lam(1); q.x += r; }
	return q.sum() + s.peek() + (int)sd.peek() + sec.s + diamond.d + (int)sh + (int)old + rr + t + f + b->*mp + (b->*mf)(1) + (np == nullptr) + c16 + s16[0] + (int)v.size() + *up + arr[1][1] + pp->y + hidden + outer::counter + bref.base_value + *pref + ob.base_value + (int)sizeof empty;
}
int main()
{
	outer::inner::Point p = { 10, 20 }; outer::Stack<int> s = { { 1, 2, 3, 4 }, 2 }; Derived d(5); std::string str = "a string";
	return free_fn(p, s, &d, str) > 0 ? 0 : 1;
}
