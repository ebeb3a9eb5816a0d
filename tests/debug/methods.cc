// SPDX-License-Identifier: GPL-3.0-or-later
// methods: of objects, by references, by their tables; and exceptions that stay
// within the function that is called, or do not.
#include <cstdio>
#include <stdexcept>

struct base {
	double value;
	explicit base(double x) : value(x) {}
	double twice(int k) const { return value * k; }
	virtual int made(int a) { return a + 1; }
};

struct other {
	int n = 40;
	int more(int k) { return n += k; }
	virtual long wide(long a) { return a + n; }
};

struct derived : base, other {
	derived() : base(2.5) {}
	int made(int a) override { return a + 100; }
	long wide(long a) override { return 2 * a + n; }
};

int throws(int n)
{
	if (n)
		throw std::runtime_error("out");
	return 4;
}

int catches(int n)
{
	try {
		return throws(n);
	} catch (std::exception &) {
		return -7;
	}
}

int over(int a) { return a; }
double over(double a) { return a * 2; }
int by_reference(const int &r) { return r + 1; }

double of_base(const base &b) { return b.value; }

int work(int i) { return i * 3; }

int main()
{
	derived d;
	base &b = d;
	other *o = &d;
	long sum = 0;

	try {
		for (int i = 0; i < 2000; i++)
			sum += work(i) + b.made(i) - (int)b.twice(2) +
				by_reference(i) + (o->wide(1) - d.wide(1));
	} catch (...) {
		puts("caught in main");
		return 9;
	}
	printf("sum %ld, %d\n", sum, d.more(0) + catches(0) + over(1));
	return over(1.5) == 3 ? 0 : 1;
}
