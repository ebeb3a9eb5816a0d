/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One visit by the real program: `sonde record -p`, or commands of its shell.
 * One that is to be killed ends at a moment that was drawn, whatever it was
 * doing: the shell, its tracer process, or both at once. We are the reaper of
 * what it leaves, so we know when all of it has ended.
 */
#include "torture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_US = 60000000, FAMILY_MAX = 16 };

static void
speak_into(const char *name)
{
	char *path = path_in(work_dir, name);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	const int nothing = open("/dev/null", O_RDONLY);

	if (fd < 0 || nothing < 0 || dup2(fd, 2) < 0 || dup2(fd, 1) < 0 ||
	    dup2(nothing, 0) < 0)
		_exit(98);
	free(path);
}

static void
become_record(pid_t pid, const struct visit *v, const char *exp)
{
	const char *words[24] = { sonde, "record", "-p" };
	char p[16], d[16], s[16];
	size_t n = 3;

	snprintf(p, sizeof p, "%d", pid);
	snprintf(d, sizeof d, "%ums", v->ms);
	snprintf(s, sizeof s, "%u", v->seed);
	words[n++] = p;
	words[n++] = "-d";
	words[n++] = d;
	words[n++] = "-i";
	words[n++] = "1ms";
	words[n++] = "--engine";
	words[n++] = v->engine;
	words[n++] = "--donor-seed";
	words[n++] = s;
	words[n++] = "-O";
	words[n++] = exp;
	words[n++] = v->states ? "--states" : "--no-states";
	if (v->creators)
		words[n++] = "--creators";
	if (v->traced) {
		words[n++] = "--heap";
		words[n++] = "--sync=all";
		words[n++] = "--io";
	}
	execv(sonde, (char *const *)words);
}

/* Where it stands from the beginning, it runs on for a moment in between. */
static void
become_shell(pid_t pid, const struct visit *v, const char *exp)
{
	char attach[64], between[64], commands[640];

	snprintf(attach, sizeof attach, "attach%s %d", v->stands ? " -stop" :
		 "", pid);
	snprintf(between, sizeof between, v->stands ?
		 "when timer 0.%03u { stop; }; cont" :
		 "sh sleep 0.%03u; collector sample record x", v->ms);
	snprintf(commands, sizeof commands,
		 "%s; collector engine %s; collector store experiment %s; "
		 "collector profile timer 1m; collector states %s; "
		 "collector creators %s; collector heaptrace %s; "
		 "collector synctrace %s; collector iotrace %s; "
		 "collector enable; where; %s; "
		 "collector disable; detach", attach, v->engine, exp,
		 v->states ? "on" : "off", v->creators ? "on" : "off",
		 v->traced ? "on" : "off", v->traced ? "all" : "off",
		 v->traced ? "on" : "off",
		 between);
	execl(sonde, sonde, "--batch", "-c", commands, (char *)NULL);
}

static int
remove_one(const char *path, const struct stat *st, int how, struct FTW *at)
{
	(void)st;
	(void)how;
	(void)at;
	(void)remove(path);
	return 0;
}

static pid_t
begin(pid_t pid, const struct visit *v, const char *words, const char *exp)
{
	char *old = path_in(work_dir, exp);
	pid_t shell;

	(void)nftw(old, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(old);
	shell = fork();
	if (shell != 0)
		return shell;
	speak_into(words);
	if (chdir(work_dir) < 0)
		_exit(98);
	if (v->by_shell)
		become_shell(pid, v, exp);
	else
		become_record(pid, v, exp);
	_exit(97);
}

/* ---- its processes ------------------------------------------------------- */

struct family {
	pid_t pid[FAMILY_MAX];
	size_t n;
};

/* The shell, its tracer process, and what that has started. */
static void
find_family(struct family *f, pid_t pid)
{
	pid_t children[FAMILY_MAX];
	size_t n, i;

	if (f->n == FAMILY_MAX)
		return;
	f->pid[f->n++] = pid;
	n = children_of(pid, children, FAMILY_MAX);
	for (i = 0; i < n; i++)
		find_family(f, children[i]);
}

/* Ours to reap once its parent is gone. */
static bool
has_ended(pid_t pid)
{
	char path[64], *text, *state;
	bool ended;

	(void)waitpid(pid, NULL, WNOHANG);
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	text = read_text(path);
	state = text ? strrchr(text, ')') : NULL;
	ended = !state || state[2] == 'Z' || state[2] == 'X';
	free(text);
	return ended;
}

static bool
is_sonde(pid_t pid)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	return stat(sonde, &ours) == 0 && stat(path, &its) == 0 &&
		ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

/* What was born between our look and the kill: it is ours now. */
static void
find_orphans(struct family *f)
{
	pid_t children[FAMILY_MAX];
	const size_t n = children_of(getpid(), children, FAMILY_MAX);
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < f->n && f->pid[k] != children[i]; k++)
			;
		if (k == f->n && is_sonde(children[i]))
			find_family(f, children[i]);
	}
}

static bool
all_end(const struct family *f)
{
	const uint64_t since = clock_us();
	size_t i;

	for (i = 0; i < f->n; i++)
		while (!has_ended(f->pid[i])) {
			if (clock_us() - since > PATIENCE_US)
				return false;
			rest_ms(1);
		}
	return true;
}

/* ---- what it said -------------------------------------------------------- */

static void
read_stops(const char *text, struct outcome *o)
{
	const char *at = strstr(text, "target stopped ");

	if (!at)
		return;
	if (sscanf(at, "target stopped once for %lf ms", &o->stop_ms) == 1)
		o->stops = 1;
	else
		(void)sscanf(at, "target stopped %u times, for %lf ms",
			     &o->stops, &o->stop_ms);
}

/* Our own line, or what became of the target. */
static void
read_reason(const char *text, struct outcome *o)
{
	const char *at = text;

	while (*at && strncmp(at, "sonde: ", 7) != 0 &&
	       strncmp(at, "the target ", 11) != 0) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	if (!*at)
		at = text;
	if (strncmp(at, "sonde: ", 7) == 0)
		at += 7;
	snprintf(o->reason, sizeof o->reason, "%.*s",
		 (int)strcspn(at, "\n"), at);
}

/* A whole visit looks at the target itself when it leaves. */
static void
read_unclean(const char *text, struct outcome *o)
{
	const char *at = strstr(text, "NOT clean");

	at = at ? at : strstr(text, "could not be stopped");
	o->unclean = at && !o->killed;
	if (o->unclean)
		printf("    its receipt: %.*s\n", (int)strcspn(at, "\n"), at);
}

static void
read_words(const char *words, struct outcome *o)
{
	char *path = path_in(work_dir, words), *text = read_text(path);

	if (text) {
		o->injected = strstr(text, "engine inject,") != NULL;
		read_unclean(text, o);
		read_stops(text, o);
		if (!o->killed && o->status != 0) {
			o->refused = true;
			read_reason(text, o);
		}
	}
	free(text);
	free(path);
}

/* ---- the visit ----------------------------------------------------------- */

static void
wait_us(uint64_t until)
{
	while (clock_us() < until) {
		const uint64_t left = until - clock_us();
		const struct timespec ts = { 0, left > 500 ? 300000 : 20000 };

		(void)nanosleep(&ts, NULL);
	}
}

/* A moment before the usual end; a family that has ended is not killed. */
static void
kill_it(pid_t shell, const struct visit *v, uint64_t since, struct outcome *o)
{
	struct family f = {0};
	bool shell_dies;

	wait_us(since + v->kill_us);
	find_family(&f, shell);
	shell_dies = v->kill != THE_TRACER || f.n < 2;
	if (shell_dies)
		o->killed = kill(shell, SIGKILL) == 0;
	if (v->kill != THE_SHELL && f.n > 1)
		o->killed = kill(f.pid[1], SIGKILL) == 0;
	if (shell_dies) {
		(void)waitpid(shell, NULL, 0);
		find_orphans(&f);
	}
	o->hung = !all_end(&f);
}

static void
wait_for_it(pid_t shell, struct outcome *o)
{
	const uint64_t since = clock_us();
	struct family f = {0};

	while (waitpid(shell, &o->status, WNOHANG) != shell) {
		if (clock_us() - since > PATIENCE_US) {
			find_family(&f, shell);
			while (f.n > 0)
				kill(f.pid[--f.n], SIGKILL);
			waitpid(shell, &o->status, 0);
			o->hung = true;
			return;
		}
		rest_ms(1);
	}
}

void
visit_run(pid_t pid, const struct visit *v, struct outcome *o)
{
	const uint64_t since = clock_us();
	const pid_t shell = begin(pid, v, "visit.err", "visit.er");

	*o = (struct outcome){0};
	if (v->kill != NOBODY)
		kill_it(shell, v, since, o);
	else
		wait_for_it(shell, o);
	o->took_us = (unsigned)(clock_us() - since);
	read_words("visit.err", o);
}

/* Two at once: each works, or is refused because of the other. */
void
visit_race(pid_t pid, const struct visit *v, struct outcome *o)
{
	const pid_t rival = begin(pid, v, "rival.err", "rival.er");
	struct outcome other = {0};

	visit_run(pid, v, o);
	wait_for_it(rival, &other);
	o->hung |= other.hung;
	if (!other.status) {
		read_words("rival.err", &other);
		o->injected |= other.injected;
	}
}

void
reap_strangers(const struct victim *v)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    !info.si_pid || info.si_pid == v->child ||
		    info.si_pid == v->other_tracer)
			return;
		(void)waitpid(info.si_pid, NULL, WNOHANG);
	}
}
