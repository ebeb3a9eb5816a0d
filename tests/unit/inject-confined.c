/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs confined as a whole by a seccomp filter (hazards: FILTER,
 * FILTER_KILLS). One that refuses our calls, or that kills for others than
 * ours, is visited and lives. One that would kill for any of ours, be it for
 * some arguments alone, is refused and lives: with sonde killed on its way in
 * it would die.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"

#define NR	offsetof(struct seccomp_data, nr)
#define ARG(n)	(offsetof(struct seccomp_data, args) + 8 * (n))
#define LOAD(at)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define RETURN(action)	BPF_STMT(BPF_RET | BPF_K, action)
#define IF(op, k, yes, no) BPF_JUMP(BPF_JMP | (op) | BPF_K, k, yes, no)
#define KILL	SECCOMP_RET_KILL_PROCESS

struct filter {
	const char *name;
	bool visited;
	unsigned short len;
	struct sock_filter code[20];
};

/* What the victim's own end and naps need. */
#define OWN \
	IF(BPF_JEQ, SYS_clock_nanosleep, 4, 0), \
	IF(BPF_JEQ, SYS_exit_group, 3, 0), \
	IF(BPF_JEQ, SYS_rt_sigreturn, 2, 0), \
	IF(BPF_JEQ, SYS_restart_syscall, 1, 0), \
	IF(BPF_JEQ, SYS_exit, 0, 1), \
	RETURN(SECCOMP_RET_ALLOW)

static const struct filter filters[] = {
	{ "refuses all other calls", true, 8, {
		LOAD(NR), OWN, RETURN(SECCOMP_RET_ERRNO | 1) } },
	{ "kills for a call of nobody's", true, 4, {
		LOAD(NR), IF(BPF_JEQ, SYS_swapon, 0, 1), RETURN(KILL),
		RETURN(SECCOMP_RET_ALLOW) } },
	{ "kills for all calls above ours", true, 4, {
		LOAD(NR), IF(BPF_JGT, 400 + SYS_clone3, 0, 1), RETURN(KILL),
		RETURN(SECCOMP_RET_ALLOW) } },
	{ "kills by a bit that no call of ours has", true, 5, {
		LOAD(NR), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x40000000),
		IF(BPF_JEQ, 0x40000000, 0, 1), RETURN(KILL),
		RETURN(SECCOMP_RET_ALLOW) } },
	{ "kills for all other calls", false, 8, {
		LOAD(NR), OWN, RETURN(KILL) } },
	{ "traps mprotect", false, 4, {
		LOAD(NR), IF(BPF_JEQ, SYS_mprotect, 0, 1),
		RETURN(SECCOMP_RET_TRAP), RETURN(SECCOMP_RET_ALLOW) } },
	{ "kills for a descriptor", false, 4, {
		LOAD(NR), IF(BPF_JEQ, SYS_memfd_create, 0, 1), RETURN(KILL),
		RETURN(SECCOMP_RET_ALLOW) } },
	{ "kills for code that can be written", false, 6, {
		LOAD(NR), IF(BPF_JEQ, SYS_mmap, 0, 3), LOAD(ARG(2)),
		IF(BPF_JSET, PROT_EXEC, 0, 1), RETURN(KILL),
		RETURN(SECCOMP_RET_ALLOW) } },
	{ "refuses the end of a thread", false, 4, {
		LOAD(NR), IF(BPF_JEQ, SYS_exit, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | 1), RETURN(SECCOMP_RET_ALLOW) } },
	{ "kills by what it has kept", false, 6, {
		LOAD(NR), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_MEM, 3),
		IF(BPF_JEQ, SYS_swapon, 0, 1), RETURN(KILL),
		RETURN(SECCOMP_RET_ALLOW) } },
};

static int
run_program(const char *which, const char *number)
{
	const struct filter *f = &filters[atoi(which)];
	const struct sock_fprog program = {
		.len = f->len, .filter = (struct sock_filter *)f->code,
	};
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct victim_page *page = victim_page_of(number);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(99);
	page->ready = 1;
	while (!page->stop)
		if (clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL) != 0)
			_exit(98);
	_exit(0);
}

/* Told why it did not do as expected, 0: it did. */
static int
visit(struct target *t, const struct filter *f)
{
	const struct guest_options opt = {
		.windows = 8, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 65536, .interval_ns = 10000000,
	};
	struct inject_report report;
	struct guest *g = guest_open(t, &opt, &report);
	int r = 0;

	if (!g && f->visited)
		printf("FAILED: %s: %s\n", f->name, fail_last()->reason);
	if (!g && !f->visited && (fail_last()->kind != FAIL_UNSUITABLE ||
				  !strstr(fail_last()->reason, "seccomp"))) {
		printf("FAILED: %s: refused for: %s\n", f->name,
		       fail_last()->reason);
		return -1;
	}
	if (!g)
		return f->visited ? -1 : 0;
	if (!f->visited) {
		printf("FAILED: %s: not refused\n", f->name);
		r = -1;
	}
	if (guest_stop(g, &report) < 0) {
		printf("FAILED: %s: stop: %s\n", f->name, fail_last()->reason);
		r = -1;
	}
	guest_close(g);
	return r;
}

static int
try_filter(size_t i)
{
	struct victim_page *page;
	char number[8];
	struct target *t;
	int r, status = -1;
	pid_t pid;

	snprintf(number, sizeof number, "%zu", i);
	pid = victim_start(number, (void **)&page);
	t = pid > 0 ? target_open(pid) : NULL;
	if (!t)
		return -1;
	r = visit(t, &filters[i]);
	page->stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	if (status != 0)
		printf("FAILED: %s: the program ended with %#x\n",
		       filters[i].name, (unsigned)status);
	return r < 0 || status != 0 ? -1 : 0;
}

int
main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 3)
		return run_program(argv[1], argv[2]);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		failed |= try_filter(i);
	return failed != 0;
}
