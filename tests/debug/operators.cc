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
#ifndef __OPTIMIZE__		/* else nobody can call them */
	SAY(v.size());
	SAY(v.at(1) + 0);
	SAY(v.empty() + 0);
#ifndef __clang__		/* that leaves it to the library's data */
	SAY(s.size());
	SAY(s.length());
#endif
#endif
	fflush(stdout);
	return little == 0; // here
}
