/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * oddity HOW: a process that is special in one way, and content.
 *
 *	plain	it is not
 *	framed	nor is this one, but it computes below a frame of a size
 *		that only its frame pointer tells
 *	private	not dumpable
 *	leader	its first thread has ended, another lives on and serves
 *	locked	all that it maps is locked (mlockall), and it is alone
 *	zombie	it has a child that has ended and is never waited for
 *	strict	in seccomp's strict mode: read, write and exit are all it may
 */
#include <alloca.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "burn.h"
#include "victim.h"

enum { ROUND = 1000000 };

static uint64_t sum, expected;

NOINLINE static void
work_round(void)
{
	sum = burn(sum, ROUND);
	expected = leap(expected, ROUND);
}

static void *
work(void *arg)
{
	(void)arg;
	while (!atomic_load(&victim_over))
		work_round();
	return NULL;
}

static void *
work_framed(void *arg)
{
	volatile char *room = alloca(64 + (size_t)getpid() % 64);

	room[0] = 1;
	(void)work(arg);
	return room[0] ? NULL : arg;
}

/* The rest of the process, without whoever began it. */
static void *
serve(void *arg)
{
	char path[64], state = 0;

	(void)arg;
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	while (state != 'Z') {
		FILE *file = fopen(path, "r");

		if (!file || fscanf(file, "%*d %*s %c", &state) != 1)
			exit(99);
		fclose(file);
	}
	victim_ready();
	victim_serve(NULL);
	exit(victim_end(true));
}

/* Words come byte by byte; only raw calls that the mode allows. */
static void
be_strict(void)
{
	char c = 0;

	if (syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		_exit(99);
	do
		work_round();
	while (read(0, &c, 1) == 1 && c != 'e');
	if (sum != expected || write(1, "checksum ok\n", 12) != 12)
		syscall(SYS_exit, 1);
	syscall(SYS_exit, 0);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "plain";
	pthread_t th;

	victim_init();
	if (strcmp(how, "private") == 0 && syscall(SYS_prctl, PR_SET_DUMPABLE, 0) < 0)
		return 99;
	if (strcmp(how, "leader") == 0) {
		if (pthread_create(&th, NULL, serve, NULL))
			return 99;
		pthread_exit(NULL);
	}
	if (strcmp(how, "zombie") == 0) {
		const pid_t child = fork();

		if (child == 0)
			_exit(0);
		victim_say("child", (uint64_t)child);
	}
	if (strcmp(how, "strict") == 0) {
		victim_ready();
		be_strict();
	}
	if (strcmp(how, "locked") == 0) {
		/* alone: the stack of a thread would be locked, too */
		if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
			return 99;
		victim_ready();
		victim_serve(NULL);
		return victim_end(true);
	}
	if (pthread_create(&th, NULL, strcmp(how, "framed") == 0 ?
			   work_framed : work, NULL))
		return 99;
	victim_ready();
	victim_serve(NULL);
	pthread_join(th, NULL);
	return victim_end(sum == expected);
}
