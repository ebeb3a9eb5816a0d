/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment of which only the last so many seconds are kept: it has no
 * directory, its sinks hold their records in memory, and what is older goes,
 * counted. Writing it makes an ordinary experiment that begins where the kept
 * span begins: what was mapped then, the names of threads, then every record
 * of the span, with the stacks that they name.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "keep.h"
#include "writer.h"
#include "xml.h"

#define STACK_NS	UINT64_C(60000000000)
#define LEAST_PRUNE_NS	UINT64_C(250000000)

enum {
	PRUNES = 8,			/* in a span */
	MOST = 256 << 20,		/* bytes, unless a limit is set */
	PIECE_BYTES = 96,		/* that tables have of a stack */
};

/* ---- records of a sink -------------------------------------------------- */

/* Those that are wanted stay, in order. */
void
keep_sift(struct sink *s, keep_wanted_fn *wanted, void *arg)
{
	size_t to = 0, n;
	uint64_t index = 0;

	for (size_t at = 0; at < s->len; at += n) {
		n = s->record(s->buf + at, s->len - at);
		if (!wanted(arg, s->buf + at, n, index++))
			continue;
		memmove(s->buf + to, s->buf + at, n);
		to += n;
	}
	s->len = to;
}

/* The plain value of an attribute; "" where there is none. */
const char *
keep_word(const unsigned char *line, size_t n, const char *name, char *word)
{
	char head[KEEP_WORD];
	const int len = snprintf(head, sizeof head, " %s=\"", name);
	const char *at = memmem(line, n, head, (size_t)len);
	size_t i = 0;

	if (at)
		for (at += len; i < KEEP_WORD - 1 && *at != '"'; i++)
			word[i] = *at++;
	word[i] = '\0';
	return word;
}

uint64_t
keep_time(const struct experiment *exp, const unsigned char *line, size_t n)
{
	char word[KEEP_WORD];

	return exp->start_ns + xml_time(keep_word(line, n, "tstamp", word));
}

/* ---- what is too old ---------------------------------------------------- */

struct pruning {
	struct experiment *exp;
	struct keep *k;
	uint64_t cut;
	struct map tids;	/* that packets are of */
	struct map last;	/* tid -> its last name; vaddr -> its mapping */
	struct map dead;	/* lines of map.xml */
	uint64_t samples;	/* records of overview */
};

static bool
is_cpu(int state)
{
	return state == MSTATE_USER || state == MSTATE_SYSTEM ||
		state == MSTATE_TRAP || state >= MSTATE_LINUX_CPU;
}

static bool
young_packet(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	struct pruning *p = arg;
	struct clock_packet packet;

	(void)n, (void)index;
	memcpy(&packet, record, sizeof packet);
	if ((uint64_t)packet.time >= p->cut) {
		map_put(&p->tids, (uint64_t)packet.thread, 1);
		return true;
	}
	p->k->dropped += packet.cpu != EXPERIMENT_BOOKED;
	if (is_cpu(packet.state))
		p->k->dropped_cpu_ns += (uint64_t)packet.ticks * 1000;
	return false;
}

/* A wait is of when it ended. */
static bool
young_wait(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	struct pruning *p = arg;
	struct sync_packet packet;

	(void)n, (void)index;
	memcpy(&packet, record, sizeof packet);
	if ((uint64_t)packet.time >= p->cut) {
		map_put(&p->tids, (uint64_t)packet.thread, 1);
		return true;
	}
	p->k->dropped_waits++;
	return false;
}

static bool
note_name(void *arg, const unsigned char *line, size_t n, uint64_t index)
{
	struct pruning *p = arg;
	char word[KEEP_WORD];

	if (!strcmp(keep_word(line, n, "kind", word), "sonde_thread"))
		map_put(&p->last, xml_number(keep_word(line, n, "tid", word)),
			index);
	return true;
}

/* The last name of a thread that is there, or that packets are of. */
static bool
name_wanted(struct pruning *p, const unsigned char *line, size_t n,
	    uint64_t index)
{
	char word[KEEP_WORD], path[64];
	const uint64_t tid = xml_number(keep_word(line, n, "tid", word));
	uint64_t last;

	if (!map_get(&p->last, tid, &last) || last != index)
		return false;
	if (map_get(&p->tids, tid, &last))
		return true;
	(void)snprintf(path, sizeof path, "/proc/%d/task/%" PRIu64,
		       (int)p->exp->pid, tid);
	return access(path, F_OK) == 0;
}

uint64_t
keep_loss_key(const char *cause, const char *detail)
{
	return hash_bytes(detail, strlen(detail),
			  hash_bytes(cause, strlen(cause), 0));
}

/* What was lost before the span is no loss of it. */
static void
note_base(struct keep *k, const unsigned char *line, size_t n)
{
	char *text = xstrndup((const char *)line, n);
	struct xml_scan scan;
	struct xml_tag tag;

	xml_scan_init(&scan, text, n);
	if (xml_next(&scan, &tag) == XML_TAG) {
		const char *cause = xml_attr(&tag, "cause");
		const char *detail = xml_attr(&tag, "detail");
		const uint64_t key = keep_loss_key(cause ? cause : "",
					      detail ? detail : "");

		map_put(&k->base, key, xml_number(xml_attr(&tag, "samples")));
		map_put(&k->base_ns, key,
			xml_number(xml_attr(&tag, "weight_ns")));
	}
	free(text);
}

static bool
young_line(void *arg, const unsigned char *line, size_t n, uint64_t index)
{
	struct pruning *p = arg;
	char kind[KEEP_WORD];

	(void)keep_word(line, n, "kind", kind);
	if (!strcmp(kind, "sonde_thread") && !name_wanted(p, line, n, index))
		return false;
	if (keep_time(p->exp, line, n) >= p->cut ||
	    str_starts(kind, "sonde_thread") ||
	    !strcmp(kind, "sonde_settings"))
		return true;
	if (!strcmp(kind, "sonde_loss"))
		note_base(p->k, line, n);
	else if (!strcmp(kind, "pause"))
		p->k->paused = true;
	else if (!strcmp(kind, "resume"))
		p->k->paused = false;
	else if (!strcmp(kind, "sample"))
		p->samples++;
	return false;
}

static bool
young_sample(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	const struct pruning *p = arg;

	(void)record, (void)n;
	return index >= p->samples;
}

/* A mapping that has gone by then goes, and the line that says so. */
static bool
note_unmap(void *arg, const unsigned char *line, size_t n, uint64_t index)
{
	struct pruning *p = arg;
	char word[KEEP_WORD];
	const bool unmap = !strcmp(keep_word(line, n, "kind", word), "unmap");
	const uint64_t at = xml_number(keep_word(line, n, "vaddr", word));
	uint64_t of;

	if (!unmap) {
		map_put(&p->last, at, index);
	} else if (keep_time(p->exp, line, n) < p->cut) {
		map_put(&p->dead, index, 1);
		if (map_take(&p->last, at, &of))
			map_put(&p->dead, of, 1);
	}
	return true;
}

static bool
not_dead(void *arg, const unsigned char *line, size_t n, uint64_t index)
{
	const struct pruning *p = arg;
	uint64_t found;

	(void)line, (void)n;
	return !map_get(&p->dead, index, &found);
}

/* ---- as time goes by ---------------------------------------------------- */

void
keep_prune(struct experiment *exp, uint64_t cut)
{
	struct pruning p = { .exp = exp, .k = exp->keep, .cut = cut };

	if (cut <= p.k->cut_ns)
		return;
	p.k->cut_ns = cut;
	keep_sift(&exp->profile, young_packet, &p);
	keep_sift(&exp->calls[CALL_SYNC], young_wait, &p);
	keep_sift(&exp->log, note_name, &p);
	keep_sift(&exp->log, young_line, &p);
	keep_sift(&exp->overview, young_sample, &p);
	map_fini(&p.last);
	keep_sift(&exp->map, note_unmap, &p);
	keep_sift(&exp->map, not_dead, &p);
	map_fini(&p.tids);
	map_fini(&p.last);
	map_fini(&p.dead);
}

uint64_t
keep_cut(const struct keep *k, uint64_t now)
{
	return now > k->span_ns ? now - k->span_ns : 0;
}

/* All packets begin alike. */
static uint64_t
middle_time(const struct sink *s, size_t bytes)
{
	struct clock_packet packet;

	_Static_assert(offsetof(struct clock_packet, time) ==
		       offsetof(struct sync_packet, time), "their times");
	memcpy(&packet, s->buf + s->len / bytes / 2 * bytes,
	       sizeof packet);
	return (uint64_t)packet.time;
}

/* Too much for memory: the older half of it goes, the span is shorter, and no
 * stack is left but its. */
static void
prune_half(struct experiment *exp)
{
	const struct sink *waits = &exp->calls[CALL_SYNC];
	const size_t all = exp->profile.len + waits->len;
	uint64_t middle;

	if (all + exp->frames.len + exp->piece_count * PIECE_BYTES <
	    exp->keep->most || !all)
		return;
	middle = exp->profile.len > waits->len ?
		middle_time(&exp->profile, sizeof(struct clock_packet)) :
		middle_time(waits, sizeof(struct sync_packet));
	keep_prune(exp, middle);
	keep_prune_stacks(exp, exp->keep->cut_ns);
}

static void
prune_old(struct experiment *exp, uint64_t now)
{
	const struct keep *k = exp->keep;
	const uint64_t stack_ns = k->span_ns > STACK_NS ? k->span_ns : STACK_NS;

	keep_prune(exp, keep_cut(k, now));
	if (exp->frames.len >= k->stacks_at)
		keep_prune_stacks(exp, now > stack_ns ? now - stack_ns : 0);
}

void
keep_flush(struct experiment *exp)
{
	struct keep *k = exp->keep;
	const uint64_t now = now_ns();
	const uint64_t step = k->span_ns / PRUNES;

	prune_half(exp);
	if (now < k->prune_ns)
		return;
	k->prune_ns = now + (step > LEAST_PRUNE_NS ? step : LEAST_PRUNE_NS);
	prune_old(exp, now);
}

/* ---- its life ----------------------------------------------------------- */

/* Late, there is nobody to give another name. */
static int
check_place(const struct experiment_info *info)
{
	char *dir = xstrdup(info->path), *slash = strrchr(dir, '/');
	int r;

	if (slash)
		slash[slash == dir] = '\0';
	r = access(slash ? dir : ".", W_OK | X_OK);
	if (r < 0)
		(void)fail_errno("directory %s", slash ? dir : ".");
	free(dir);
	if (r < 0 || info->overwrite || access(info->path, F_OK) < 0)
		return r;
	fail(FAIL_USAGE, "%s exists already", info->path);
	return fail_remedy("give another name, or none, which numbers them; "
			   "record replaces it: -O instead of -o");
}

struct experiment *
experiment_keep(const struct experiment_info *info, uint64_t span_ns)
{
	if (check_place(info) < 0)
		return NULL;

	struct experiment *exp = writer_new(info->path);
	struct keep *k = xcalloc(1, sizeof *k);
	struct sink *const sinks[] = { &exp->log, &exp->map, &exp->frames,
		&exp->profile, &exp->overview };
	sink_record_fn *const records[] = { sink_line, sink_line, sink_packet,
		sink_packet, sink_overview };

	exp->pid = info->pid;
	exp->start_ns = exp->last_ns = info->start_ns;
	exp->clocked = info->interval_ns != 0;
	k->written_fd = -1;
	exp->keep = k;
	k->info = *info;
	k->info.cwd = k->cwd = xstrdup(info->cwd);
	k->info.command = k->command = xstrdup(info->command);
	k->span_ns = span_ns;
	k->most = info->limit_mb ? info->limit_mb << 20 : MOST;
	for (size_t i = 0; i < ARRAY_LEN(sinks); i++) {
		sinks[i]->held = true;
		sinks[i]->record = records[i];
	}
	exp->lost_frinfo = experiment_artificial(exp, "<Lost samples>");
	return exp;
}

void
keep_free(struct keep *k)
{
	if (!k)
		return;
	if (k->written_fd >= 0)
		close(k->written_fd);
	map_fini(&k->used);
	map_fini(&k->base);
	map_fini(&k->base_ns);
	free(k->cwd);
	free(k->command);
	free(k);
}

uint64_t
experiment_kept_ns(const struct experiment *exp, uint64_t now)
{
	const uint64_t cut = exp->keep ? exp->keep->cut_ns : 0;
	const uint64_t since = cut > exp->start_ns ? cut : exp->start_ns;

	return exp->keep && now > since ? now - since : 0;
}

uint64_t
experiment_kept_dropped(struct experiment *exp, uint64_t now)
{
	if (!exp->keep)
		return 0;
	keep_prune(exp, keep_cut(exp->keep, now));
	return exp->keep->dropped;
}
