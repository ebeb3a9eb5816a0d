/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the kernel's bytes to one record of the door. Nothing is believed:
 * every field is checked against the end of its record, every name for its
 * final NUL. What does not fit is no record.
 */
#include "perf.h"

#include <string.h>
#include <sys/sysmacros.h>

struct cursor {
	const unsigned char *at, *end;
};

static bool
take(struct cursor *c, void *to, size_t n)
{
	if ((size_t)(c->end - c->at) < n)
		return false;
	memcpy(to, c->at, n);
	c->at += n;
	return true;
}

static bool
take_word(struct cursor *c, uint64_t *to)
{
	return take(c, to, sizeof *to);
}

static bool
take_pair(struct cursor *c, uint32_t to[2])
{
	return take(c, to, 2 * sizeof to[0]);
}

/* A name fills the rest of the record, padded with NULs. */
static bool
take_name(struct cursor *c, const char **name)
{
	const size_t left = (size_t)(c->end - c->at);

	*name = (const char *)c->at;
	return left > 0 && memchr(c->at, '\0', left);
}

/* ---- samples ------------------------------------------------------------- */

static bool
take_regs(struct cursor *c, struct clock_record *r)
{
	uint64_t abi, dump[ARCH_REGS_MAX];
	const size_t n = (size_t)arch.perf_reg_count;

	if (n > ARCH_REGS_MAX || !take_word(c, &abi))
		return false;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	if (!take(c, dump, n * sizeof dump[0]))
		return false;
	/* a 32-bit process has no registers that we could unwind with */
	r->u.sample.has_user = abi == PERF_SAMPLE_REGS_ABI_64;
	if (r->u.sample.has_user)
		arch.from_perf(dump, &r->u.sample.regs);
	return true;
}

/* The kernel sends the size asked for and says at the end how much of that
 * was copied; the size may be cut to what fits into a record. */
static bool
take_stack(struct cursor *c, struct clock_record *r)
{
	uint64_t asked, real;

	if (!take_word(c, &asked))
		return false;
	if (asked == 0)
		return true;
	if (asked > (uint64_t)(c->end - c->at))
		return false;

	const unsigned char *stack = c->at;

	c->at += asked;
	if (!take_word(c, &real) || real > asked)
		return false;
	if (!r->u.sample.has_user)
		return true;
	r->u.sample.stack = stack;
	r->u.sample.stack_size = real;
	r->u.sample.stack_full = real == asked;
	r->u.sample.stack_base = r->u.sample.regs.reg[arch.reg_sp];
	return true;
}

static bool
parse_sample(struct cursor *c, unsigned misc, struct raw_record *out)
{
	struct clock_record *r = &out->r;
	uint64_t ip;
	uint32_t who[2], cpu[2];

	if (!take_word(c, &out->id) || !take_word(c, &ip) ||
	    !take_pair(c, who) || !take_word(c, &r->time_ns) ||
	    !take_pair(c, cpu) || !take_word(c, &r->u.sample.period_ns))
		return false;
	out->by_pid = r->pid = (pid_t)who[0];
	out->by_tid = r->tid = (pid_t)who[1];
	r->kind = CLOCK_SAMPLE;
	r->cpu = (int)cpu[0];
	r->u.sample.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			     PERF_RECORD_MISC_KERNEL;
	if (r->u.sample.kernel)
		r->u.sample.kernel_pc = ip;
	return take_regs(c, r) && take_stack(c, r);
}

/* ---- the side-band ------------------------------------------------------- */

static bool
parse_identification(struct cursor *c, struct raw_record *out)
{
	enum { SIZE = 4 * sizeof(uint64_t) };
	uint32_t who[2], cpu[2];

	if (c->end - c->at < SIZE)
		return false;

	struct cursor tail = { c->end - SIZE, c->end };

	c->end = tail.at;
	if (!take_pair(&tail, who) || !take_word(&tail, &out->r.time_ns) ||
	    !take_pair(&tail, cpu) || !take_word(&tail, &out->id))
		return false;
	out->by_pid = out->r.pid = (pid_t)who[0];
	out->by_tid = out->r.tid = (pid_t)who[1];
	out->r.cpu = (int)cpu[0];
	return true;
}

static bool
parse_task(struct cursor *c, enum clock_record_kind kind,
	   struct clock_record *r)
{
	uint32_t pids[2], tids[2];

	if (!take_pair(c, pids) || !take_pair(c, tids))
		return false;
	r->kind = kind;
	r->pid = (pid_t)pids[0];
	r->tid = (pid_t)tids[0];
	if (kind == CLOCK_FORK) {
		r->u.fork.ppid = (pid_t)pids[1];
		r->u.fork.ptid = (pid_t)tids[1];
	}
	return true;
}

static bool
parse_comm(struct cursor *c, unsigned misc, struct clock_record *r)
{
	uint32_t who[2];

	if (!take_pair(c, who) || !take_name(c, &r->u.comm.name))
		return false;
	r->kind = misc & PERF_RECORD_MISC_COMM_EXEC ? CLOCK_EXEC : CLOCK_COMM;
	r->pid = (pid_t)who[0];
	r->tid = (pid_t)who[1];
	return true;
}

static bool
parse_mmap2(struct cursor *c, struct clock_record *r)
{
	uint32_t who[2], device[2], protection[2];
	uint64_t generation;

	if (!take_pair(c, who) || !take_word(c, &r->u.map.start) ||
	    !take_word(c, &r->u.map.size) || !take_word(c, &r->u.map.offset) ||
	    !take_pair(c, device) || !take_word(c, &r->u.map.inode) ||
	    !take_word(c, &generation) || !take_pair(c, protection) ||
	    !take_name(c, &r->u.map.path))
		return false;
	r->kind = CLOCK_MMAP;
	r->pid = (pid_t)who[0];
	r->tid = (pid_t)who[1];
	r->u.map.device = makedev(device[0], device[1]);
	r->u.map.prot = protection[0];
	return true;
}

static bool
parse_switch(unsigned misc, struct clock_record *r)
{
	r->kind = CLOCK_SWITCH;
	r->u.sw.out = misc & PERF_RECORD_MISC_SWITCH_OUT;
	r->u.sw.preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	return true;
}

static bool
parse_lost(struct cursor *c, struct clock_record *r)
{
	uint64_t id;

	r->kind = CLOCK_LOST;
	return take_word(c, &id) && take_word(c, &r->u.lost.samples);
}

bool
record_parse(const unsigned char *record, struct raw_record *out)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof h);
	memset(out, 0, sizeof *out);

	struct cursor c = { record + sizeof h, record + h.size };

	if (h.type == PERF_RECORD_SAMPLE)
		return parse_sample(&c, h.misc, out);
	if (!parse_identification(&c, out))
		return false;
	switch (h.type) {
	case PERF_RECORD_FORK:
		return parse_task(&c, CLOCK_FORK, &out->r);
	case PERF_RECORD_EXIT:
		return parse_task(&c, CLOCK_EXIT, &out->r);
	case PERF_RECORD_COMM:
		return parse_comm(&c, h.misc, &out->r);
	case PERF_RECORD_MMAP2:
		return parse_mmap2(&c, &out->r);
	case PERF_RECORD_SWITCH:
		return parse_switch(h.misc, &out->r);
	case PERF_RECORD_LOST:
		return parse_lost(&c, &out->r);
	default:
		return false;
	}
}
