/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX CPU timers of other threads, made with the kernel's own clock ids;
 * libc's timer_create knows only the caller's. One per thread; the slot table
 * remembers them for the end. A thread that has ended leaves a dead timer,
 * which costs the program one pending-signal slot until we sweep.
 *
 * A tick that is pending when its timer is set or deleted comes to nothing
 * (Linux 6.13 and later), but it still ends a call that lets it in, and
 * epoll_pwait says EINTR then though no handler has run. So a timer that beats
 * is left alone, and what is pending is dropped where it is deleted.
 */
#include "private.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "hazard.h"

enum { CPUCLOCK_THREAD_SCHED = 6 };

/* struct sigevent as the kernel reads it. */
struct kernel_sigevent {
	void *value;
	int32_t signo, notify;
	int32_t tid;
	int32_t pad[11];
};
_Static_assert(sizeof(struct kernel_sigevent) == 64, "ABI");

static int
arm(int32_t id, uint64_t interval_ns)
{
	struct { int64_t s, ns; } spec[2];

	spec[0].s = spec[1].s = (int64_t)(interval_ns / 1000000000);
	spec[0].ns = spec[1].ns = (int64_t)(interval_ns % 1000000000);
	return (int)sys4(__NR_timer_settime, (uint64_t)id, 0,
			 (uint64_t)spec, 0);
}

/* Not of a thread that has ended, nor one that was put to sleep. */
static bool
beats(int32_t id)
{
	struct { int64_t s, ns; } spec[2] = { { 0, 0 }, { 0, 0 } };

	return handled(HAZARD_LATE_TICK) &&
		sys4(__NR_timer_gettime, (uint64_t)id, (uint64_t)spec, 0,
		     0) == 0 &&
		(spec[0].s || spec[0].ns) &&
		(uint64_t)spec[0].s * 1000000000 + (uint64_t)spec[0].ns ==
			guest.interval_ns;
}

static struct timer_slot *
slot_of(uint32_t tid)
{
	uint32_t i;

	for (i = 0; i < guest.timer_slots; i++)
		if (guest.timers[i].tid == tid)
			return &guest.timers[i];
	return NULL;
}

static struct timer_slot *
free_slot(void)
{
	struct timer_slot *slot = slot_of(0);

	if (!slot && guest.timer_slots < TIMERS_MAX)
		slot = &guest.timers[guest.timer_slots++];
	return slot;
}

static void
slot_delete(struct timer_slot *slot)
{
	(void)sys4(__NR_timer_delete, (uint64_t)slot->id, 0, 0, 0);
	slot->tid = 0;
}

/* The signal itself tells whose it is: a handler need not ask. */
static int
timer_make(uint32_t tid)
{
	const uint64_t clock = (uint64_t)(int64_t)(int32_t)
		((~tid << 3) | CPUCLOCK_THREAD_SCHED);
	struct kernel_sigevent event = {
		.value = (void *)((uint64_t)tid << 32 | RECORD_TIMER_MARK),
		.signo = (int32_t)guest.signo, .notify = SIGEV_THREAD_ID,
		.tid = (int32_t)tid,
	};
	struct timer_slot *slot = slot_of(tid);
	int32_t id;
	int r;

	if (slot) {			/* asleep since a lease ran out? */
		if (beats(slot->id))
			return 0;
		r = arm(slot->id, guest.interval_ns);
		if (r != -ESRCH)
			return r;
		slot_delete(slot);	/* of one that had this number before */
	}
	slot = free_slot();
	if (!slot)
		return -ENOSPC;
	r = (int)sys4(__NR_timer_create, clock, (uint64_t)&event,
		      (uint64_t)&id, 0);
	if (r < 0)
		return r;
	/* Before there is one its number could be of a timer of theirs. */
	slot->id = id;
	__atomic_store_n(&slot->tid, tid, __ATOMIC_RELEASE);
	r = arm(id, guest.interval_ns);
	if (r < 0)
		slot_delete(slot);
	return r;
}

static void
sweep_dead(uint64_t pid)
{
	uint32_t i;

	for (i = 0; i < guest.timer_slots; i++) {
		struct timer_slot *slot = &guest.timers[i];

		if (slot->tid && sys4(__NR_tgkill, pid, slot->tid, 0,
				      0) == -ESRCH)
			slot_delete(slot);
	}
}

static uint32_t
number(const char *text)
{
	uint32_t n = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (uint32_t)(*text - '0');
	return *text ? 0 : n;
}

/* It blocks the signal: a tick would wait, and be seen by whoever waits for
 * all signals there are. */
static bool
is_deaf(uint32_t tid)
{
	const struct record_area *area = guest.area;
	uint32_t i;

	for (i = 0; area && i < area->ndeaf && i < RECORD_DEAF; i++)
		if (area->deaf[i] == tid)
			return handled(HAZARD_DEAF);
	return false;
}

/* Before Linux 6.13 a timer whose tick was dropped does not go on by itself. */
static void
rouse_all(void)
{
	uint32_t i;

	for (i = 0; i < guest.timer_slots; i++)
		if (guest.timers[i].tid && beats(guest.timers[i].id))
			(void)arm(guest.timers[i].id, guest.interval_ns);
}

static int
timer_take_back(uint32_t tid)
{
	struct timer_slot *slot = slot_of(tid);
	bool rests;

	if (!slot)
		return -ESRCH;
	rests = handler_rest();
	slot_delete(slot);
	if (rests) {
		rouse_all();
		handler_rested();
	}
	return -ESRCH;
}

struct entry {
	uint64_t inode, offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

static void
make_listed(const char *at, const char *end, uint32_t self,
	    struct collector_call *call)
{
	while (at < end) {
		const struct entry *e = (const struct entry *)at;
		const uint32_t tid = number(e->name);
		int r;

		at += e->size;
		if (!tid || tid == self || tid == call->helper)
			continue;
		r = is_deaf(tid) ? timer_take_back(tid) : timer_make(tid);
		if (r == 0)
			call->timers_made++;
		else if (r != -ESRCH && r != -EINVAL)
			call->timers_failed++;
	}
}

int
timers_start(struct collector_call *call)
{
	static const char path[] = "/proc/self/task";
	const uint32_t self = call->helper ?
		(uint32_t)sys4(__NR_gettid, 0, 0, 0, 0) : 0;
	char buffer[4096] __attribute__((aligned(8)));
	int64_t fd, n;

	call->timers_made = call->timers_failed = 0;
	sweep_dead((uint64_t)sys4(__NR_getpid, 0, 0, 0, 0));
	fd = sys4(__NR_open, (uint64_t)path,
		  O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0);
	if (fd < 0)
		return (int)fd;
	while ((n = sys4(__NR_getdents64, (uint64_t)fd, (uint64_t)buffer,
			 sizeof buffer, 0)) > 0)
		make_listed(buffer, buffer + n, self, call);
	(void)sys4(__NR_close, (uint64_t)fd, 0, 0, 0);
	if (n < 0)
		return (int)n;
	/* No timer at all: refused (RLIMIT_SIGPENDING), not just no thread. */
	return call->timers_made == 0 && call->timers_failed ? -EAGAIN : 0;
}

void
timers_stop(void)
{
	const bool rests = guest.timer_slots && handler_rest();
	uint32_t i;

	for (i = 0; i < guest.timer_slots; i++)
		if (guest.timers[i].tid)
			slot_delete(&guest.timers[i]);
	guest.timer_slots = 0;
	if (rests)
		handler_rested();
}

void
timers_forget(void)
{
	uint32_t i;

	for (i = 0; i < guest.timer_slots; i++)
		guest.timers[i].tid = 0;
	guest.timer_slots = 0;
}
