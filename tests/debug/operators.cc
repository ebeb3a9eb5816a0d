/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that an expression means by what they are called with: templates,
 * overloaded ones. The program says what each expression is.
 */
#include <cstdio>
#include <string>
#include <vector>

#define KEPT __attribute__((noinline, used))

template <class T> KEPT T twice(T x) { return x + x; }
template <class T, int n> KEPT T times(T x) { return x * n; }

template <class T> struct Box {
	T v;
	KEPT T get() const { return v; }
	template <class U> KEPT U as() const { return (U)v; }
	template <int n> KEPT int add() { return v + n; }
	template <class U> KEPT U sum(U x) { return x + (U)v; }
	KEPT int size() const { return sizeof v; }
	KEPT static int count() { return 3; }
};

struct Plain {
	int a;
	template <class U> KEPT U get() { return (U)(a + (int)sizeof(U)); }
	KEPT int over(int x) { return x + a; }
	KEPT int over(double x) { return (int)x * a; }
	KEPT int over(const char *) { return 11; }
	KEPT int over() { return a; }
	KEPT int over() const { return a + 100; }
	KEPT int over(int x, int y, ...) { return x - y; }
};

namespace ns { template <class T> KEPT T half(T x) { return x / 2; } }

struct Base { int b = 1; };
struct Derived : Base { int d = 2; };
KEPT int which(int) { return 1; }
KEPT int which(long) { return 2; }
KEPT int which(unsigned long) { return 3; }
KEPT int which(double) { return 4; }
KEPT int which(char) { return 5; }
KEPT int which(const Base *) { return 6; }
KEPT int which(const void *) { return 7; }
KEPT int which(Base &) { return 8; }
KEPT int which(const Base &) { return 9; }
KEPT int which(bool) { return 10; }
KEPT int only(long x) { return (int)x; }

/* ---- operators of classes ---- */

namespace geo {
struct Vec {
	int x, y;
	KEPT Vec operator+(const Vec &o) const { return { x + o.x, y + o.y }; }
	KEPT Vec operator*(int k) const { return { x * k, y * k }; }
	KEPT Vec operator*(double k) const { return { (int)(x * k), 0 }; }
	KEPT Vec operator-() const { return { -x, -y }; }
	KEPT bool operator!() const { return !x && !y; }
	KEPT int operator~() const { return x ^ y; }
	KEPT int &operator[](int i) { return i ? y : x; }
	KEPT int operator[](int i) const { return 100 + (i ? y : x); }
	KEPT int operator()(int a, int c) const { return a * x + c * y; }
	KEPT int operator()() const { return x; }
	KEPT Vec &operator+=(const Vec &o) { x += o.x; y += o.y; return *this; }
	KEPT Vec &operator++() { x += 10; return *this; }
	KEPT int operator++(int) { return x++; }
	friend KEPT bool operator==(const Vec &a, const Vec &o)
	{
		return a.x == o.x && a.y == o.y;
	}
};
KEPT int operator-(const Vec &a, const Vec &o) { return a.x - o.x; }
KEPT Vec operator*(int k, const Vec &a) { return { k * a.x, k * a.y + 1 }; }
KEPT int operator<<(const Vec &a, int n) { return a.x << n; }
template <class T> KEPT int operator<(const Vec &a, T n) { return a.x < n; }
struct Far : Vec { int z = 1; };
struct Big { long l[6]; KEPT Big operator+(long n) const
	{ Big r = *this; for (long &i : r.l) i += n; return r; } };
}
KEPT geo::Vec operator%(const geo::Vec &a, int n) { return { a.x % n, 0 }; }

template <class T> struct Pointer {
	T *p;
	KEPT T &operator*() const { return *p; }
	KEPT T *operator->() const { return p; }
	KEPT bool operator==(const Pointer &o) const { return p == o.p; }
};
struct Nested { Pointer<geo::Vec> in; KEPT Pointer<geo::Vec> &operator->()
	{ return in; } };
enum Colour { RED, GREEN = 4 };
KEPT int operator+(Colour a, const geo::Vec &o) { return a + o.x; }

geo::Vec w{ 3, 4 }, w2{ 30, 40 }, zero{ 0, 0 };
const geo::Vec cw{ 5, 6 };
geo::Far far_one;
geo::Big big{ { 1, 2, 3, 4, 5, 6 } };
geo::Vec &rw = w;
Pointer<geo::Vec> ptr{ &w }, ptr2{ &w2 };
Nested nest{ { &w2 } };
int two = 2;
Colour colour = GREEN;

Box<int> b{ 5 };
Box<double> bd{ 2.5 };
Box<Box<int>> bb{ { 6 } };
Plain p{ 7 };
const Plain cp{ 8 };
std::vector<int> v{ 1, 2, 3 };
std::string s("abc");
Derived der;
const Base cb;
short little = 4;
float f = 2.5f;
unsigned long ul = 9;

KEPT int reached()
{
	asm volatile("" ::: "memory");
	return little == 0; // here
}

static void say(const char *e, double value) { printf("%s|%.6g\n", e, value); }
#define SAY(e) say(#e, (double)(e))

int main()
{
	SAY(twice<int>(3));
	SAY(twice<long>(4));
	SAY(twice<unsigned>(4) + twice<unsigned long>(5) + twice<short>(6));
	SAY(twice<double>(1.5));
	SAY((times<int, 3>(4)));
	SAY((times<long, 3>(4)));
	SAY(ns::half<int>(9));
	SAY(b.get());
	SAY(bd.get());
	SAY(b.as<double>() + b.as<char>());
	SAY(bd.as<int>() + bd.as<unsigned char>());
	SAY(b.add<4>());
	SAY(b.size() + bd.size() + bb.size());
	SAY(bb.get().v);
	SAY(bb.get().get());
	SAY(b.sum<short>(2));
	SAY(b.count() + Box<int>::count());
	SAY((&b)->get());
	SAY(p.get<int>());
	SAY(p.get<long>() + (&p)->get<short>());
	SAY(p.over(1));
	SAY(p.over(1.5));
	SAY(p.over(f));
	SAY(p.over('a'));
	SAY(p.over(little));
	SAY(p.over("text"));
	SAY(p.over());
	SAY(cp.over());
	SAY(p.over(1, 2));
	SAY(p.over(1, 2, 3));
	SAY(which(1));
	SAY(which(1L));
	SAY(which(1UL));
	SAY(which(ul));
	SAY(which(1.5));
	SAY(which(f));
	SAY(which('c'));
	SAY(which(little));
	SAY(which(true));
	SAY(which(&der));
	SAY(which(&cb));
	SAY(which(&little));
	SAY(which(der));
	SAY(which(cb));
	SAY(only(3));
	SAY((w + w2).x);
	SAY((w + w2).y);
	SAY((w * 2).y);
	SAY((w * two).y);
	SAY((w * 1.5).x);
	SAY((2 * w).y);
	SAY((-w).x);
	SAY((!w) + 0);
	SAY((!zero) + 0);
	SAY(~w);
	SAY(w[0] + w[1] * 10);
	SAY(cw[0]);
	SAY(w(1, 2));
	SAY(w());
	SAY((w == w2) + 0);
	SAY((w == rw) + 0);
	SAY(w - w2);
	SAY(w << 3);
	SAY(w < 4);
	SAY((w % 2).x);
	SAY((rw + w2 + w).x);
	SAY((w * 2 + w2 * 3).y);
	SAY((far_one + w).x);
	SAY((far_one[1]) + 0);
	SAY((big + 7).l[5]);
	SAY((big + 7 + 1).l[0]);
	SAY((*ptr).x);
	SAY(ptr->x);
	SAY(ptr->operator()());
	SAY((*ptr)[1] + 0);
	SAY((*ptr + *ptr2).x);
	SAY((ptr == ptr2) + 0);
	SAY(nest->x);
	SAY(colour + w);
	SAY((w += w2).x);
	SAY(w.x);
	SAY((++w).x);
	SAY(w++);
	SAY(w.x);
	SAY((w[1] = 77) + w.y);
	w = geo::Vec{ 3, 4 };
#ifndef __OPTIMIZE__		/* else nobody can call them */
	SAY(v.size());
	SAY(v.at(1) + 0);
	SAY(v.empty() + 0);
	SAY(v[1] + 0);
	SAY(*v.begin() + 0);
	SAY(v.begin()[2] + 0);
	SAY((v.begin() == v.end()) + 0);
#ifndef __clang__		/* that leaves it to the library's data */
	SAY(s.size());
	SAY(s.length());
	SAY((s[1]) + 0);
	SAY((s == "abc") + 0);
	SAY((s != "abd") + 0);
#endif
#endif
	fflush(stdout);
	return reached();
}
