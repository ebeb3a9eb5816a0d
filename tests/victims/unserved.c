/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread whose stack has pages that nobody serves: a userfaultfd that nobody
 * reads has them. Whoever else touches them sleeps for ever. The thread works
 * below them and never returns. With an argument the pages are there now and
 * then, for a moment each: looked for, found, and gone when they are read. With
 * `args` its command line lies there, too, which only root can do.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "victim.h"

enum { STACK = 1 << 20, PAGE = 4096, DEEP = 10, BLOCK = 4 * PAGE };

static char *stack, *copy;
static int faults;
static bool flickers;
static atomic_ulong sum;
static atomic_bool away;

static void
take_away(void)
{
	char *const from = (char *)(((uintptr_t)__builtin_frame_address(0) &
				     -(uintptr_t)PAGE) + 10 * PAGE);
	const size_t n = (size_t)(stack + STACK - 4 * PAGE - from);
	struct uffdio_copy back = {
		.dst = (uintptr_t)from, .len = n,
		.src = (uintptr_t)(copy + (from - stack)),
	};

	if (atomic_load(&away))
		(void)ioctl(faults, UFFDIO_COPY, &back);
	if (madvise(from, n, MADV_DONTNEED) < 0)
		exit(99);
	atomic_store(&away, true);
}

VICTIM_OWN static void
go_down(int n)
{
	volatile char block[BLOCK];
	struct uffdio_register all = {
		.range = { (uintptr_t)stack, STACK },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	for (int i = 0; i < BLOCK; i += PAGE)
		block[i] = 1;
	if (n) {
		go_down(n - 1);
		block[0] = block[1];
		return;
	}
	memcpy(copy, stack, STACK);
	if (ioctl(faults, UFFDIO_REGISTER, &all) < 0)
		exit(77);
	take_away();
	while (!atomic_load(&victim_over)) {
		atomic_fetch_add(&sum, 1);
		if (flickers)
			take_away();
	}
}

static void *
work(void *arg)
{
	go_down(DEEP);
	return arg;
}

int
main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_attr_t attr;
	pthread_t th;

	const bool args = argc > 1 && strcmp(argv[1], "args") == 0;

	flickers = argc > 1 && !args;
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0)
		return 77;
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	copy = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	victim_init();
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK);
	if (pthread_create(&th, &attr, work, NULL) != 0)
		return 99;
	while (!atomic_load(&away))
		(void)usleep(1000);
	if (args && prctl(PR_SET_MM, PR_SET_MM_ARG_START,
			  stack + STACK - 16 * PAGE, 0, 0) < 0)
		return 77;
	victim_ready();
	victim_serve(NULL);
	return victim_end(atomic_load(&sum) > 0);
}
