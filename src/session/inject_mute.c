/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ticks that no longer come to us, or disturb. A program may put a handler of
 * its own in place of ours while it is recorded, or ignore the signal, or want
 * the default again; it may send itself the signal, and with us there its calls
 * are interrupted by it; and when we slept past our lease another recorder may
 * have taken the guest. Then the ticks are stopped at once, and the time from
 * here on is booked as lost.
 *
 * Whether the signal is caught at all stands in /proc. By whom does not: where
 * the program used time in user mode and not one tick came, the guest is
 * asked, and rarely again if it was ours after all (one whose only busy
 * thread blocks the signal).
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_inject.h"
#include "hazard.h"

#define QUIET_LEAST_NS	UINT64_C(100000000)
#define PATIENCE_MAX_NS	UINT64_C(60000000000)
enum { QUIET_INTERVALS = 20 };	/* of each thread: not by chance */

static uint64_t
user_time(struct inject *e)
{
	char *text = file_read_at(target_proc(e->opt->target), "stat", NULL);
	const char *after = text ? strrchr(text, ')') : NULL;
	unsigned long long user = 0;

	if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u "
			     "%*u %*u %*u %llu", &user) != 1)
		user = 0;
	free(text);
	return user * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Everything that the guest has ever counted. */
static uint64_t
activity(struct inject *e)
{
	const struct record_area *a = guest_area(e->guest);
	uint64_t n = __atomic_load_n(&a->samples, __ATOMIC_RELAXED) +
		e->held_back;

	for (int i = 0; i < RECORD_LOSSES; i++)
		n += __atomic_load_n(&a->lost[i], __ATOMIC_RELAXED);
	return n;
}

/* It worked for a good while, and no tick came. */
static bool
is_quiet(struct inject *e)
{
	const uint64_t now = activity(e), user = user_time(e);
	const uint64_t enough = QUIET_INTERVALS * e->opt->interval_ns *
		(e->threads.len + 1);

	if (now != e->activity || !e->user_ns || user < e->user_ns) {
		e->activity = now;
		e->user_ns = user;
		e->patience_ns = QUIET_LEAST_NS;
		return false;
	}
	return user - e->user_ns > enough &&
	       user - e->user_ns > e->patience_ns;
}

/* The guest says that nothing is wrong. */
static void
be_patient(struct inject *e)
{
	e->user_ns = user_time(e);
	if (e->patience_ns < PATIENCE_MAX_NS)
		e->patience_ns *= 4;
}

static uint64_t
bit_of(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

/* All, where it cannot be read. */
static uint64_t
caught_signals(struct inject *e)
{
	static const char name[] = "\nSigCgt:";
	struct target *t = e->opt->target;
	char *path = xasprintf("task/%d/status", target_live_thread(t));
	char *text = file_read_at(target_proc(t), path, NULL);
	const char *at = text ? strstr(text, name) : NULL;
	const uint64_t caught = !at ? UINT64_MAX :
		strtoull(at + strlen(name), NULL, 16);

	free(text);
	free(path);
	return caught;
}

/* As inject_check_ungated said at the beginning, and no longer. */
static bool
has_become_unfit(struct inject *e, uint64_t caught)
{
	bool unfit = false;

	if (e->clock && signal_clock_is_gated(e->clock))
		return false;
	if (caught != UINT64_MAX && caught & bit_of(SIGSYS))
		return handled(HAZARD_GATE);
	if (e->maps_changed && inject_check_ungated(e->opt->target) < 0) {
		unfit = fail_last()->kind == FAIL_UNSUITABLE;
		fail_clear();
	}
	return unfit;
}

/* text: with the signal's name in it, where there is a %s. */
__attribute__((format(printf, 3, 0)))
static void
fall_silent(struct inject *e, const char *cause, const char *text)
{
	struct inject_report report = {0};

	e->mute_cause = cause;
	e->mute_text = xasprintf(text, guest_signal(e->guest) == SIGURG ?
				 "SIGURG" : "SIGWINCH");
	e->mute_ns = now_ns();
	if (e->clock)
		(void)signal_clock_enable(e->clock, false);
	/* at the end it is tried again, and told */
	(void)guest_stop(e->guest, &report);
	inject_note_report(e, &report);
}

void
inject_watch_handler(struct inject *e)
{
	uint64_t caught;

	if (e->mute_cause || !e->running)
		return;
	if (guest_is_lost(e->guest)) {
		fall_silent(e, "lease", "another recorder has taken the "
			    "guest over");
		return;
	}
	/* after an exec nothing is caught either */
	caught = caught_signals(e);
	if (!(caught & bit_of(guest_signal(e->guest)))) {
		if (guest_is_there(e->guest))
			fall_silent(e, "handler", "the program catches %s "
				    "no more");
		return;
	}
	if (has_become_unfit(e, caught)) {
		fall_silent(e, "unfit", "the program handles SIGSYS, or takes "
			    "signals by a call, and could be met by %s");
		return;
	}
	if (__atomic_load_n(&guest_area(e->guest)->foreign,
			    __ATOMIC_RELAXED)) {
		fall_silent(e, "handler", "the program uses %s itself");
		return;
	}
	if (!is_quiet(e) || !guest_is_there(e->guest))
		return;
	if (guest_lost_handler(e->guest) == 1)
		fall_silent(e, "handler", "the program has a handler of its "
			    "own for %s");
	else
		be_patient(e);
}
