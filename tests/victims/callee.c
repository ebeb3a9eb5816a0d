/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * callee [threads [serve]]: functions to be called from outside while main
 * computes, with whole numbers, floating ones and what lies below its stack
 * pointer; the threads hold a lock most of the time. What comes out is known.
 * Some fault, abort, jump out, wait or send signals. "serve": it computes until
 * it is told to end.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "burn.h"
#include "victim.h"

enum { ROUNDS = 4000, UNIT = 100, THREADS_MAX = 8, TERMS = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static jmp_buf way_out;
static volatile long called, handled, values, noted;

/* Traced to its end; see walker.c. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

enum colour { RED, GREEN, BLUE };
struct pair { int a, b; };

int
add(int a, int b)
{
	called++;
	return a + b;
}

double
mixed(char c, short s, unsigned char u, long l, float f, double d)
{
	called++;
	return c + 2.0 * s + 4.0 * u + 8.0 * (double)l + 16.0 * (double)f +
		32 * d;
}

long
many(int a, int b, int c, int d, int e, int f, int g, long h, const char *i)
{
	called++;
	return a + 2L * b + 3L * c + 4L * d + 5L * e + 6L * f + 7L * g +
		8 * h + (long)strlen(i);
}

float
half(float f)
{
	return f / 2;
}

enum colour
next_colour(enum colour c)
{
	return c == BLUE ? RED : (enum colour)(c + 1);
}

struct pair
pair_of(int a, int b)
{
	return (struct pair){ a, b };
}

const char *
word(int n)
{
	return n ? "some" : "none";
}

size_t
length(const char *s)
{
	called++;
	return strlen(s);
}

void
nothing(void)
{
	called++;
}

int
crash(int *p)
{
	*p = 1;
	return 0;
}

void
give_up(void)
{
	abort();
}

void
jump_out(void)
{
	longjmp(way_out, 1);
}

/* Out of what it calls itself, not out of itself. */
int
jump_within(void)
{
	jmp_buf back;

	if (setjmp(back))
		return 7;
	longjmp(back, 1);
}

int
rest(int ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
	return ms;
}

/* As rest does, but it is seen running. */
int
spin_for(int ms)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - began.tv_sec) * 1000 +
	       (now.tv_nsec - began.tv_nsec) / 1000000 < ms);
	return ms;
}

/* Later than is watched. */
void
jump_late(void)
{
	rest(150);
	longjmp(way_out, 1);
}

int
take_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 5;
}

int
note_it(int n)
{
	noted = n;
	return n + 1;
}

/* Back before it is handled, if whoever called keeps it for later. */
long
send_one(int value)
{
	const long before = handled;

	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = value });
	return handled - before;
}

static void
on_signal(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	handled++;
	values += info->si_value.sival_int;
}

static void *
hold(void *arg)
{
	(void)arg;
	while (!atomic_load(&victim_over)) {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < 20 && !atomic_load(&victim_over); i++)
			usleep(1000);
		pthread_mutex_unlock(&lock);
		usleep(10);
	}
	return NULL;
}

/* A leaf: the compiler keeps what it needs below the stack pointer. */
NOINLINE static double
series(double x)
{
	volatile double terms[8];
	double sum = 0;

	for (int i = 0; i < TERMS; i++) {
		terms[i % 8] = x / (1 + i);
		sum += terms[i % 8] * (i + x);
	}
	return sum;
}

NOINLINE static uint64_t
tick(uint64_t x)
{
	return burn(x, UNIT);
}

NOINLINE static bool
compute(double wanted, bool serves)
{
	uint64_t x = 1, i = 0;
	double sum = 0;

	for (; serves ? !atomic_load(&victim_over) : i < ROUNDS; i++) {
		x = tick(x);
		sum += series(1.5) - wanted;
	}
	return x == leap(1, i * UNIT) && sum == 0;
}

static void
mark(void)
{
	victim_say("called", (uint64_t)called);
	victim_say("handled", (uint64_t)handled);
	victim_say("values", (uint64_t)values);
	victim_say("noted", (uint64_t)noted);
}

static void *
serve(void *arg)
{
	(void)arg;
	victim_serve(mark);
	return NULL;
}

int
main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 0;
	const bool serves = argc > 2;
	const struct sigaction act = { .sa_sigaction = on_signal,
				       .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t threads[THREADS_MAX + 1];
	volatile bool jumped = false;
	bool ok;

	if (n < 0 || n > THREADS_MAX)
		return 99;
	victim_init();
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, hold, NULL);
	if (serves)
		pthread_create(&threads[n], NULL, serve, NULL);
	victim_ready();
	if (setjmp(way_out))
		jumped = true;
	ok = compute(series(1.5), serves);
	atomic_store(&victim_over, true);
	for (int i = 0; i < n + serves; i++)
		pthread_join(threads[i], NULL);
	mark();
	victim_say("jumped", jumped);
	return victim_end(ok);
}
