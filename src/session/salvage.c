/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples of a visit that was killed: they go where it wrote, if that
 * experiment can be found, else into a new one. Their weights are their
 * clock intervals: what the CPU clocks counted beyond them nobody knows any
 * more. All that the record memory says may be made up, so all weights
 * together are never more than the CPU time that the process has used.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look_back.h"

enum { INTERVAL_MIN = 10000, INTERVAL_USUAL = 10007000 };
#define INTERVAL_MAX UINT64_C(10000000000)

struct rescue {
	struct look_back *lb;
	struct salvage *left;
	struct experiment *exp;
	struct unwind_space *space;
	struct mapper *mapper;
	bool fresh;		/* an experiment of its own */
	uint64_t interval_ns, start_ns, last_ns;
	uint64_t budget_ns;	/* CPU time that may still be booked */
	uint64_t samples, weight_ns, lost, refused;
	struct str why;		/* it is fresh */
	uint64_t pcs[RECORD_DEPTH_MAX];
};

/* ---- where to ------------------------------------------------------------ */

static struct experiment *
reopen(const struct rescue *r)
{
	const struct record_keep *k = &salvage_area(r->left)->keep;
	const struct experiment_left left = {
		.path = k->path, .device = k->device, .inode = k->inode,
		.token = k->token, .kept = k->kept,
		.pid = target_pid(r->lb->t),
	};

	return experiment_reopen(&left);
}

static struct experiment *
create(const struct rescue *r)
{
	char *name = experiment_next_name(".", "test");
	const struct experiment_info info = {
		.path = name, .pid = target_pid(r->lb->t), .attached = true,
		.cwd = "", .command = target_name(r->lb->t),
		.interval_ns = r->interval_ns, .start_ns = r->start_ns,
		.engine = "inject", .engine_why = "salvaged",
		.owner = (uid_t)-1, .group = (gid_t)-1,
	};
	struct experiment *exp = experiment_create(&info);

	free(name);
	return exp;
}

/* What is mapped now is what is known: a new experiment is told of it, the
 * old one has it. */
static int
open_experiment(struct rescue *r)
{
	r->exp = reopen(r);
	/* a look writes nothing where another user decides what lies there */
	if (!r->exp && geteuid() == 0 &&
	    directory_trust(AT_FDCWD, ".", TRUST_TO_WRITE) < 0)
		return fail(FAIL_DENIED, "root makes no experiment in a "
			    "directory that other users may write");
	if (!r->exp) {
		r->fresh = true;
		str_add(&r->why, fail_last()->reason);
		r->exp = create(r);
	}
	if (!r->exp)
		return -1;
	r->space = unwind_space_new();
	r->mapper = mapper_new(r->lb->t, r->space, r->fresh ? r->exp : NULL);
	return mapper_sync(r->mapper, r->start_ns);
}

/* ---- records ------------------------------------------------------------- */

static uint64_t
spend(struct rescue *r, uint64_t weight_ns)
{
	const uint64_t n = weight_ns < r->budget_ns ? weight_ns :
		r->budget_ns;

	r->budget_ns -= n;
	return n;
}

static enum stack_end
end_of(const struct record *rec)
{
	if (rec->end == RECORD_COMPLETE)
		return STACK_COMPLETE;
	return rec->end == RECORD_CUT || rec->end == RECORD_TOO_DEEP ?
		STACK_TRUNCATED : STACK_FAILED;
}

static uint64_t
stack_of(struct rescue *r, const struct record *rec)
{
	for (size_t i = 0; i < rec->depth; i++) {
		const uint64_t pc = rec->pcs[i] & ~RECORD_PC_EXACT;

		r->pcs[i] = i == 0 || rec->pcs[i] & RECORD_PC_EXACT ? pc :
			unwind_call_address(r->space, pc);
	}
	return experiment_stack(r->exp, r->pcs, rec->depth, end_of(rec));
}

static void
take_record(void *arg, const struct record *rec)
{
	struct rescue *r = arg;
	const uint64_t now = now_ns();
	uint64_t time = rec->time_ns, weight;

	if (!r->fresh && experiment_has_again(r->exp, (pid_t)rec->tid))
		return;
	weight = spend(r, rec->weight * r->interval_ns);
	if (!weight) {
		r->refused++;
		return;
	}
	time = time < r->start_ns ? r->start_ns : time > now ? now : time;
	r->last_ns = time > r->last_ns ? time : r->last_ns;
	experiment_clock(r->exp, time, (pid_t)rec->tid, (int)(rec->cpu & 0xfff),
			 MSTATE_USER, weight, stack_of(r, rec));
	r->samples++;
	r->weight_ns += weight;
}

/* What the guest has counted as lost and nobody has told yet. */
static void
take_losses(struct rescue *r)
{
	static const char *const causes[RECORD_LOST_OFF] = {
		[RECORD_LOST_FULL] = "buffer", [RECORD_LOST_WINDOW] = "window",
		[RECORD_LOST_LEASE] = "lease",
	};
	const struct record_area *a = salvage_area(r->left);
	const uint64_t frinfo = experiment_artificial(r->exp,
						      "<Lost samples>");

	for (int i = 0; i < RECORD_LOST_OFF; i++) {
		const uint64_t most = r->budget_ns / r->interval_ns;
		uint64_t n = a->lost[i] - a->keep.told[i], weight;

		if (a->lost[i] <= a->keep.told[i] || most == 0)
			continue;
		n = n < most ? n : most;
		weight = spend(r, n * r->interval_ns);
		experiment_clock(r->exp, r->last_ns, target_pid(r->lb->t),
				 EXPERIMENT_BOOKED, MSTATE_USER, weight,
				 frinfo);
		experiment_loss_more(r->exp, r->last_ns, causes[i], n, weight);
		r->lost += n;
	}
}

/* ---- what is told -------------------------------------------------------- */

static char *
remark_of(const struct rescue *r)
{
	struct str s = {0};

	str_addf(&s, "Its recorder was killed; the next visit salvaged %"
		 PRIu64 " samples (%.3f s)", r->samples,
		 (double)r->weight_ns / 1e9);
	if (r->lost)
		str_addf(&s, ", and %" PRIu64 " that were counted as lost",
			 r->lost);
	if (salvage_spoiled(r->left))
		str_addf(&s, "; %u rings made no sense",
			 salvage_spoiled(r->left));
	if (r->refused)
		str_addf(&s, "; %" PRIu64 " records were more than its CPU "
			 "time and are left out", r->refused);
	return str_take(&s);
}

/* As one would type it. */
static const char *
from_here(const char *path)
{
	char *here = realpath(".", NULL);
	const size_t n = here ? strlen(here) : 0;
	const bool below = n && str_starts(path, here) && path[n] == '/';

	free(here);
	return below ? path + n + 1 : path;
}

static void
tell(struct rescue *r)
{
	char *text = remark_of(r);

	experiment_comment(r->exp, r->last_ns, text);
	free(text);
	r->lb->salvaged = xasprintf("salvaged %" PRIu64 " samples of a killed "
				    "visit into %s%s%s", r->samples,
				    from_here(experiment_path(r->exp)),
				    r->fresh ? ", a new one: " : "",
				    r->fresh ? str_text(&r->why) : "");
}

/* ---- the door ------------------------------------------------------------ */

static int
rescue(struct rescue *r)
{
	if (open_experiment(r) < 0)
		return -1;
	(void)salvage_each(r->left, take_record, r);
	take_losses(r);
	if (experiment_flush(r->exp) < 0 ||
	    salvage_settle(r->left, experiment_profile_bytes(r->exp)) < 0)
		return -1;
	tell(r);
	return 0;
}

static void
rescue_fini(struct rescue *r)
{
	mapper_free(r->mapper);
	unwind_space_free(r->space);
	if (r->exp && r->fresh)
		(void)experiment_close(r->exp, r->last_ns, "salvaged from a "
				       "visit that was killed");
	else if (r->exp)
		(void)experiment_leave(r->exp);
	salvage_close(r->left);
	str_fini(&r->why);
	free(r);
}

void
look_back_salvage(struct look_back *lb)
{
	struct rescue *r = xcalloc(1, sizeof *r);
	uint64_t interval;

	r->lb = lb;
	r->left = salvage_open(lb->t, lb->area, lb->area_size);
	if (!r->left || !salvage_pending(r->left) ||
	    target_cpu_ns(lb->t, &r->budget_ns) < 0) {
		rescue_fini(r);
		return;
	}
	interval = salvage_area(r->left)->keep.interval_ns;
	r->interval_ns = interval >= INTERVAL_MIN &&
		interval <= INTERVAL_MAX ? interval : INTERVAL_USUAL;
	r->start_ns = r->last_ns = salvage_area(r->left)->keep.start_ns;
	if (r->start_ns > now_ns())
		r->start_ns = r->last_ns = now_ns();
	if (rescue(r) < 0)
		lb->salvaged = xasprintf("samples of a killed visit cannot be "
					 "salvaged: %s", fail_last()->reason);
	rescue_fini(r);
}
