/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the log says while and when a collection ends: pauses, remarks,
 * losses, the end. An experiment whose log has no exit was not closed.
 *
 * Losses grow with every drain; a line for each would swamp the log, so a
 * loss is said at most once a second, and at the end. The last line of a
 * (cause, detail) holds.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer.h"
#include "xml.h"

#define SAY_LOSS_EVERY_NS UINT64_C(1000000000)

void
writer_event_begin(const struct experiment *exp, struct str *line,
		   const char *kind, uint64_t time_ns)
{
	str_add(line, "<event");
	xml_attr_add(line, "kind", kind);
	xml_time_add(line, "tstamp", writer_since(exp, time_ns));
}

void
experiment_event(struct experiment *exp, uint64_t time_ns, const char *kind,
		 const char *const *attrs)
{
	struct str line = { 0 };

	writer_event_begin(exp, &line, kind, time_ns);
	for (; attrs && attrs[0] && attrs[1]; attrs += 2)
		xml_attr_add(&line, attrs[0], attrs[1]);
	str_add(&line, "/>");
	writer_line(exp, &exp->log, &line);
}

void
experiment_pause(struct experiment *exp, uint64_t time_ns, const char *who)
{
	const char *const attrs[] = { "name", who, NULL };

	experiment_event(exp, time_ns, "pause", attrs);
}

void
experiment_resume(struct experiment *exp, uint64_t time_ns)
{
	experiment_event(exp, time_ns, "resume", NULL);
}

void
experiment_comment(struct experiment *exp, uint64_t time_ns, const char *text)
{
	struct str line = { 0 };

	writer_event_begin(exp, &line, "comment", time_ns);
	str_add(&line, " id=\"400\">");
	xml_escape(&line, text);
	str_add(&line, "</event>");
	writer_line(exp, &exp->log, &line);
}

/* ---- losses ---------------------------------------------------------- */

static struct loss *
find_loss(struct experiment *exp, const char *cause, const char *detail)
{
	for (size_t i = 0; i < exp->losses.len; i++) {
		struct loss *l = exp->losses.items[i];

		if (strcmp(l->cause, cause) == 0 &&
		    strcmp(l->detail, detail) == 0)
			return l;
	}

	struct loss *l = xcalloc(1, sizeof *l);

	l->cause = xstrdup(cause);
	l->detail = xstrdup(detail);
	vec_push(&exp->losses, l);
	return l;
}

static void
say_loss(struct experiment *exp, uint64_t time_ns, struct loss *l)
{
	char *samples = xasprintf("%llu", (unsigned long long)l->samples);
	char *weight = xasprintf("%llu", (unsigned long long)l->weight_ns);
	const char *const attrs[] = {
		"cause", l->cause, "detail", l->detail, "samples", samples,
		"weight_ns", weight, NULL,
	};

	experiment_event(exp, time_ns, "sonde_loss", attrs);
	free(samples);
	free(weight);
	l->said_samples = l->samples;
	l->said_ns = l->weight_ns;
	l->said_at = time_ns;
}

static void
set_loss(struct experiment *exp, const char *cause, const char *detail,
	 uint64_t samples, uint64_t weight_ns)
{
	struct loss *l = find_loss(exp, cause, detail);

	l->samples = samples;
	l->weight_ns = weight_ns;
}

void
writer_loss_was(struct experiment *exp, const char *cause, const char *detail,
		uint64_t samples, uint64_t weight_ns)
{
	struct loss *l = find_loss(exp, cause, detail);

	l->samples = l->said_samples = samples;
	l->weight_ns = l->said_ns = weight_ns;
}

void
experiment_loss_more(struct experiment *exp, uint64_t time_ns,
		     const char *cause, uint64_t samples, uint64_t weight_ns)
{
	const struct loss *l = find_loss(exp, cause, "");

	experiment_loss(exp, time_ns, cause, "", l->samples + samples,
			l->weight_ns + weight_ns);
}

void
writer_losses(struct experiment *exp, enum writer_when when)
{
	if (exp->refused)
		set_loss(exp, "disk", "", exp->refused_samples,
			 exp->refused_ns);
	if (exp->refused_calls)
		set_loss(exp, "disk", "traced calls", exp->refused_calls, 0);
	for (size_t i = 0; i < exp->losses.len; i++) {
		struct loss *l = exp->losses.items[i];
		const bool changed = l->samples != l->said_samples ||
			l->weight_ns != l->said_ns;
		const bool lately = l->said_at &&
			exp->last_ns < l->said_at + SAY_LOSS_EVERY_NS;

		if (changed && (when == WRITER_NOW || !lately))
			say_loss(exp, exp->last_ns, l);
	}
}

void
experiment_loss(struct experiment *exp, uint64_t time_ns, const char *cause,
		const char *detail, uint64_t samples, uint64_t weight_ns)
{
	if (time_ns > exp->last_ns)
		exp->last_ns = time_ns;
	set_loss(exp, cause, detail, samples, weight_ns);
	writer_losses(exp, WRITER_LATELY);
}

uint64_t
experiment_disk_lost(const struct experiment *exp)
{
	return exp->refused;
}

uint64_t
experiment_disk_lost_samples(const struct experiment *exp)
{
	return exp->refused_samples;
}

/* A network file system keeps the files of those who have them open. */
bool
experiment_is_removed(const struct experiment *exp)
{
	struct stat st;

	return fstat(exp->profile.fd, &st) == 0 && st.st_nlink == 0;
}

const char *
writer_disk_error(const struct experiment *exp)
{
	const struct sink *const sinks[] = { &exp->profile, &exp->frames,
		&exp->log, &exp->map, &exp->overview, &exp->calls[CALL_HEAP],
		&exp->calls[CALL_SYNC], &exp->calls[CALL_IO] };

	for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
		if (sinks[i]->error)
			return strerror(sinks[i]->error);
	return "";
}

uint64_t
experiment_profile_bytes(const struct experiment *exp)
{
	return exp->profile.size;
}

uint64_t
experiment_size(const struct experiment *exp)
{
	uint64_t size = exp->profile.size + exp->profile.len +
		exp->frames.size + exp->frames.len + exp->overview.size;

	for (int i = 0; i < CALL_FILES; i++)
		size += exp->calls[i].size + exp->calls[i].len;
	return size;
}

/* ---- the end --------------------------------------------------------- */

void
experiment_exec(struct experiment *exp, uint64_t time_ns, const char *lineage,
		const char *command)
{
	const char *const attrs[] = {
		"variant", "exec", "lineage", lineage, "follow", "1",
		"msg", command, NULL,
	};

	experiment_event(exp, time_ns, "exec_start", attrs);
	exp->replaced = true;
}

/* So that a file that is cut, gone or changed later is seen to be. */
static void
say_file(struct experiment *exp, uint64_t time_ns, const struct sink *s)
{
	char size[24], sum[24];
	const char *const attrs[] = { "name", s->name, "size", size, "xxh64",
				      sum, NULL };

	if (s->fd < 0)
		return;
	(void)snprintf(size, sizeof size, "%llu", (unsigned long long)s->size);
	(void)snprintf(sum, sizeof sum, "%016llx",
		       (unsigned long long)checksum_end(&s->sum));
	experiment_event(exp, time_ns, "sonde_file", attrs);
}

/* The last one is of the log up to there; only its exit comes after it. */
static void
say_files(struct experiment *exp, uint64_t time_ns)
{
	const struct sink *const sinks[] = { &exp->map, &exp->frames,
		&exp->profile, &exp->overview, &exp->calls[CALL_HEAP],
		&exp->calls[CALL_SYNC], &exp->calls[CALL_IO], &exp->log };

	for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
		say_file(exp, time_ns, sinks[i]);
}

static void
say_end(struct experiment *exp, uint64_t time_ns, const char *how)
{
	const char *const attrs[] = { "how", how, NULL };

	experiment_comment(exp, time_ns, how);
	say_files(exp, time_ns);
	/* an exec has ended it already, and readers take the last word */
	if (!exp->replaced)
		experiment_event(exp, time_ns, "exit", attrs);
}

/* Their last word may be among the lines that are lost. */
static void
forget_said(struct experiment *exp)
{
	for (size_t i = 0; i < exp->losses.len; i++) {
		struct loss *l = exp->losses.items[i];

		l->said_samples = l->said_ns = 0;
	}
}

/* What the disk has not taken by now is lost; the reserves are for the end. */
static void
give_up(struct experiment *exp)
{
	struct sink *const sinks[] = { &exp->log, &exp->map, &exp->frames };

	if (exp->log.len > 0)
		forget_said(exp);
	for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
		exp->refused += sink_drop(sinks[i]);
	sink_release(&exp->log);
	sink_release(&exp->profile);
	writer_settle(exp);
}

int
writer_free(struct experiment *exp)
{
	struct sink *const sinks[] = { &exp->map, &exp->frames, &exp->profile,
		&exp->overview, &exp->calls[CALL_HEAP], &exp->calls[CALL_SYNC],
		&exp->calls[CALL_IO], &exp->log };
	int res = 0;

	experiment_began(exp);
	for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
		if (sink_close(sinks[i]) < 0)
			res = -1;
	if (exp->dir_fd >= 0)
		close(exp->dir_fd);
	for (size_t i = 0; i < exp->losses.len; i++) {
		struct loss *l = exp->losses.items[i];

		free(l->cause);
		free(l->detail);
	}
	vec_free_items(&exp->losses);
	for (size_t i = 0; i < exp->artificial_count; i++)
		free(exp->artificials[i].name);
	free(exp->artificials);
	map_fini(&exp->artificial_by_hash);
	map_fini(&exp->by_hash);
	map_fini(&exp->carry);
	map_fini(&exp->split);
	map_fini(&exp->again);
	keep_free(exp->keep);
	free(exp->pieces);
	free(exp->words);
	free(exp->path);
	free(exp);
	return res;
}

void
writer_abandon(struct experiment *exp)
{
	struct sink *const sinks[] = { &exp->map, &exp->frames, &exp->profile,
		&exp->overview, &exp->calls[CALL_HEAP], &exp->calls[CALL_SYNC],
		&exp->calls[CALL_IO], &exp->log };

	for (size_t i = 0; i < ARRAY_LEN(sinks); i++) {
		if (sinks[i]->fd >= 0)
			close(sinks[i]->fd);
		sinks[i]->fd = -1;
	}
	(void)writer_free(exp);
}

int
experiment_close(struct experiment *exp, uint64_t time_ns, const char *how)
{
	if (time_ns > exp->last_ns)
		exp->last_ns = time_ns;
	if (exp->keep)
		return writer_free(exp);	/* it has no files */
	(void)experiment_flush(exp);	/* what is refused is counted below */
	give_up(exp);
	writer_losses(exp, WRITER_NOW);
	say_end(exp, time_ns, how);
	exp->refused += sink_drop(&exp->log);

	int res = 0;

	if (exp->refused)
		res = fail(FAIL_PARTIAL, "%s: %llu records were refused: %s",
			   exp->path, (unsigned long long)exp->refused,
			   writer_disk_error(exp));

	char *path = xstrdup(exp->path);

	if (writer_free(exp) < 0)
		res = fail_in("close experiment %s", path);
	free(path);
	return res;
}
