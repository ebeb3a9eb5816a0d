/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ender MILLISECONDS HOW [WORD...]: burns CPU in last_words for that long,
 * counted from its first word on standard input, then ends as told:
 *
 *	exit N		with that status
 *	crash		by SIGSEGV
 *	abort		by SIGABRT
 *	exec PROGRAM...	becomes another program
 *	leader [PROGRAM...]
 *			the first thread ends; another goes on until `end`, and
 *			becomes another program then
 */
#include <pthread.h>

#include "burn.h"
#include "victim.h"

NOINLINE static uint64_t
last_words(uint64_t x, uint64_t ns)
{
	const uint64_t end = victim_clock(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (victim_clock(CLOCK_THREAD_CPUTIME_ID) < end)
		x = burn(x, 10000);
	return x;
}

static void *
go_on(void *arg)
{
	char **program = arg;
	uint64_t x = 1;

	while (!atomic_load(&victim_over))
		x = last_words(x, 1000000);
	if (program[0])
		execv(program[0], program);
	exit(victim_end(true));
}

static void *
serve(void *arg)
{
	(void)arg;
	victim_serve(NULL);
	return NULL;
}

static void
lose_leader(char **program)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, go_on, program) != 0 ||
	    pthread_create(&thread, NULL, serve, NULL) != 0)
		exit(99);
	pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
	const char *how;
	char c;

	if (argc < 3)
		return 99;
	how = argv[2];
	victim_init();
	victim_ready();
	if (strcmp(how, "leader") == 0)
		lose_leader(argv + 3);
	/* as a program that handles nothing */
	signal(SIGTERM, SIG_DFL);
	while (read(0, &c, 1) == 1 && c != '\n')
		;
	printf("going\n");
	if (last_words(1, atoi(argv[1]) * UINT64_C(1000000)) == 0)
		return 99;
	if (strcmp(how, "exit") == 0 && argc == 4)
		return atoi(argv[3]);
	if (strcmp(how, "crash") == 0)
		raise(SIGSEGV);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "exec") == 0 && argc > 3)
		execv(argv[3], argv + 3);
	return 99;
}
