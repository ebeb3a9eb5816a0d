/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a collection writes of the target and of itself into its experiment,
 * and what it tells of its progress. When: session.c.
 */
#include "collection.h"
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of our descriptors, for the files and clocks of a recording of one thread. */
enum { FILES_LEAST = 16 };

/* ---- what it says of the target ------------------------------------------ */

/* Within target_proc: the first thread of the process may have ended. */
static char *
path_of(struct target *t, const char *name)
{
	return xasprintf("task/%d/%s", process_living(target_pid(t)), name);
}

static char *
read_link(struct target *t, const char *name)
{
	char path[PATH_MAX], *at = path_of(t, name);
	const ssize_t n = readlinkat(target_proc(t), at, path, sizeof path);

	free(at);
	return n > 0 ? xstrndup(path, (size_t)n) : xstrdup("/");
}

/* Words of the command line, joined by blanks; its name for a kernel view. */
static char *
command_of(struct target *t)
{
	size_t size;
	char *at = path_of(t, "cmdline");
	/* it is the target's memory, and may never come */
	char *text = foreign_text(target_proc(t), at, &size);

	free(at);
	if (!text || !size) {
		free(text);
		return xstrdup(target_name(t));
	}
	for (size_t i = 0; i + 1 < size; i++)
		if (!text[i])
			text[i] = ' ';
	return text;
}

static void
ids_of(struct target *t, struct experiment_info *info)
{
	struct task_stat st;

	(void)target_stat(t, &st);	/* gone: zeros */
	info->ppid = (pid_t)st.field[STAT_PPID];
	info->pgrp = (pid_t)st.field[STAT_PGRP];
	info->sid = (pid_t)st.field[STAT_SID];
}

/* ---- its life ------------------------------------------------------------ */

char *
collection_place(const struct settings *s, const char *name)
{
	if (name[0] == '/' || strcmp(s->directory, ".") == 0)
		return xstrdup(name);
	return xasprintf("%s/%s", s->directory, name);
}

char *
collection_choose_path(const struct settings *s)
{
	char *name = s->experiment ? xstrdup(s->experiment) :
		experiment_next_name(s->directory, "test");
	char *path = collection_place(s, name);

	free(name);
	return path;
}

/* What needs to have seen the beginning. */
static int
may_be_kept(const struct settings *s)
{
	const char *what = s->heap ? "heaptrace" : s->io ? "iotrace" :
		s->creators ? "creators" :
		s->children ? "recording of children" :
		!s->profile ? "profile off" : NULL;

	if (!what)
		return 0;
	fail(FAIL_USAGE, "%s does not go with keeping the last %.1f s alone",
	     what, (double)s->keep_ns / 1e9);
	return fail_remedy("collector keep off, or without it");
}

/* The user whose process it is, by the real ids: of a set-uid program the one
 * who has run it. */
static void
note_owner(struct collection *c)
{
	char *at = path_of(c->target, "status");
	char *text = file_read_at(target_proc(c->target), at, NULL);
	const char *uid = text ? strstr(text, "\nUid:\t") : NULL;
	const char *gid = text ? strstr(text, "\nGid:\t") : NULL;

	if (uid && gid) {
		c->owner = (uid_t)strtoul(uid + strlen("\nUid:\t"), NULL, 10);
		c->group = (gid_t)strtoul(gid + strlen("\nGid:\t"), NULL, 10);
	}
	free(text);
	free(at);
}

/*
 * Where a recording has no descriptor left it may look as if the target were
 * gone, and there is none to remove half an experiment with: so room for the
 * files that it cannot do without is asked for before there is anything.
 */
static int
check_descriptors(void)
{
	int fds[FILES_LEAST], n = 0, error = 0;

	while (n < FILES_LEAST && !error) {
		fds[n] = open("/", O_PATH | O_CLOEXEC);
		error = fds[n] < 0 ? errno : 0;
		n += !error;
	}
	while (n > 0)
		close(fds[--n]);
	if (error != EMFILE && error != ENFILE)
		return 0;
	fail(FAIL_GENERAL, "too many open files: a recording needs room for "
	     "%d more", FILES_LEAST);
	return fail_remedy("raise ulimit -n");
}

int
collection_create(struct collection *c, bool attached)
{
	if (check_descriptors() < 0)
		return -1;

	struct experiment_info info = {
		.path = c->path, .overwrite = c->settings.overwrite,
		.provisional = true,
		.pid = target_pid(c->target), .attached = attached,
		.interval_ns = c->settings.interval_ns,
		.start_ns = c->start_ns, .limit_mb = c->settings.limit_mb,
		.owner = (uid_t)-1, .group = (gid_t)-1,
	};
	char *cwd = read_link(c->target, "cwd");
	char *command = command_of(c->target);

	info.cwd = cwd;
	info.command = command;
	ids_of(c->target, &info);
	if (!c->settings.keep_ns)
		c->exp = experiment_create(&info);
	else if (may_be_kept(&c->settings) == 0)
		c->exp = experiment_keep(&info, c->settings.keep_ns);
	free(cwd);
	free(command);
	if (!c->exp)
		return -1;
	if (!c->settings.keep_ns)
		c->dir_fd = experiment_directory(c->exp);
	note_owner(c);
	collection_note_children(c);
	return 0;
}

/* ---- how it was recorded ------------------------------------------------- */

int
collection_write_notes(struct collection *c)
{
	if (!c->settings.notes)
		return 0;

	const int fd = openat(c->dir_fd, "notes", O_WRONLY | O_CREAT | O_EXCL |
			      O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
	int result = 0;

	if (fd < 0 ||
	    write_all(fd, c->settings.notes, strlen(c->settings.notes)) < 0)
		result = fail_errno("write %s/notes", c->path);
	if (fd >= 0)
		close(fd);
	return result;
}

void
collection_write_engine(struct collection *c)
{
	char interval[32];

	snprintf(interval, sizeof interval, "%.3f",
		 (double)c->settings.interval_ns / 1e3);
	experiment_event(c->exp, now_ns(), "sonde_settings",
			 (const char *const[]){
				 "engine", recorder_engine(c->rec),
				 "engine_why", recorder_why(c->rec),
				 "interval_us", interval, NULL });
}

void
collection_write_threads(struct collection *c)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(c->target, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		struct thread_facts f;

		if (target_thread_facts(c->target, tids[i], &f) == 0)
			recorder_thread_name(c->rec, now_ns(), tids[i], f.name);
	}
	free(tids);
}

/* ---- children ------------------------------------------------------------ */

void
collection_note_children(struct collection *c)
{
	for (pid_t pid; c->rec && (pid = recorder_next_descendant(c->rec));)
		offspring_meet(&c->offspring, pid);
	offspring_note(&c->offspring, c->target);
}

/* ---- resource samples ---------------------------------------------------- */

uint64_t
collection_read_usage(struct collection *c)
{
	return usage_read(c->target, c->rec, &c->usage);
}

void
collection_take_sample(struct collection *c, const char *label,
		       uint64_t time_ns)
{
	const uint64_t now = collection_read_usage(c);

	usage_read_switches(&c->switches, c->target, &c->usage, USAGE_SOME);
	experiment_sample(c->exp, time_ns ? time_ns : now, label, &c->usage);
}

/* ---- how far it is ------------------------------------------------------- */

/* CPU time of the process while clocks were on. */
static uint64_t
clock_of(struct collection *c, const struct recorder_counts *n)
{
	uint64_t now;

	if (!n->clock_on || target_cpu_ns(c->target, &now) < 0)
		return n->clock_ns;
	return n->clock_ns + now - n->clock_start_ns;
}

void
collection_progress(struct collection *c, struct session_progress *out)
{
	static const struct recorder_counts none;
	const struct recorder_counts *n =
		c->rec ? recorder_counts(c->rec) : &none;

	const uint64_t refused = experiment_disk_lost_samples(c->exp);
	const struct target_marks *marks = target_marks(c->target);

	*out = (struct session_progress){
		.elapsed_ns = now_ns() - c->start_ns,
		.samples = n->samples - refused,
		.lost = n->lost + refused, .stacks_failed = n->failed,
		.calls_lost = n->calls_lost,
		.recorded_cpu_ns = n->recorded_ns,
		.target_cpu_ns = clock_of(c, n),
		.children_cpu_ns = offspring_untold_ns(&c->offspring,
						       c->settings.children),
		.children = c->settings.children,
		.stop_ns = n->stop_ns, .stops = n->stops,
		.stop_total_ns = n->stop_total_ns,
		.not_sampled = (unsigned)n->not_sampled,
		.began_again = marks->began_again - c->marks.began_again,
		.cut_short = marks->cut_short - c->marks.cut_short,
	};

	out->dropped = experiment_kept_dropped(c->exp, now_ns());
	out->keep_ns = experiment_kept_ns(c->exp, now_ns());

	struct str untraced = {0};

	calls_untraced_text(n->untraced, &untraced);
	snprintf(out->untraced, sizeof out->untraced, "%s",
		 str_text(&untraced));
	str_fini(&untraced);

	char *cuts = c->rec ? cuts_text(c->rec) : NULL;

	snprintf(out->cuts, sizeof out->cuts, "%s", cuts ? cuts : "");
	free(cuts);
	snprintf(out->engine, sizeof out->engine, "%s",
		 c->rec ? recorder_engine(c->rec) : "none");
	snprintf(out->why, sizeof out->why, "%s",
		 c->rec ? recorder_why(c->rec) : "clock profiling is off");
}
