/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * inherits: prints all that a program gets from whoever starts it, to the
 * descriptor given, so that two starts can be compared.
 * inherits DESCRIPTOR as PROGRAM ARGS...: starts PROGRAM in an odd such state.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void
print_signals(FILE *out)
{
	sigset_t blocked, pending;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	sigpending(&pending);
	for (int s = 1; s <= SIGRTMAX; s++) {
		struct sigaction now;

		if (sigaction(s, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			fprintf(out, "ignored %d\n", s);
		if (sigismember(&blocked, s) == 1)
			fprintf(out, "blocked %d\n", s);
		if (sigismember(&pending, s) == 1)
			fprintf(out, "pending %d\n", s);
	}
}

static void
print_limits(FILE *out)
{
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit r;

		if (getrlimit((__rlimit_resource_t)i, &r) == 0)
			fprintf(out, "limit %d %llu %llu\n", i,
				(unsigned long long)r.rlim_cur,
				(unsigned long long)r.rlim_max);
	}
}

static void
print_file(FILE *out, const char *path)
{
	FILE *in = fopen(path, "re");
	char line[512];

	while (in && fgets(line, sizeof line, in))
		fprintf(out, "%s %s", path, line);
	if (in)
		fclose(in);
}

static void
print_rest(FILE *out, int except)
{
	const mode_t mask = umask(0);
	cpu_set_t cpus;
	int parents_end = 0;

	for (int fd = 0; fd < 256; fd++)
		if (fd != except && fcntl(fd, F_GETFD) >= 0)
			fprintf(out, "descriptor %d flags %x\n", fd,
				(unsigned)fcntl(fd, F_GETFL));
	prctl(PR_GET_PDEATHSIG, &parents_end);
	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof cpus, &cpus);
	fprintf(out, "umask %o cpus %d nice %d policy %d parents %d\n",
		(unsigned)mask, CPU_COUNT(&cpus), getpriority(PRIO_PROCESS, 0),
		sched_getscheduler(0), parents_end);
	fprintf(out, "session %d group %d\n", (int)getsid(0), (int)getpgrp());
	print_file(out, "/proc/self/oom_score_adj");
	print_file(out, "/proc/self/coredump_filter");
	print_file(out, "/proc/self/timerslack_ns");
}

static void
be_odd(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGPIPE, SIGCHLD,
				       SIGWINCH, SIGTSTP, SIGTRAP };
	struct rlimit files = { 100, 100 };
	cpu_set_t one;
	sigset_t some;

	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigaddset(&some, SIGTERM);
	sigaddset(&some, SIGALRM);
	sigaddset(&some, SIGTRAP);
	sigprocmask(SIG_SETMASK, &some, NULL);
	kill(getpid(), SIGUSR1);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &files);
	umask(027);
	if (nice(3) < 0)
		_exit(99);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
}

int
main(int argc, char **argv)
{
	const int fd = argc > 1 ? atoi(argv[1]) : STDOUT_FILENO;
	FILE *out;

	if (argc > 3 && strcmp(argv[2], "as") == 0) {
		be_odd();
		execvp(argv[3], argv + 3);
		return 126;
	}
	out = fdopen(fd, "w");
	if (!out)
		return 99;
	print_signals(out);
	print_limits(out);
	print_rest(out, fd);
	return fclose(out) == 0 ? 3 : 99;
}
