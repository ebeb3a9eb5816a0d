/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One collection: an experiment, a recorder with its engine, and when to do
 * what. Lives in the tracer process from `enable` to `disable`, the end of
 * the target, an exec, or the size limit.
 *
 *	collecting <-> paused
 *	    \            /
 *	     -> closed <-
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAIN_NS	100000000ull	/* what a kill of everything may lose */
#define FIRST_DRAIN_NS	5000000ull	/* soon: somebody may wait to see it */

struct collection {
	struct target *target;
	struct settings settings;
	char *path;
	struct experiment *exp;
	struct unwind_space *space;
	struct mapper *mapper;
	struct recorder *rec;
	struct look_back *look;
	struct str trouble;	/* of its end */
	struct target_marks marks;	/* of the target at its start */
	uint64_t start_ns, next_drain_ns, next_sample_ns;
	uint64_t drain_ns;	/* between drains: short at first */
	struct experiment_usage usage;	/* the last that could be read */
	bool paused, over_limit, stopped;
};

/* ---- the experiment's facts ---------------------------------------------------- */

static char *
read_link(struct target *t, const char *name)
{
	char path[PATH_MAX];
	const ssize_t n = readlinkat(target_proc(t), name, path, sizeof path);

	return n > 0 ? xstrndup(path, (size_t)n) : xstrdup("/");
}

/* Words of the command line, joined by blanks; its name for a kernel view. */
static char *
command_of(struct target *t)
{
	size_t size;
	char *text = file_read_at(target_proc(t), "cmdline", &size);

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

static char *
choose_path(const struct settings *s)
{
	char *name = s->experiment ? xstrdup(s->experiment) :
		experiment_next_name(s->directory, "test");

	if (name[0] == '/' || strcmp(s->directory, ".") == 0)
		return name;

	char *path = xasprintf("%s/%s", s->directory, name);

	free(name);
	return path;
}

static int
create_experiment(struct collection *c, bool attached)
{
	struct experiment_info info = {
		.path = c->path, .overwrite = c->settings.overwrite,
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
	c->exp = experiment_create(&info);
	free(cwd);
	free(command);
	return c->exp ? 0 : -1;
}

static int
write_notes(struct collection *c)
{
	if (!c->settings.notes)
		return 0;

	char *path = xasprintf("%s/notes", c->path);
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
			    O_NOFOLLOW, 0666);
	int result = 0;

	if (fd < 0 ||
	    write_all(fd, c->settings.notes, strlen(c->settings.notes)) < 0)
		result = fail_errno("write %s", path);
	if (fd >= 0)
		close(fd);
	free(path);
	return result;
}

static void
write_engine(struct collection *c)
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

static void
write_thread_names(struct collection *c)
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

/* ---- resource samples ------------------------------------------------------------- */

/* The target may be gone: then the last usage stands. */
static void
read_usage(struct collection *c)
{
	struct task_stat st;

	if (target_stat(c->target, &st) < 0)
		return;
	c->usage.minor_faults = st.field[STAT_MINOR_FAULTS];
	c->usage.major_faults = st.field[STAT_MAJOR_FAULTS];
	c->usage.user_ns = stat_ticks_ns(st.field[STAT_UTIME]);
	c->usage.system_ns = stat_ticks_ns(st.field[STAT_STIME]);
}

static void
take_sample(struct collection *c, const char *label)
{
	const uint64_t now = now_ns();

	read_usage(c);
	experiment_sample(c->exp, now, label, &c->usage);
}

/* ---- life ------------------------------------------------------------------------------ */

static int
start_recording(struct collection *c, enum collection_way way)
{
	const struct recorder_options options = {
		.target = c->target, .settings = &c->settings,
		.interval_ns = c->settings.interval_ns,
		.stack_bytes = c->settings.stack_bytes,
		.at_start = way == AT_START,
	};
	struct recorder_options o = options;

	if (create_experiment(c, way == ATTACHED) < 0 || write_notes(c) < 0)
		return -1;
	c->space = unwind_space_new();
	c->mapper = mapper_new(c->target, c->space, c->exp);
	/* maps before clocks: the first sample finds its load objects */
	if (mapper_sync(c->mapper, c->start_ns) < 0)
		return -1;
	o.exp = c->exp;
	o.space = c->space;
	o.mapper = c->mapper;
	o.look = c->look;
	take_sample(c, "collector_open_experiment");
	if (!c->settings.profile)
		return 0;
	if (!(c->rec = recorder_new(&o, c->settings.engine)))
		return -1;
	write_engine(c);
	write_thread_names(c);
	return experiment_flush(c->exp);
}

static void
free_collection(struct collection *c)
{
	recorder_free(c->rec);
	mapper_free(c->mapper);
	unwind_space_free(c->space);
	settings_fini(&c->settings);
	str_fini(&c->trouble);
	free(c->path);
	free(c);
}

static void
remove_experiment(struct collection *c)
{
	/* it holds nothing yet but what we just wrote */
	static const char *const files[] = {
		"log.xml", "map.xml", "overview", "profile", "data.frameinfo",
		"notes", "lock",
	};

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *path = xasprintf("%s/%s", c->path, files[i]);

		(void)unlink(path);	/* not every file was made */
		free(path);
	}
	(void)rmdir(c->path);
}

struct collection *
collection_start(struct target *t, const struct settings *s,
		 enum collection_way way, struct look_back *look)
{
	struct collection *c = xcalloc(1, sizeof *c);
	struct wire_message copy;

	wire_init(&copy, WIRE_ENABLE);
	wire_put_settings(&copy, s);
	wire_take_settings(&copy, &c->settings);
	wire_fini(&copy);
	c->target = t;
	c->look = look;
	c->path = choose_path(s);
	c->start_ns = now_ns();
	c->marks = *target_marks(t);
	c->drain_ns = FIRST_DRAIN_NS;
	c->next_drain_ns = c->start_ns + FIRST_DRAIN_NS;
	c->next_sample_ns = s->sample_period_ns ?
		c->start_ns + s->sample_period_ns : UINT64_MAX;
	if (start_recording(c, way) == 0)
		return c;
	if (c->exp) {
		recorder_free(c->rec);
		c->rec = NULL;
		(void)experiment_close(c->exp, now_ns(), "not started");
		remove_experiment(c);
	}
	free_collection(c);
	return NULL;
}

size_t
collection_pollfds(struct collection *c, struct pollfd *fds, size_t max)
{
	return c->rec && !c->paused ? recorder_pollfds(c->rec, fds, max) : 0;
}

uint64_t
collection_deadline(const struct collection *c)
{
	return c->next_drain_ns < c->next_sample_ns ?
		c->next_drain_ns : c->next_sample_ns;
}

static void
check_limit(struct collection *c)
{
	const uint64_t limit = c->settings.limit_mb << 20;

	if (!limit || c->over_limit || experiment_size(c->exp) < limit)
		return;
	c->over_limit = true;
	(void)collection_pause(c, "size-limit");
}

static int
flush(struct collection *c)
{
	return c->rec ? recorder_flush(c->rec) : experiment_flush(c->exp);
}

bool
collection_work(struct collection *c)
{
	const uint64_t now = now_ns();

	if (c->rec && !c->paused)
		recorder_drain(c->rec, false);
	if (now >= c->next_sample_ns) {
		if (!c->paused && !target_gone(c->target)) {
			(void)mapper_sync(c->mapper, now);
			take_sample(c, "periodic");
		}
		c->next_sample_ns = now + c->settings.sample_period_ns;
	}
	if (now >= c->next_drain_ns) {
		c->drain_ns = c->drain_ns * 2 < DRAIN_NS ?
			c->drain_ns * 2 : DRAIN_NS;
		c->next_drain_ns = now + c->drain_ns;
	}
	check_limit(c);
	(void)flush(c);		/* refusals of the disk are counted */
	return !c->rec || !recorder_counts(c->rec)->execed;
}

int
collection_pause(struct collection *c, const char *who)
{
	if (c->paused)
		return 0;
	take_sample(c, "collector_pause");
	if (c->rec && recorder_run(c->rec, false) < 0)
		return -1;
	c->paused = true;
	experiment_pause(c->exp, now_ns(), who);
	return flush(c);
}

int
collection_resume(struct collection *c)
{
	if (!c->paused)
		return 0;
	if (c->over_limit)
		return fail(FAIL_GENERAL, "%s has reached its size limit of "
			    "%llu MB", c->path,
			    (unsigned long long)c->settings.limit_mb);
	experiment_resume(c->exp, now_ns());
	if (mapper_sync(c->mapper, now_ns()) < 0 ||
	    (c->rec && recorder_run(c->rec, true) < 0))
		return -1;
	c->paused = false;
	take_sample(c, "collector_resume");
	return experiment_flush(c->exp);
}

int
collection_sample(struct collection *c, const char *label)
{
	if (!c->paused) {
		(void)mapper_sync(c->mapper, now_ns());
		take_sample(c, label && *label ? label : "manual");
	}
	return experiment_flush(c->exp);
}

bool
collection_paused(const struct collection *c)
{
	return c->paused;
}

const char *
collection_path(const struct collection *c)
{
	return c->path;
}

void
collection_note_stop(struct collection *c, uint64_t pause_ns)
{
	if (c->rec)
		recorder_stopped(c->rec, pause_ns);
}

void
collection_stop_sample(struct collection *c)
{
	if (c->settings.dbx_sample && !c->paused)
		take_sample(c, "dbxsample");
}

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
		.recorded_cpu_ns = n->recorded_ns,
		.target_cpu_ns = clock_of(c, n),
		.stop_ns = n->stop_ns, .stops = n->stops,
		.stop_total_ns = n->stop_total_ns,
		.began_again = marks->began_again - c->marks.began_again,
		.cut_short = marks->cut_short - c->marks.cut_short,
	};
	snprintf(out->engine, sizeof out->engine, "%s",
		 c->rec ? recorder_engine(c->rec) : "none");
	snprintf(out->why, sizeof out->why, "%s",
		 c->rec ? recorder_why(c->rec) : "clock profiling is off");
}

/* ---- the end ------------------------------------------------------------ */

void
collection_stop(struct collection *c)
{
	if (c->stopped)
		return;
	c->stopped = true;
	if (c->rec)
		recorder_stop(c->rec, &c->trouble);
	take_sample(c, "collector_close_experiment");
	(void)experiment_flush(c->exp);		/* refusals are counted */
	if (target_held(c->target))
		collection_note_stop(c, target_pause_ns(c->target));
}

char *
collection_close(struct collection *c, const char *how, const char *look,
		 bool *partial)
{
	struct session_progress p;

	collection_stop(c);
	collection_progress(c, &p);
	*partial = experiment_disk_lost(c->exp) > 0;

	char *text = receipt_text(&p, look, str_text(&c->trouble), how,
				  c->path);

	if (c->rec && recorder_counts(c->rec)->execed)
		experiment_exec(c->exp, now_ns(), "_x1",
				recorder_counts(c->rec)->exec_comm);
	(void)experiment_close(c->exp, now_ns(), how ? how : "ended by us");

	char *root = xasprintf("/proc/%d/root", target_pid(c->target));

	/* after the last record: copying must not delay the end of sampling */
	(void)experiment_archive(c->path,
				 (enum archive_mode)c->settings.archive,
				 target_gone(c->target) ? "" : root);
	free(root);
	free_collection(c);
	return text;
}
