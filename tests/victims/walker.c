/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * walker: for whoever steps. Run alone it calls, recurses, loops, calls by a
 * pointer and through libc, and says what came out. With a number it lets so
 * many threads call one function, each so often, and counts the calls; a timer
 * signals the process all the time, and one thread waits in read() for what
 * another one writes. "flags" is for processors that have a trap flag: it puts
 * its flags on the stack and takes them back. "again" executes itself anew.
 * "long" spends its time in one line.
 */
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize ("O0")
#endif
#include <pthread.h>
#include <sys/time.h>

#include "victim.h"

enum { CALLS = 20000, THREADS_MAX = 16 };

static _Atomic unsigned calls, signals;
static int ends[2];

/* Whoever debugs it traces it to its end, and the leak detector of a build with
 * sanitizers, which would trace it, too, fails then. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

static unsigned
add(unsigned a, unsigned b)
{
	unsigned c = a + b;

	return c;
}

static unsigned
factorial(unsigned n)
{
	if (n < 2)
		return 1;
	return n * factorial(n - 1);
}

static unsigned
twice(unsigned n)
{
	return add(n, n);
}

static unsigned
sum(const unsigned *values, unsigned n)
{
	unsigned total = 0;

	for (unsigned i = 0; i < n; i++)
		total = add(total, values[i]);
	return total;
}

static int
alone(void)
{
	unsigned (*by_pointer)(unsigned) = twice;
	const unsigned values[] = { 1, 2, 3 };
	char text[32];
	unsigned x = add(1, 2);

	x += factorial(5);
	x += by_pointer(x);
	x += sum(values, 3);
	snprintf(text, sizeof text, "x is %u", x);
	puts(text);
	return x == 375 ? 0 : 1;
}

static unsigned
one_line(unsigned n)
{
	for (volatile unsigned i = 0; i < n; i++) ;
	return n;
}

/* ---- with threads -------------------------------------------------------- */

static void
on_alarm(int signal)
{
	(void)signal;
	signals++;
}

__attribute__((noinline)) static unsigned
shared(unsigned n)
{
	unsigned next = n + 1;

	next = add(next, 0);
	calls++;
	return next;
}

static void *
caller(void *arg)
{
	unsigned n = 0;
	char byte;

	(void)arg;
	while (n < CALLS)
		n = shared(n);
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	return NULL;
}

static int
together(int n)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } };
	const struct itimerval never = { 0 };
	const struct sigaction act = { .sa_handler = on_alarm,
				       .sa_flags = SA_RESTART };
	pthread_t threads[THREADS_MAX];
	bool ok;

	if (n > THREADS_MAX || pipe(ends) < 0)
		return 99;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, caller, NULL);
	while (calls < (unsigned)n * CALLS)
		usleep(1000);
	for (int i = 0; i < n; i++)
		if (write(ends[1], "x", 1) != 1)
			return 99;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	ok = calls == (unsigned)n * CALLS && signals > 0;
	victim_say("calls", calls);
	puts(ok ? "checksum ok" : "checksum wrong");
	return ok ? 0 : 1;
}

/* ---- the trap flag ------------------------------------------------------- */

__attribute__((noinline)) static int
flags(void)
{
	unsigned long now = 0;

#ifdef __x86_64__
	__asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n pushfq\n pop %0\n"
			 "nop\n popfq\n nop\n lea 128(%%rsp), %%rsp"
			 : "=r"(now) : : "cc", "memory");
#endif
	victim_say("trap_flag", now >> 8 & 1);
	return now >> 8 & 1;
}

int
main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "flags") == 0)
		return flags();
	if (argc > 1 && strcmp(argv[1], "long") == 0) {
		victim_say("long", one_line(100000000));
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "again") == 0) {
		add(1, 1);
		execl(argv[0], argv[0], (char *)NULL);
		return 99;
	}
	return argc > 1 ? together(atoi(argv[1])) : alone();
}
