/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of one thread that runs on a stack which it has made from its
 * heap, where nobody knows what lies below (mission: C3). Its injector is
 * killed before each of the calls that it makes while the thread works for us:
 * the thread comes back, though its own stack has no room for a frame. In rax
 * stands the number of exit_group all the time, and nothing of ours may run as
 * a call of that number. The pages of the main stack that held the frame are
 * as untouched as before.
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

enum { PROGRAMS = 5, CALLS = 12, ODD_STACK = 32768, PAGE = 4096 };

/* ---- the program ------------------------------------------------------------ */

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
		shared->rounds[0]++;
	}
}

static int
run_program(const char *page)
{
	static ucontext_t main_context, odd;
	static char stack[ODD_STACK];

	shared = victim_page_of(page);
	getcontext(&odd);
	odd.uc_stack.ss_sp = stack;
	odd.uc_stack.ss_size = sizeof stack;
	odd.uc_link = &main_context;
	makecontext(&odd, compute_on, 0);
	if (swapcontext(&main_context, &odd) < 0)
		return 99;
	return shared->wrong ? 1 : 0;
}

/* ---- what is left ------------------------------------------------------------- */

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

/* Each killed visit leaves a page: so a new program for every few of them. */
static unsigned
kill_some(unsigned first, unsigned calls)
{
	struct injector in = { .from_borrow = true };
	unsigned touched, killed = 0;
	int status = 0, ended = -1;
	struct target *t;

	in.pid = victim_start("victim", (void **)&shared);
	if (in.pid < 0 || !(t = target_open(in.pid)))
		return 0;
	touched = touched_pages(t);
	if (injector_kill(&in, 100000, &status) || status)
		printf("a whole visit fails: %x\n", status);
	else if (touched_pages(t) != touched)
		printf("%u pages touched, after a visit %u\n", touched,
		       touched_pages(t));
	else
		while (killed < calls &&
		       injector_kill(&in, first + killed, &status) &&
		       goes_on(in.pid))
			killed++;
	shared->at.stop = 1;
	target_close(t);
	waitpid(in.pid, &ended, 0);
	if (killed < calls || ended != 0 || shared->wrong)
		printf("killed before call %u: status %x, wrong %lu\n",
		       first + killed, ended, shared->wrong);
	return ended ? 0 : killed;
}

int
main(int argc, char **argv)
{
	unsigned n, killed = 0;

	if (argc == 3)
		return run_program(argv[2]);
	for (n = 0; n < PROGRAMS; n++)
		killed += kill_some(n * CALLS + 1, CALLS);
	printf("killed %u times\n", killed);
	return killed == PROGRAMS * CALLS ? 0 : 1;
}
