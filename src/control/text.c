/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of the target where traps are, or were. Each place that has ever
 * held one is kept until the image goes: what could not be taken out is tried
 * again, and in the end all of them are looked at once more.
 *
 * A trap that stays ends the program, so what takes it out must depend on as
 * little as can be: on a descriptor that is open from before the first trap is
 * written, and if that fails on ptrace, by any thread that stands.
 */
#include "breakpoint.h"
#include "hazard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SWAPS_MAX = 3,
	WORD = sizeof(long),
};

/*
 * The same text behind the trap? An unloaded library's place may be another's,
 * and a byte there be the same by chance. Most of it decides: some bytes change
 * when a program, or another tracer, patches it, or by another trap of ours.
 */
static bool
is_same(const struct trap_text *text, const unsigned char *now)
{
	const size_t behind = text->len - machine_trap_size;
	size_t same = 0;

	for (size_t i = machine_trap_size; i < text->len; i++)
		same += now[i] == text->bytes[i];
	return same * 2 >= behind || !handled(HAZARD_TRAP_TEXT);
}

int
trap_swap(int mem, const struct trap_text *text, enum trap_way way)
{
	const unsigned char *from = way == TRAP_OUT ? machine_trap :
		text->bytes;
	const unsigned char *to = way == TRAP_IN ? machine_trap : text->bytes;
	const off_t at = (off_t)text->addr;
	unsigned char now[TRAP_TEXT_MAX];
	ssize_t n;

	errno = ESRCH;		/* nothing can be read: there is no memory */
	if (pread(mem, now, text->len, at) != (ssize_t)text->len)
		return -1;
	if (memcmp(now, from, machine_trap_size) != 0 || !is_same(text, now))
		return 0;
	do {
		n = pwrite(mem, to, machine_trap_size, at);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)machine_trap_size ? 0 : -1;
}

/*
 * Out by ptrace, which needs no descriptor: of a thread that stands. By whole
 * words, which lie in one page each.
 */
static int
poke_out(pid_t tid, const struct trap_text *text)
{
	const uint64_t begin = text->addr / WORD * WORD;
	const size_t at = text->addr - begin;
	unsigned char now[TRAP_TEXT_MAX + 2 * WORD];
	long word;

	for (size_t i = 0; i < at + text->len; i += WORD) {
		errno = 0;
		word = ptrace(PTRACE_PEEKTEXT, tid, begin + i, 0);
		if (errno)
			return -1;
		memcpy(now + i, &word, WORD);
	}
	if (memcmp(now + at, machine_trap, machine_trap_size) != 0 ||
	    !is_same(text, now + at))
		return 0;
	memcpy(now + at, text->bytes, machine_trap_size);
	memcpy(&word, now, WORD);
	return ptrace(PTRACE_POKETEXT, tid, begin, word) < 0 ? -1 : 0;
}

/* The page was unmapped, or the whole image. */
static bool
is_gone(int error)
{
	return error == EIO || error == ESRCH;
}

static int
swap(int mem, const struct trap_text *text, enum trap_way way)
{
	int r = -1;

	for (int i = 0; i < SWAPS_MAX && r < 0; i++)
		r = trap_swap(mem, text, way);
	return r;
}

/* Over an exec it stays with the old image, whose traps nobody meets. */
static int
open_text(struct target *t)
{
	if (t->text_fd < 0)
		t->text_fd = memory_open(t->proc_fd, t->live_tid);
	return t->text_fd;
}

static void
close_text(struct target *t)
{
	if (t->text_fd >= 0)
		close(t->text_fd);
	t->text_fd = -1;
}

static int
take_out(struct target *t, const struct trap_text *text)
{
	int r = swap(open_text(t), text, TRAP_OUT);

	if (r < 0 && is_gone(errno))
		return 0;
	for (size_t i = 0; i < t->pack.len && r < 0; i++)
		r = handled(HAZARD_TRAP_STAYS) ?
			poke_out(t->pack.items[i].tid, text) : 0;
	return r;
}

/* Also called when there is no memory left: these two allocate nothing. */
void
breakpoints_lift_copy(const struct target *t, int proc_fd, pid_t child)
{
	const int mem = memory_open(proc_fd, child);

	for (size_t i = 0; i < t->ntexts; i++)
		if (swap(mem, &t->texts[i].text, TRAP_OUT) < 0)
			(void)poke_out(child, &t->texts[i].text);
	if (mem >= 0)
		close(mem);
}

/* A child stands that has copies of them. */
static bool
has_copies(const struct target *t)
{
	for (size_t i = 0; i < t->pack.len; i++)
		if (t->pack.items[i].lift)
			return true;
	return false;
}

/* What fails is tried again the next time, and target_traps_left tells. */
void
breakpoints_lift(struct target *t)
{
	for (size_t i = 0; i < t->ntexts; i++)
		if (t->texts[i].in)
			t->texts[i].in = take_out(t, &t->texts[i].text) < 0;
	if (t->traps && !has_copies(t))
		guard_clear(t);
}

static struct trap_place *
place_of(struct target *t, const struct trap_text *text)
{
	struct trap_place *place;

	for (size_t i = 0; i < t->ntexts; i++)
		if (memcmp(&t->texts[i].text, text, sizeof *text) == 0)
			return &t->texts[i];
	t->texts = xgrow(t->texts, &t->texts_cap, t->ntexts + 1,
			 sizeof *t->texts);
	place = &t->texts[t->ntexts++];
	place->text = *text;
	place->in = false;
	return place;
}

int
trap_try(struct target *t, const struct trap_text *text)
{
	(void)place_of(t, text);
	return open_text(t) < 0 ? -1 : trap_swap(t->text_fd, text, TRAP_TRY);
}

static int
plant(struct target *t, const struct breakpoint *bp)
{
	if (guard_watch(t, &bp->text) < 0 || guard_note(t, &bp->text) < 0)
		return -1;
	place_of(t, &bp->text)->in = true;
	/* a library may have been unloaded, and another be in its place */
	(void)swap(open_text(t), &bp->text, TRAP_IN);
	if (!handled(HAZARD_TRAP_STAYS))
		close_text(t);
	return 0;
}

static int
plant_all(struct target *t, bool runs)
{
	if (t->traps && target_live_thread(t) < 0)
		return -1;
	if (!t->traps || !runs || t->lifted || t->vforks || t->shared)
		return 0;
	for (const struct breakpoint *bp = t->breakpoints; bp; bp = bp->next)
		if (breakpoint_is_trap(bp) && plant(t, bp) < 0)
			return -1;
	return 0;
}

int
breakpoints_plant(struct target *t)
{
	return plant_all(t, !t->held);
}

int
breakpoints_plant_for_one(struct target *t)
{
	return plant_all(t, true);
}

void
traps_forget(struct target *t)
{
	close_text(t);
	t->ntexts = 0;
}

/* 1: it is there, 0: it is not, -1: it cannot be seen. */
static int
is_left(struct target *t, const struct trap_text *text)
{
	unsigned char now[TRAP_TEXT_MAX];

	if (memory_look(t, text->addr, now, text->len) < 0)
		return is_gone(errno) ? 0 : -1;
	return memcmp(text->bytes, machine_trap, machine_trap_size) != 0 &&
	       memcmp(now, machine_trap, machine_trap_size) == 0 &&
	       is_same(text, now);
}

int
target_traps_left(struct target *t, uint64_t *addr)
{
	int left = 0, unseen = 0;

	for (size_t i = 0; i < t->ntexts; i++) {
		const struct trap_text *text = &t->texts[i].text;
		const int r = breakpoint_trap_at(t, text->addr) ? 0 :
			is_left(t, text);

		if (r > 0 && left++ == 0)
			*addr = text->addr;
		unseen += r < 0;
	}
	return left || !unseen ? left : -1;
}
