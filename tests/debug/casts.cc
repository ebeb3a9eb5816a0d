/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Casts of pointers by what the object is: the program says what each gives,
 * as the distance from where the whole object begins, or none.
 */
#include <cstdio>

struct V { virtual ~V() {} int v = 1; };
struct A : virtual V { int a = 2; };
struct B : virtual V { int b = 3; };
struct D : A, B { int d = 4; };
struct M : D { int m = 5; };
struct S { virtual ~S() {} int s = 6; };
struct T : S { int t = 7; };
struct W : S { int w = 8; };
struct TT : T, W { int tt = 9; };
struct P : private T { int p = 10; S *up() { return this; } };
struct Q : T, private W { int q; };
struct N { int n = 12; };
struct NN : N { int nn = 13; };
struct X : N, S { int x = 14; };
struct R : virtual V, virtual N { int r = 15; };
struct RR : A, R, T { int rr = 16; };
namespace { struct L : S { int l = 11; }; }
namespace deep { inline namespace er { struct Z : M, L { int z = 17; }; } }
template <class Y, unsigned n> struct G : S { Y y[n] = {}; };
typedef G<int, 3> three;
typedef G<G<char, 2>, 3> nested;

M m; D d; T t; TT tt; P p; Q q; NN nn; L l; G<int, 3> g; X x; RR rr; deep::Z z;
nested ne;
V *vm = &m, *vd = &d, *vr = &rr, *vz = &z;
A *am = &m, *ar = &rr;
B *bm = &m;
S *st = &t, *stt = static_cast<T *>(&tt), *sw = static_cast<W *>(&tt);
S *sp = p.up(), *sl = &l, *sg = &g, *sx = &x, *sr = &rr, *sz = &z, *sn = &ne;
S *sq = static_cast<T *>(&q), *null;
T *tw = &tt;
N *plain = &nn, *nr = &rr;
V &rv = m;
struct Above { virtual ~Above() {} };
Above *local, *other;

#define SAY(whole, e) SAY_AS(whole, e, #e)
/* of what C++ has by dynamic_cast alone */
#define SAY_AS(whole, e, as) \
	say(#whole, as, (const char *)(whole), (const char *)(e))

static void
say(const char *name, const char *expression, const char *whole,
    const char *part)
{
	if (part)
		printf("(char *)(%s) - (char *)(%s)|%ld\n", expression, name,
		       (long)(part - whole));
	else
		printf("(long)(%s)|0\n", expression);
}

static void
say_all()
{
	SAY(&m, dynamic_cast<D *>(vm));
	SAY(&m, dynamic_cast<M *>(vm));
	SAY(&d, dynamic_cast<M *>(vd));
	SAY(&d, dynamic_cast<D *>(vd));
	SAY(&m, dynamic_cast<B *>(am));
	SAY(&m, dynamic_cast<A *>(bm));
	SAY(&m, dynamic_cast<V *>(am));
	SAY(&m, dynamic_cast<void *>(am));
	SAY(&m, dynamic_cast<void *>(vm));
	SAY(&m, dynamic_cast<const void *>(bm));
	SAY(&t, dynamic_cast<T *>(st));
	SAY(&t, dynamic_cast<const T *>(st));
	SAY(&t, dynamic_cast<W *>(st));
	SAY(&tt, dynamic_cast<W *>(stt));
	SAY(&tt, dynamic_cast<T *>(sw));
	SAY(&tt, dynamic_cast<TT *>(sw));
	SAY(&tt, dynamic_cast<S *>(sw));
	SAY(&tt, dynamic_cast<S *>(tw));
	SAY(&tt, dynamic_cast<W *>(tw));
	SAY(&p, dynamic_cast<T *>(sp));
	SAY(&p, dynamic_cast<P *>(sp));
	SAY(&q, dynamic_cast<W *>(sq));
	SAY(&q, dynamic_cast<Q *>(sq));
	SAY(&t, dynamic_cast<T *>(null));
	SAY(&nn, dynamic_cast<N *>(&nn));
	SAY(&m, &dynamic_cast<M &>(rv));
	SAY(&m, &dynamic_cast<B &>(*vm));
	SAY(&l, dynamic_cast<L *>(sl));
	SAY(&l, dynamic_cast<T *>(sl));
	SAY(&g, dynamic_cast<three *>(sg));
	SAY(&g, dynamic_cast<three *>(sl));
	SAY(&ne, dynamic_cast<nested *>(sn));
	SAY(&x, dynamic_cast<X *>(sx));
	SAY(&x, dynamic_cast<N *>(sx));
	SAY(&rr, dynamic_cast<RR *>(vr));
	SAY(&rr, dynamic_cast<R *>(vr));
	SAY(&rr, dynamic_cast<R *>(ar));
	SAY(&rr, dynamic_cast<N *>(ar));
	SAY(&rr, dynamic_cast<T *>(ar));
	SAY(&rr, dynamic_cast<A *>(sr));
	SAY(&rr, dynamic_cast<V *>(sr));
	SAY(&z, dynamic_cast<deep::Z *>(vz));
	SAY(&z, dynamic_cast<deep::Z *>(sz));
	SAY(&z, dynamic_cast<L *>(vz));
	SAY(&z, dynamic_cast<B *>(sz));
	SAY(&nn, static_cast<NN *>(plain));
	SAY(&t, static_cast<T *>(st));
	SAY_AS(&m, dynamic_cast<M *>(vm), "(M *)vm");
	SAY_AS(&m, dynamic_cast<B *>(vm), "(B *)vm");
	SAY_AS(&d, dynamic_cast<D *>(vd), "static_cast<D *>(vd)");
	SAY_AS(&d, dynamic_cast<D *>(vd), "&(D &)*vd");
	SAY_AS(&tt, dynamic_cast<TT *>(sw), "(TT *)sw");
	SAY_AS(&rr, dynamic_cast<R *>(vr), "(R *)vr");
}

static Above *
make(int n)
{
	struct Here : Above { int h; } static here;

	here.h = n;
	return &here;
}

int
main()
{
	struct Here : Above { int h = 18; } static here;

	local = &here;
	other = make(19);
	SAY(&here, dynamic_cast<Here *>(local));
	SAY(&here, dynamic_cast<Here *>(other));
	say_all();
	fflush(stdout);
	return local == nullptr; // here
}
