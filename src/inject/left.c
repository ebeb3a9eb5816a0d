/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What visits that were killed have left. The guest says in its memory whose
 * it was: when that process has ended, nobody will come to tidy up but us.
 * Its clocks sleep since the lease ran out; what it had recorded and nobody
 * took is still in its area. Scratch memory is known by the code at its
 * start, and nobody's when the threads named in it have ended.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"
#include "record.h"

enum { BUILDS_MOST = 8 };

/* ---- who was here -------------------------------------------------------- */

int
inject_left(struct target *t, struct inject_left *left)
{
	struct collector_owner o;
	struct plan p;
	uint64_t entry;

	memset(left, 0, sizeof *left);
	if (plan_make(t, &p) < 0)
		return -1;
	left->library = p.library != 0;
	left->orphan = owner_left(&p, &o, &entry);
	left->other_version = plan_has_other_version(&p);
	plan_fini(&p);
	return 0;
}

/* Stop what runs and unmap the area, in the name of him who cannot. */
static int
stop_guest(struct target *t, uint64_t entry, const struct collector_owner *o,
	   struct inject_report *report)
{
	const struct errand how = { .only_present = true, .guest = entry };
	struct collector_call stop = {
		.command = COLLECTOR_STOP, .owner = *o,
	};
	struct collector_call unmap = {
		.command = COLLECTOR_UNMAP, .owner = *o,
	};

	return load_command(t, &how, &stop, report, &entry) < 0 ? -1 :
		load_command(t, &how, &unmap, report, &entry);
}

/* The next one, if there is any: 1, 0, or -1. */
static int
tidy_one(struct target *t, struct inject_report *report)
{
	struct collector_owner o;
	struct plan p;
	uint64_t entry;
	bool orphan;

	if (plan_make(t, &p) < 0)
		return -1;
	orphan = owner_left(&p, &o, &entry);
	plan_fini(&p);
	if (!orphan)
		return 0;
	return stop_guest(t, entry, &o, report) < 0 ? -1 : 1;
}

int
inject_tidy(struct target *t, struct inject_report *report)
{
	const int lock = owner_lock(t);
	int r = 1;

	memset(report, 0, sizeof *report);
	if (lock < 0)
		return -1;
	for (int i = 0; i < BUILDS_MOST && r > 0; i++)
		r = tidy_one(t, report);
	close(lock);
	return r < 0 ? -1 : 0;
}

/* ---- scratch memory ------------------------------------------------------ */

uint64_t
inject_scratch_size(struct target *t, uint64_t at)
{
	const size_t n = (size_t)(stub_end - stub_begin);
	unsigned char *code = xmalloc(n);
	struct block k;
	const bool ours = target_read(t, at, code, n) == 0 &&
		memcmp(code, stub_begin, n) == 0 &&
		target_read(t, at + STUB_BLOCK, &k, sizeof k) == 0 &&
		k.area == at && k.area_size >= STUB_BLOCK;

	free(code);
	return ours ? k.area_size : 0;
}

static bool
thread_lives(struct target *t, uint32_t inner)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);
	bool lives = n < 0;	/* it cannot be known */

	for (ssize_t i = 0; i < n && !lives; i++)
		lives = (uint32_t)thread_inner_tid(t, tids[i]) == inner;
	free(tids);
	return lives;
}

/* The tid that the kernel wrote there; unreadable counts as one that lives. */
static bool
scratch_thread_lives(struct target *t, uint64_t at)
{
	uint32_t tid = 0;

	return target_read(t, at, &tid, sizeof tid) < 0 ||
	       (tid && thread_lives(t, tid));
}

bool
inject_scratch_is_used(struct target *t, uint64_t at)
{
	struct block k;

	return target_read(t, at + STUB_BLOCK, &k, sizeof k) < 0 ||
	       !k.helper_tid_at || scratch_thread_lives(t, k.helper_tid_at) ||
	       (k.pthread && scratch_thread_lives(t, k.pthread +
						  k.tid_offset));
}

bool
inject_scratch_is_bound(struct target *t, uint64_t at)
{
	struct block k;

	return target_read(t, at + STUB_BLOCK, &k, sizeof k) == 0 &&
		k.entry_offset && inject_scratch_is_used(t, at);
}

int
left_call(struct target *t, pid_t files_of, long nr, const uint64_t args[6],
	  struct inject_report *report)
{
	struct borrow *b = xcalloc(1, sizeof *b);
	struct schedule urgent;
	struct plan p;
	int64_t result = 0;
	int r = plan_make(t, &p);

	urgent_begin(&urgent);
	if (r == 0) {
		p.single = false;
		p.leaves = true;	/* one raw call */
		p.files_of = files_of;
		r = donor_take(&p, 0, b, report);
		if (r == 0) {
			r = borrow_syscall(b, nr, args, &result, NULL);
			if (borrow_return(b, report) < 0)
				r = -1;
		}
		plan_fini(&p);
	}
	urgent_end(&urgent);
	free(b);
	errno = (int)-result;
	return r == 0 && result < 0 ? fail_errno("by a thread of process %d",
						 target_pid(t)) : r;
}

int
inject_unmap_scratch(struct target *t, uint64_t at,
		     struct inject_report *report)
{
	const uint64_t args[6] = { at, inject_scratch_size(t, at) };

	if (!args[1] || inject_scratch_is_used(t, at))
		return fail(FAIL_UNSUITABLE, "a thread of ours still runs in "
			    "it");
	return left_call(t, 0, SYS_munmap, args, report);
}

/* ---- descriptors --------------------------------------------------------- */

int
inject_share_descriptors(pid_t tid, pid_t other)
{
	const long r = tid == other ? 0 :
		syscall(SYS_kcmp, tid, other, KCMP_FILES, 0, 0);

	return r < 0 ? -1 : r == 0;
}

bool
inject_owns_descriptor(struct target *t, pid_t tid, const char *number)
{
	char path[64], link[64];
	ssize_t n;

	snprintf(path, sizeof path, "task/%d/fd/%.16s", (int)tid, number);
	n = readlinkat(target_proc(t), path, link, sizeof link - 1);
	link[n > 0 ? n : 0] = 0;
	return str_starts(link, "/memfd:sonde-records") ||
	       str_starts(link, "/memfd:sonde-traces") ||
	       str_starts(link, "/memfd:sonde-collector") ||
	       str_starts(link, "/memfd:" HELPER_NAME);
}

int
inject_close_descriptor(struct target *t, pid_t tid, unsigned fd,
			struct inject_report *report)
{
	const uint64_t args[6] = { fd };
	const int lock = owner_lock(t);	/* no visit makes one meanwhile */
	char number[16];
	int r;

	if (lock < 0)
		return -1;
	snprintf(number, sizeof number, "%u", fd);
	r = handled(HAZARD_DESCRIPTOR_STAYS) &&
		inject_owns_descriptor(t, tid, number) ?
		left_call(t, tid, SYS_close, args, report) : 0;
	close(lock);
	return r;
}
