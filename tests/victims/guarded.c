/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * guarded MODE: takes and gives memory in take_here, on one thread, and guards
 * itself against what a visitor might do, or has a thread that none can stop:
 *
 *	plain	nothing of the kind
 *	mdwe	may make no memory executable (PR_SET_MDWE)
 *	sealed	its import slots are sealed (mseal), before it is visited
 *	late	the same, at the first word `mark`
 *	odd	the program's own are sealed, on pages of code that cannot be
 *		written: not even a tracer puts anything there
 *	worker	a thread of the kernel polls for it (io_uring SQPOLL)
 *
 * Exits 77 before it is ready where the kernel knows no such guard.
 */
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "victim.h"

enum { SET_MDWE = 65, NO_EXEC_GAIN = 1, MSEAL = 462, RING_SETUP = 425 };
enum { SQPOLL = 2, IDLE_MS = 100000 };

static uint64_t taken;
static int unsealed = -1;

__attribute__((noinline)) static void
take_here(uint32_t n)
{
	char *volatile p = malloc(100 + n % 100);

	memset(p, (int)n, 100);
	if (p[99] != (char)n)
		abort();
	free(p);
	taken++;
}

static void *
work(void *arg)
{
	uint32_t seed = 1;

	while (!atomic_load(&victim_over))
		take_here(victim_random(&seed));
	return arg;
}

/* arg: the protection of the pages of the program alone; NULL: as it is, of all
 * objects */
static int
seal_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint64_t start = (info->dlpi_addr + ph->p_vaddr) / page *
			page;
		const uint64_t end = (info->dlpi_addr + ph->p_vaddr +
				      ph->p_memsz) / page * page;

		if (ph->p_type != PT_GNU_RELRO || end <= start ||
		    (arg && mprotect((void *)start, end - start,
				     *(const int *)arg) != 0))
			continue;
		if (syscall(MSEAL, start, end - start, 0) == 0)
			unsealed = 0;
	}
	return arg != NULL;
}

static void
seal(bool odd)
{
	int prot = PROT_READ | PROT_EXEC;

	(void)dl_iterate_phdr(seal_one, odd ? &prot : NULL);
}

static bool
start_worker(void)
{
	uint32_t params[30] = { [2] = SQPOLL, [4] = IDLE_MS };

	return syscall(RING_SETUP, 8, params) >= 0;
}

static void
late_mark(void)
{
	if (unsealed)
		seal(false);
	victim_say("unsealed", (uint64_t)(unsealed != 0));
}

static void
mark(void)
{
	victim_say("taken", taken);
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	const bool late = strcmp(mode, "late") == 0;
	pthread_t thread;

	victim_init();
	if ((strcmp(mode, "mdwe") == 0 &&
	     prctl(SET_MDWE, NO_EXEC_GAIN, 0, 0, 0) != 0) ||
	    (strcmp(mode, "worker") == 0 && !start_worker()))
		return 77;
	if (strcmp(mode, "sealed") == 0 || strcmp(mode, "odd") == 0) {
		seal(strcmp(mode, "odd") == 0);
		if (unsealed)
			return 77;
	}
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(late ? late_mark : mark);
	pthread_join(thread, NULL);
	puts("checksum ok");
	return 0;
}
