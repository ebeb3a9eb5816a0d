/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What stays of a collection: its archive, what was kept in memory and is
 * written now, the last resource sample, and the receipt.
 */
#include "collection.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is kept -------------------------------------------------------- */

/* The root of its files; "" when there is none any more. */
static char *
root_of(const struct collection *c)
{
	return target_gone(c->target) ? xstrdup("") :
		xasprintf("/proc/%d/root",
			  process_living(target_pid(c->target)));
}

static void
archive(const struct collection *c, const char *path)
{
	char *root = root_of(c);
	const struct experiment_archiving what = {
		.dir_fd = c->dir_fd, .path = path, .root = root,
		.owner = c->owner, .group = c->group,
	};

	if (c->dir_fd >= 0)
		(void)experiment_archive(&what, (enum archive_mode)
					 c->settings.archive);
	free(root);
}

/* The directory of what is kept and was written just now. */
static void
take_written(struct collection *c)
{
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	c->dir_fd = experiment_directory(c->exp);
}

/* test.1.er has test.1.kept1.er beside it. */
static char *
name_kept(struct collection *c)
{
	const size_t stem = strlen(c->path) - strlen(".er");
	char *path;

	do {
		path = xasprintf("%.*s.kept%u.er", (int)stem, c->path,
				 ++c->written);
		if (access(path, F_OK) < 0)
			return path;
		free(path);
	} while (true);
}

bool
collection_keeps(const struct collection *c)
{
	return c->settings.keep_ns != 0;
}

char *
collection_write(struct collection *c, const char *name)
{
	if (!c->settings.keep_ns) {
		fail(FAIL_USAGE, "%s is written as it is recorded", c->path);
		fail_remedy("before collector enable: collector keep 10");
		return NULL;
	}
	if (collection_sample(c, "collector_write") < 0)
		return NULL;

	char *path = name ? collection_place(&c->settings, name) :
		name_kept(c);

	if (experiment_write_kept(c->exp, path, now_ns(), "written while "
				  "recording went on") < 0) {
		free(path);
		return NULL;
	}
	take_written(c);
	archive(c, path);
	return path;
}

/* ---- the end ------------------------------------------------------------ */

void
collection_stop(struct collection *c)
{
	if (c->stopped)
		return;
	c->stopped = true;

	const uint64_t ended = c->rec ? recorder_end_waits(c->rec) : 0;
	const uint64_t read = collection_read_usage(c);
	const uint64_t end = ended ? ended : read;

	if (c->rec)
		recorder_stop(c->rec, &c->trouble);
	collection_note_children(c);
	usage_read_switches(&c->switches, c->target, &c->usage, USAGE_ALL);
	experiment_sample(c->exp, end, "collector_close_experiment",
			  &c->usage);
	(void)experiment_flush(c->exp);		/* refusals are counted */
	if (target_held(c->target))
		collection_note_stop(c, target_pause_ns(c->target));
}

static bool
is_in_part(void)
{
	return fail_last()->kind == FAIL_PARTIAL;
}

/* What is kept is written now, under a name of its own if another one has taken
 * ours since. false: it could not be. */
static bool
write_rest(struct collection *c, uint64_t end, const char *how, bool *partial)
{
	int r;

	if (!c->settings.keep_ns)
		return true;
	r = experiment_write_kept(c->exp, NULL, end, how);
	if (r < 0 && !is_in_part() && access(c->path, F_OK) == 0) {
		char *path = name_kept(c);

		free(c->path);
		c->path = path;
		r = experiment_write_kept(c->exp, path, end, how);
	}
	if (r == 0)
		return true;
	*partial = true;
	if (!is_in_part())
		return false;
	str_addf(&c->trouble, "%s%s", c->trouble.len ? ", " : "",
		 fail_last()->reason);
	return true;
}

/* It may be over before anybody heard of its exec. NULL: as it was told. */
static char *
how_it_became(const struct collection *c, const char *how)
{
	static const char what[] = "executed another program";

	if (!c->rec || !recorder_counts(c->rec)->execed ||
	    (how && str_starts(how, what)))
		return NULL;
	return xasprintf("%s, which is not recorded, and %s", what,
			 how ? how : "was let go");
}

static void
write_children(struct collection *c, uint64_t cpu_ns)
{
	char used[24];

	if (!cpu_ns)
		return;
	(void)snprintf(used, sizeof used, "%llu",
		       (unsigned long long)cpu_ns / 1000);
	experiment_event(c->exp, now_ns(), "sonde_children",
			 (const char *const[]){ "untold_us", used, NULL });
}

char *
collection_close(struct collection *c, const char *how, const char *look,
		 bool *partial)
{
	struct session_progress p;
	char *lost = NULL;

	collection_stop(c);

	const uint64_t end = now_ns();
	char *became = how_it_became(c, how);

	if (became)
		how = became;

	collection_progress(c, &p);
	if (p.cuts[0])
		experiment_event(c->exp, now_ns(), "sonde_cuts",
				 (const char *const[]){ "text", p.cuts, NULL });

	write_children(c, p.children_cpu_ns);
	if (c->rec && recorder_counts(c->rec)->execed)
		experiment_exec(c->exp, now_ns(), "_x1",
				recorder_counts(c->rec)->exec_comm);
	*partial = experiment_disk_lost(c->exp) > 0;
	if (experiment_is_removed(c->exp))
		lost = xasprintf("%s was removed meanwhile", c->path);
	else if (!write_rest(c, end, how ? how : "ended by us", partial))
		lost = xstrdup(fail_last()->reason);
	*partial |= lost != NULL || (look && strstr(look, "NOT clean"));

	char *text = receipt_text(&p, look, str_text(&c->trouble), how,
				  c->path, lost);

	if (c->settings.keep_ns)
		take_written(c);
	if (experiment_close(c->exp, end, how ? how : "ended by us") < 0)
		*partial = true;
	if (c->settings.keep_ns && !lost)
		(void)collection_write_notes(c);
	/* after the last record: copying must not delay the end of sampling */
	if (!lost)
		archive(c, c->path);
	free(lost);
	free(became);
	collection_free(c);
	return text;
}
