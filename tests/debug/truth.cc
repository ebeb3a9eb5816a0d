/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To be looked at by tests/debug-truth.test: what is easily told wrong. */
#include <cstdio>

volatile int sink;
thread_local int of_thread = 77;

/* classes: members defined before they are described, bases that lie apart */
struct A { int a = 1; virtual ~A() {} static int shared; };
int A::shared = 42;
struct B { int b = 2; virtual int vb() { return b; } };
struct C : A, B { int c = 3; };
struct V { int v = 10; virtual ~V() {} };
struct V1 : virtual V { int v1 = 11; };
struct V2 : virtual V { int v2 = 12; };
struct D : V1, V2 { int d = 13; };
template <typename T, int N> struct Row { T data[N]; static T last; };
template <typename T, int N> T Row<T, N>::last = 9;
union U { int i; float f; };

/* two functions by one name, and a tail call from one to the other */
struct First { static int run(int v, int w); };
struct Second { static int run(int v, int w); };
int same = 5;
struct Self {
	Self *me;
	int n, same = 123;
	Self() : me(this), n(4) {}
	int method(int k)
	{
		int loc = k + n;

		puts("method");
		return loc + same;
	}
};
struct pair { const int *a, *b; };

__attribute__((noinline)) int
Second::run(int v, int w)
{
	puts("run");
	sink = 1;
	return 2;
}

__attribute__((noinline)) int
First::run(int v, int w)
{
	sink = v;
	return Second::run(w * 3, v + 100);
}

static inline __attribute__((always_inline)) int
sum(pair p)
{
	puts("sum");
	return *p.a + *p.b + sink;
}

__attribute__((noinline)) int
both(void)
{
	const int x = 11, y = 22;
	pair p = { &x, &y };

	return sum(p);
}

int
main(int argc, char **argv)
{
	C c;
	D d;
	C *pc = &c;
	B *pb = &c;
	D *pd = &d;
	V1 *pv1 = &d;
	V *pv = &d;
	Row<int, 3> row = { { 1, 2, 3 } };
	U u = { 7 };
	Self self;
	int Self::*none = nullptr;

	Row<int, 3>::last += argc;
	puts("main");
	sink = self.method(argc) + First::run(argc + 10, 5) + both();
	return pc->c + pb->b + pd->d + pv1->v1 + pv->v + row.data[0] + u.i +
	       (none != nullptr) + of_thread;
}
