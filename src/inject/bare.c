/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One system call of a program of which we know nothing: static, at its very
 * first instruction, or another one since an exec. The vdso has the
 * instruction for it, whatever the program is.
 */
#include <assert.h>
#include <linux/time_types.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "private.h"

#define STOP_TIMEOUT_NS	UINT64_C(2000000000)

enum { RED_ZONE = 128, DATA_MAX = 64 };

static uint64_t
find_syscall(struct target *t)
{
	static const unsigned char enter[] = { 0x0f, 0x05 };
	struct modules mods = {0};
	struct look look = { .t = t };
	char *text = target_maps(t);
	uint64_t at = 0;
	size_t i;

	if (text && modules_parse(&mods, text) == 0)
		for (i = 0; i < mods.len && !at; i++) {
			struct image img;

			if (strcmp(mods.items[i].path, "[vdso]") == 0 &&
			    locate_image(&look, mods.items[i].start, &img) == 0)
				at = locate_code(t, &img, enter,
						 sizeof enter);
		}
	free(text);
	modules_fini(&mods);
	look_fini(&look);
	return at;
}

/* data goes below the red zone; arguments that are BARE_DATA + n point there. */
static int
call_with(struct borrow *b, long nr, const uint64_t args[6], const void *data,
	  size_t n, int64_t *result)
{
	const uint64_t at = (b->regs.rsp - RED_ZONE - DATA_MAX) & ~15ull;
	uint64_t own[6];
	int i;

	if (n && target_write(b->p->t, at, data, n) < 0)
		return -1;
	for (i = 0; i < 6; i++)
		own[i] = args[i] - BARE_DATA < n ? args[i] - BARE_DATA + at
						 : args[i];
	return borrow_syscall(b, nr, own, result, NULL);
}

/* more: signals that the thread blocks from now on, too. */
static int
bare(struct target *t, long nr, const uint64_t args[6], const void *data,
     size_t n, uint64_t more, int64_t *result)
{
	struct plan p = { .t = t };
	struct borrow *b = xcalloc(1, sizeof *b);
	int r;

	assert(n <= DATA_MAX);
	b->p = &p;
	r = thread_hold(t, target_live_thread(t), PTRACE_O_TRACESYSGOOD,
			STOP_TIMEOUT_NS, &b->held);
	if (r == 0) {
		r = borrow_save(b);
		/* not before it stands: it may be in the midst of an exec */
		p.gadget = r == 0 ? find_syscall(t) : 0;
		if (p.gadget)
			r = call_with(b, nr, args, data, n, result);
		else if (r == 0)
			r = fail(FAIL_UNSUITABLE, "it has no vdso");
		if (r == 0)
			b->mask |= more;
		if (borrow_return(b, NULL) < 0)
			r = -1;
	}
	free(b);
	return r;
}

int
bare_syscall(struct target *t, long nr, const uint64_t args[6],
	     const void *data, size_t n, int64_t *result)
{
	return bare(t, nr, args, data, n, 0, result);
}

static bool
is_in(struct target *t, const char *set, int signo)
{
	char *text = file_read_at(target_proc(t), "status", NULL);
	const char *at = text ? strstr(text, set) : NULL;
	const bool found = at && strtoull(at + strlen(set), NULL, 16) >>
		(signo - 1) & 1;

	free(text);
	return found;
}

/* ---- a trap at the beginning --------------------------------------------- */

unsigned
inject_trap_habit(struct target *t)
{
	return (is_in(t, "\nSigIgn:", SIGTRAP) ? TRAP_IGNORED : 0) |
		(is_in(t, "\nSigBlk:", SIGTRAP) ? TRAP_BLOCKED : 0);
}

int
inject_trap_restore(struct target *t, unsigned habit)
{
	const struct {		/* as the kernel has it */
		void (*handler)(int);
		uint64_t flags, restorer, mask;
	} action = { .handler = SIG_IGN };
	const uint64_t args[6] = {
		SIGTRAP, habit & TRAP_IGNORED ? BARE_DATA : 0, 0,
		sizeof action.mask,
	};
	int64_t result = 0;

	if (!habit)
		return 0;
	if (bare(t, SYS_rt_sigaction, args, &action, sizeof action,
		 habit & TRAP_BLOCKED ? UINT64_C(1) << (SIGTRAP - 1) : 0,
		 &result) < 0 || result < 0)
		return fail_in("restore the ignored or blocked SIGTRAP of "
			       "process %d", target_pid(t));
	return 0;
}

/* ---- a tick that was left ------------------------------------------------ */

/*
 * A tick that its thread had blocked outlives an exec. The new program would
 * not end of it, but see it if it waits for all signals. (Timers' signals the
 * kernel drops at the exec.)
 */
int
inject_drop_tick(struct target *t, int signo)
{
	const struct {
		uint64_t set;
		struct __kernel_timespec no_time;
	} data = { .set = UINT64_C(1) << (signo - 1) };
	const uint64_t args[6] = {
		BARE_DATA, 0, BARE_DATA + sizeof data.set, sizeof data.set
	};
	int64_t result;

	if (!is_in(t, "\nSigPnd:", signo))
		return 0;
	if (bare_syscall(t, SYS_rt_sigtimedwait, args, &data, sizeof data,
			 &result) < 0)
		return fail_in("take a late tick from process %d",
			       target_pid(t));
	return 0;
}
