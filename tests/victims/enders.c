/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * enders HOW [FROM]: ends in the way that is asked for, with two threads beside
 * it that wait, and `remains` holding what must be readable to the last:
 *
 *	exit N		by exit(N), in main
 *	other N		by _exit(N), in another thread
 *	last N		by exit(2) of a thread, the last one: main has gone before
 *	abort, segv, div, ill, bus, wild
 *	signal		by SIGTERM, which it waits for
 *	exec N		executes itself, as `exit N`
 *	constructor N	by its constructor
 *
 * FROM `word`: when it has got a word, after `ready PID`.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "victim.h"

volatile long remains = 1;
static volatile uintptr_t nowhere = 16;
static const char readable[] = "not to be written";

static const char *how = "exit", *number = "0";
static pthread_t waiting[2];
static int gate[2];

__attribute__((constructor)) static void
construct(int argc, char **argv)
{
	remains += 20;
	if (argc > 2 && strcmp(argv[1], "constructor") == 0)
		_exit(atoi(argv[2]));
}

static void *
wait_for_ever(void *arg)
{
	char byte;

	while (read(gate[0], &byte, 1) > 0 || errno == EINTR)
		;
	return arg;
}

static void *
end_all(void *arg)
{
	remains += 300;
	_exit(atoi(number));
	return arg;
}

static void *
end_last(void *arg)
{
	char path[64], text[512];
	ssize_t n;

	/* until main is a zombie, by itself */
	(void)snprintf(path, sizeof path, "/proc/self/task/%d/stat",
		       (int)getpid());
	do {
		FILE *file = fopen(path, "re");

		n = file ? (ssize_t)fread(text, 1, sizeof text - 1, file) : 0;
		text[n > 0 ? n : 0] = '\0';
		if (file)
			fclose(file);
	} while (!strstr(text, ") Z "));
	remains += 300;
	syscall(SYS_exit, atoi(number));
	return arg;
}

VICTIM_OWN static int
divide(volatile int a, volatile int b)
{
	return a / b;
}

static void
use_beyond(void)
{
	char name[] = "/tmp/enders.XXXXXX";
	const int fd = mkstemp(name);
	volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	unlink(name);
	remains += page[0];		/* the file has no byte: SIGBUS */
}

static void
end_main(char **argv)
{
	pthread_t last;

	remains += 300;
	if (strcmp(how, "exit") == 0)
		exit(atoi(number));
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segv") == 0)
		*(volatile int *)nowhere = 1;
	if (strcmp(how, "wild") == 0)
		*(volatile char *)(uintptr_t)readable = 1;
	if (strcmp(how, "div") == 0)
		exit(divide(1, 0));
	if (strcmp(how, "ill") == 0)
		__builtin_trap();
	if (strcmp(how, "bus") == 0)
		use_beyond();
	if (strcmp(how, "signal") == 0)
		while (true)
			pause();
	if (strcmp(how, "exec") == 0)
		execl("/proc/self/exe", argv[0], "exit", number, (char *)NULL);
	remains -= 300;
	if (pthread_create(&last, NULL, strcmp(how, "last") ? end_all :
			   end_last, NULL) != 0)
		exit(98);
	if (strcmp(how, "last") == 0)
		syscall(SYS_exit, 0);
	pthread_join(last, NULL);
}

int
main(int argc, char **argv)
{
	char line[64];

	if (argc > 1)
		how = argv[1];
	if (argc > 2)
		number = argv[2];
	signal(SIGTERM, SIG_DFL);
	if (pipe2(gate, O_CLOEXEC) < 0)
		return 99;
	for (int i = 0; strcmp(how, "last") && i < 2; i++)
		if (pthread_create(&waiting[i], NULL, wait_for_ever, NULL) != 0)
			return 99;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (argc > 3 && !fgets(line, sizeof line, stdin))
		return 97;
	end_main(argv);
	return 96;
}
