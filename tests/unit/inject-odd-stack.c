/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of one thread that runs on a stack which it has made from its
 * heap, where nobody knows what lies below (mission: C3). Its injector is
 * killed before each of the calls that it makes while the thread works for us:
 * the thread comes back, though its own stack has no room for a frame. So
 * where the program runs and where a debugger has stopped it, and however deep
 * its main stack is. In rax stands the number of exit_group all the time, and
 * nothing of ours may run as a call of that number. A visit takes a page of the
 * main stack for good, and none that the program has; the next one the same.
 *
 * hazard: NO_ROOM OTHERS_RAX
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base.h"
#include "control.h"
#include "inject.h"
#include "inject-workers.h"
#include "injector.h"

enum { PROGRAMS = 4, CALLS = 24, ODD_STACK = 32768, PAGE = 4096 };
enum { DEEP = 400000, STEP = 1000 };

/* ---- the program --------------------------------------------------------- */

static unsigned char *buffer;	/* on the main stack: it fills by and by */

static void
fill_some(unsigned long round)
{
	if (buffer)
		memset(buffer + round * STEP % DEEP, 0x5a, STEP);
}

static bool
is_filled(unsigned long rounds)
{
	const size_t n = rounds * STEP < DEEP ? rounds * STEP : DEEP;

	for (size_t i = 0; buffer && i < n; i++)
		if (buffer[i] != 0x5a)
			return false;
	return true;
}

static void
compute_on(void)
{
	while (!shared->at.stop) {
		unsigned long turns = 10000000, number = SYS_exit_group;

		shared->at.ready = 1;
		__asm__ volatile(
			"1:	decq %[turns]\n"
			"	jnz 1b\n"
			: [turns] "+r" (turns), "+a" (number)
			:
			: "cc");
		shared->wrong += number != SYS_exit_group;
		fill_some(shared->rounds[0]++);
	}
}

static int
compute(void)
{
	static ucontext_t main_context, odd;
	static char stack[ODD_STACK];

	getcontext(&odd);
	odd.uc_stack.ss_sp = stack;
	odd.uc_stack.ss_size = sizeof stack;
	odd.uc_link = &main_context;
	makecontext(&odd, compute_on, 0);
	if (swapcontext(&main_context, &odd) < 0)
		return 99;
	return shared->wrong || !is_filled(shared->rounds[0]) ? 1 : 0;
}

static __attribute__((noinline)) int
compute_deep(void)
{
	unsigned char room[DEEP];

	__asm__ volatile("" : "=m"(room));
	buffer = room;
	return compute();
}

static int
run_program(const char *how, const char *page)
{
	shared = victim_page_of(page);
	return strcmp(how, "deep") == 0 ? compute_deep() : compute();
}

/* ---- what is left -------------------------------------------------------- */

/* Pages of its main stack that have been used. */
static unsigned
touched_pages(struct target *t)
{
	char *maps = target_maps(t), *line = maps ? strstr(maps, "[stack]") : NULL;
	const int fd = openat(target_proc(t), "pagemap", O_RDONLY | O_CLOEXEC);
	unsigned long from, to, n = 0;
	uint64_t entry;

	while (line && line > maps && line[-1] != '\n')
		line--;
	if (!line || sscanf(line, "%lx-%lx", &from, &to) != 2 || fd < 0)
		abort();
	for (; from < to; from += PAGE)
		n += pread(fd, &entry, sizeof entry,
			   (off_t)(from / PAGE * sizeof entry)) ==
			sizeof entry && entry >> 62;
	close(fd);
	free(maps);
	return (unsigned)n;
}

static bool
goes_on(pid_t pid)
{
	const uint64_t give_up = now_ns() + 60000000000ull;
	const unsigned long from = shared->rounds[0];

	while (now_ns() < give_up && !workers_ended(pid)) {
		if (shared->rounds[0] >= from + 2)
			return true;
		usleep(200);
	}
	return false;
}

static bool
takes_one_page(struct target *t, const struct injector *in, bool deep)
{
	const unsigned before = touched_pages(t);
	int status = 0, i;

	for (i = 0; i < 2; i++)
		if (injector_kill(in, 100000, &status) || status) {
			printf("a whole visit fails: %x\n", status);
			return false;
		}
	/* its own are not known where it fills them */
	printf("%u pages touched, after two visits %u\n", before,
	       touched_pages(t));
	return deep || touched_pages(t) <= before + 1;
}

static unsigned
kill_some(const char *how, bool stands)
{
	struct injector in = { .from_borrow = true };
	unsigned killed = 0;
	int status = 0, ended = -1;
	struct target *t;

	in.pid = victim_start(how, (void **)&shared);
	if (in.pid < 0 || !(t = target_open(in.pid)))
		return 0;
	if (takes_one_page(t, &in, strcmp(how, "deep") == 0)) {
		in.stands = stands;
		while (killed < CALLS &&
		       injector_kill(&in, killed + 1, &status) &&
		       goes_on(in.pid))
			killed++;
	}
	shared->at.stop = 1;
	target_close(t);
	waitpid(in.pid, &ended, 0);
	if (killed < CALLS || ended != 0 || shared->wrong)
		printf("%s%s, killed before call %u: status %x, wrong %lu\n",
		       how, stands ? ", stands" : "", killed + 1, ended,
		       shared->wrong);
	return ended ? 0 : killed;
}

int
main(int argc, char **argv)
{
	unsigned n, killed = 0;

	if (argc == 3)
		return run_program(argv[1], argv[2]);
	for (n = 0; n < PROGRAMS; n++)
		killed += kill_some(n % 2 ? "deep" : "shallow", n / 2);
	printf("killed %u times\n", killed);
	return killed == PROGRAMS * CALLS ? 0 : 1;
}
