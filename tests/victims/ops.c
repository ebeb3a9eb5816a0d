/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ops THREADS ROUNDS PLAIN [deaf]: each thread is an interpreter. All of its
 * operations are called from one place, so all return to that one: in each
 * round `wanted`, PLAIN others, and `wanted` again; which calls itself by way
 * of the interpreter, and in the first round makes a thread, which is an
 * interpreter, too. At last in each round a jump leaves all calls of it at
 * once. They know how often they were in it, and how often they gave up the
 * processor in the others, which do not wait. deaf: the last of them blocks all
 * signals, and does none but others, until the rest have ended.
 */
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>

#include "victim.h"

enum { THREADS_MAX = 16, DEPTH = 3 };
enum { OP_END, OP_PLAIN, OP_WANTED, OP_AIM, OP_FROM, OP_TO, OPS };

static struct interpreter {
	pthread_t thread, child;
	jmp_buf out;
	uint64_t calls, jumps, plain, stops, since;
	void *from;		/* the one place */
	unsigned depth;
	bool is_child, has_child, astray, deaf, aims;
	char padding[128];
} all[2 * THREADS_MAX];
static unsigned count, rounds, plain;
static atomic_uint ended;

typedef void op(struct interpreter *in);
static void run(struct interpreter *in, const unsigned char *at);
static void *work(void *arg);

static const unsigned char deeper[] = { OP_PLAIN, OP_WANTED, OP_PLAIN, OP_END };
static const unsigned char jump[] = { OP_AIM, OP_WANTED, OP_END };
static const unsigned char landed[] = { OP_PLAIN, OP_END };
static const unsigned char start[] = { OP_WANTED, OP_FROM, OP_END };
static const unsigned char stop[] = { OP_TO, OP_WANTED, OP_END };

static void
note_caller(struct interpreter *in, void *from)
{
	in->astray = in->astray || (in->from && in->from != from);
	in->from = from;
}

static uint64_t
given_up(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return (uint64_t)use.ru_nvcsw;
}

static void
plain_one(struct interpreter *in)
{
	note_caller(in, __builtin_return_address(0));
	in->plain++;
}

static void
from_here(struct interpreter *in)
{
	in->since = given_up();
}

static void
to_here(struct interpreter *in)
{
	in->stops += given_up() - in->since;
}

VICTIM_OWN static void
wanted(struct interpreter *in)
{
	struct interpreter *const child = in + THREADS_MAX;

	note_caller(in, __builtin_return_address(0));
	in->calls++;
	if (!in->has_child && !in->is_child) {
		child->is_child = true;
		in->has_child = pthread_create(&in->child, NULL, work,
					       child) == 0;
	}
	if (++in->depth < DEPTH)
		run(in, deeper);
	else if (in->aims)
		longjmp(in->out, 1);
	in->depth--;
}

static void
aim(struct interpreter *in)
{
	in->aims = true;
}

static op *const ops[OPS] = {
	[OP_PLAIN] = plain_one, [OP_WANTED] = wanted, [OP_AIM] = aim,
	[OP_FROM] = from_here, [OP_TO] = to_here,
};

VICTIM_OWN static void
run(struct interpreter *in, const unsigned char *at)
{
	for (; *at != OP_END; at++) {
		ops[*at](in);
		__asm__ volatile("" ::: "memory");
	}
}

VICTIM_OWN static void
be_left(struct interpreter *in)
{
	if (setjmp(in->out) == 0)
		run(in, jump);
	in->jumps++;
	in->aims = false;
	in->depth = 0;
	run(in, landed);
}

static bool
begin(struct interpreter *in)
{
	sigset_t every, before;
	bool ok;

	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, in->deaf ? &every : NULL, &before);
	ok = pthread_create(&in->thread, NULL, work, in) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

static void *
work(void *arg)
{
	struct interpreter *const in = arg;
	unsigned char *const many = malloc(plain + 1);

	if (!many)
		exit(99);
	memset(many, OP_PLAIN, plain);
	many[plain] = OP_END;
	while (in->deaf && ended < 2 * (count - 1))
		run(in, many);
	for (unsigned i = 0; !in->deaf && i < rounds; i++) {
		run(in, start);
		run(in, many);
		run(in, stop);
		be_left(in);
	}
	ended++;
	free(many);
	return NULL;
}

/* All that was done; each from the one place? */
static bool
tell(void)
{
	uint64_t calls = 0, jumped = 0, others = 0, stops = 0;
	bool ok = true;

	for (unsigned i = 0; i < 2 * THREADS_MAX; i++) {
		calls += all[i].calls;
		jumped += all[i].jumps;
		others += all[i].plain;
		stops += all[i].stops;
		ok = ok && !all[i].astray &&
			(!all[i].from || all[i].from == all[0].from);
	}
	victim_say("calls", calls);
	victim_say("jumps", jumped);
	victim_say("plain", others);
	victim_say("stops", stops);
	return ok;
}

int
main(int argc, char **argv)
{
	bool ok;

	count = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
	rounds = argc > 3 ? (unsigned)atoi(argv[2]) : 0;
	plain = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	if (count < 1 || count > THREADS_MAX)
		return 99;
	all[count - 1].deaf = argc > 4;
	for (unsigned i = count; i-- > 0;)
		if (!begin(&all[i]))
			return 99;
	for (unsigned i = 0; i < count; i++)
		pthread_join(all[i].thread, NULL);
	for (unsigned i = 0; i < count; i++)
		if (all[i].has_child)
			pthread_join(all[i].child, NULL);
	ok = tell();
	printf("checksum %s\n", ok ? "ok" : "wrong");
	return !ok;
}
