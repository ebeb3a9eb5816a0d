/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes that `record` records: found, named, attached or launched,
 * each with a session and an experiment of its own; several make a group.
 */
#include "recording.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct subject *
add_subject(struct recording *r, pid_t pid, char *path)
{
	if (r->count == SUBJECTS_MAX) {
		free(path);
		fail(FAIL_USAGE, "more than %d processes", SUBJECTS_MAX);
		return NULL;
	}

	struct subject *s = &r->subjects[r->count++];

	*s = (struct subject){ .pid = pid, .path = path };
	return s;
}

static bool
is_subject(const struct recording *r, pid_t pid)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->subjects[i].pid == pid)
			return true;
	return false;
}

static int
add_listed(struct recording *r)
{
	char *list = xstrdup(r->pids), *save = NULL;
	int result = 0;

	for (char *word = strtok_r(list, ",", &save); word && result == 0;
	     word = strtok_r(NULL, ",", &save)) {
		const pid_t pid = target_find(word);

		if (pid < 0)
			result = -1;
		else if (!is_subject(r, pid) && !add_subject(r, pid, NULL))
			result = -1;
	}
	free(list);
	return result == 0 && !r->count ? record_usage() : result;
}

/* ---- a group: X.PID.er each, named in X.erg beside them ------------------ */

/* A name of the settings' directory, as the experiment's own name would be. */
static char *
in_directory(const struct recording *r, const char *stem, const char *end)
{
	const char *dir = r->sh->settings.directory;

	return *stem == '/' || strcmp(dir, ".") == 0 ?
		xasprintf("%s%s", stem, end) :
		xasprintf("%s/%s%s", dir, stem, end);
}

/* X.er -> X; without a name the first test.N that no group has. */
static char *
choose_stem(const struct recording *r)
{
	const char *name = r->sh->settings.experiment;

	if (name)
		return xstrndup(name, strlen(name) - 3);
	for (int n = 1;; n++) {
		char *stem = xasprintf("test.%d", n);
		char *group = in_directory(r, stem, ".erg");
		char *single = in_directory(r, stem, ".er");
		const bool taken = access(group, F_OK) == 0 ||
			access(single, F_OK) == 0;

		free(group);
		free(single);
		if (!taken)
			return stem;
		free(stem);
	}
}

/* Its lines are read relative to where it is. */
static int
write_group(const struct recording *r, const char *stem)
{
	char *name = in_directory(r, stem, ".erg");
	FILE *file = outward_create(name, r->sh->settings.overwrite);
	int result = 0;

	if (!file && errno == EEXIST) {
		fail(FAIL_USAGE, "group %s exists already", name);
		result = fail_remedy("give another name, or replace it: -O "
				     "%s.er", stem);
	} else if (!file) {
		result = fail_errno("write group %s", name);
	} else {
		fputs("#analyzer experiment group\n", file);
		for (size_t i = 0; i < r->count; i++) {
			const char *path = r->subjects[i].path;
			const char *slash = strrchr(path, '/');

			fprintf(file, "%s\n", slash ? slash + 1 : path);
		}
		if (fclose(file) != 0)
			result = fail_errno("write group %s", name);
	}
	free(name);
	return result;
}

static int
make_group(struct recording *r)
{
	char *stem = choose_stem(r);

	for (size_t i = 0; i < r->count; i++)
		r->subjects[i].path = xasprintf("%s.%d.er", stem,
						r->subjects[i].pid);

	const int result = write_group(r, stem);

	if (result == 0)
		r->group = in_directory(r, stem, ".erg");
	free(stem);
	return result;
}

/* ---- children ------------------------------------------------------------ */

/* Every descendant that runs now. */
static int
add_children(struct recording *r, const struct session_process *all, ssize_t n)
{
	const char *founder = session_experiment(r->subjects[0].session);
	int number = 0;

	for (size_t at = 0; at < r->count; at++) {
		for (ssize_t i = 0; i < n; i++) {
			if (all[i].ppid != r->subjects[at].pid ||
			    all[i].pid == getpid())
				continue;
			if (!add_subject(r, all[i].pid, xasprintf("%s/_f%d.er",
							founder, ++number)))
				return -1;
		}
	}
	if (r->count == 1)
		shell_note(r->sh, "process %d has no children",
			   r->subjects[0].pid);
	return 0;
}

/* "idle; its children 812, 813 use 99 % CPU: --children" */
static void
tell_halted(const struct recording *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const pid_t pid = r->subjects[i].pid;
		char *halted = session_why_halted(pid);

		if (halted)
			shell_note(r->sh, "process %d is %s", pid, halted);
		free(halted);
	}
}

static void
tell_idle_master(const struct recording *r, const struct session_process *all,
		 ssize_t n)
{
	const pid_t pid = r->subjects[0].pid;
	struct str list = {0};
	double own = 0, sum = 0;

	for (ssize_t i = 0; i < n; i++) {
		if (all[i].pid == pid)
			own = all[i].cpu_percent;
		if (all[i].ppid != pid || all[i].cpu_percent < 1)
			continue;
		sum += all[i].cpu_percent;
		str_addf(&list, "%s%d", list.len ? ", " : "", all[i].pid);
	}
	if (own < 1 && sum >= 5)
		shell_note(r->sh, "process %d is idle; its children %s use "
			   "%.0f %% CPU: add --children", pid,
			   str_text(&list), sum);
	str_fini(&list);
}

/* ---- start and stop ------------------------------------------------------ */

static int
attach_one(struct subject *s)
{
	s->session = session_attach(s->pid, false);
	return s->session ? 0 : -1;
}

static int
enable_one(struct recording *r, struct subject *s)
{
	struct settings *set = &r->sh->settings;
	char *asked = set->experiment;

	if (s->path)
		set->experiment = s->path;

	const int result = session_enable(s->session, set);

	set->experiment = asked;
	return result;
}

int
record_launch(struct recording *r)
{
	const struct session_launch launch = {
		.argv = r->program,
		.preload = session_wants_preload(&r->sh->settings),
	};

	if (outward_check(r->sh, r->sh->settings.experiment) < 0)
		return -1;

	struct subject *s = add_subject(r, 0, NULL);

	s->session = session_launch(&launch);
	if (!s->session)
		return -1;
	r->launched = true;
	s->pid = session_pid(s->session);
	if (session_enable(s->session, &r->sh->settings) < 0) {
		(void)session_kill(s->session, SIGKILL);
		return -1;
	}
	return session_cont(s->session);
}

/* All of them are there, and ours to look at, before one is recorded. */
static int
start_listed(struct recording *r)
{
	if (outward_check(r->sh, r->sh->settings.experiment) < 0 ||
	    add_listed(r) < 0)
		return -1;
	for (size_t i = 0; i < r->count; i++)
		if (attach_one(&r->subjects[i]) < 0)
			return -1;
	if (r->count > 1 && make_group(r) < 0)
		return -1;
	for (size_t i = 0; i < r->count; i++)
		if (enable_one(r, &r->subjects[i]) < 0)
			return -1;
	return 0;
}

/* It ended between our list and its turn. */
static bool
is_over(void)
{
	return fail_last()->kind == FAIL_MISSING ||
		fail_last()->kind == FAIL_ENDED;
}

static int
start_children(struct recording *r, const struct session_process *all,
	       ssize_t n)
{
	if (add_children(r, all, n) < 0)
		return -1;
	for (size_t i = 1; i < r->count; i++) {
		struct subject *s = &r->subjects[i];

		if (s->session)		/* listed, it is recorded already */
			continue;
		if (attach_one(s) == 0 && enable_one(r, s) == 0)
			continue;
		/* nobody named it; what it used its parent's receipt tells */
		if (is_over())
			fail_clear();
		else
			shell_print_failure(r->sh);	/* others go on */
	}
	return 0;
}

int
record_attach(struct recording *r)
{
	struct session_process *all = NULL;
	int result = 0;

	if (start_listed(r) < 0)
		return -1;
	tell_halted(r);
	if (r->count > 1 && !r->children)
		return 0;

	const ssize_t n = session_processes(NULL, &all);

	if (r->children)
		result = start_children(r, all, n);
	else
		tell_idle_master(r, all, n);
	free(all);
	return result;
}
