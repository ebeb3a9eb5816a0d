/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls are transparent: the victim `calls` has a thread in each call
 * that waits, and knows what each has to answer. It is held whole and thread
 * by thread, looked at, and visited with any of its threads as the donor, with
 * clocks that tick: no call says EINTR that should not, none ends early, and
 * transfers are not cut, but for a few that were running just then.
 * injection.md 2: rows 6, 7; HAZARD_PARTIAL
 *
 *	SONDE_VISITS=n	injections, 30 if unset
 *	SONDE_SEED=n	of the donors
 */
#include "control-test.h"

#include "inject.h"

enum { ROUNDS = 20, HOLDS = 3, CUT_MOST = 5 };

static int to_victim, from_victim;
static char line[160];

static bool
read_line(void)
{
	size_t n = 0;

	while (n < sizeof line - 1 && read(from_victim, &line[n], 1) == 1 &&
	       line[n] != '\n')
		n++;
	line[n] = '\0';
	return n > 0;
}

static pid_t
start_calls(void)
{
	static char name[] = "tests/victims/calls";
	char *const argv[] = { name, NULL };
	int in[2], out[2];

	if (pipe(in) < 0 || pipe(out) < 0)
		exit(99);

	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		alarm(0);
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execv(name, argv);
		_exit(99);
	}
	close(in[0]);
	close(out[1]);
	to_victim = in[1];
	from_victim = out[0];
	check(read_line() && str_starts(line, "ready"), "it says %s", line);
	return pid;
}

static bool
refused_well(void)
{
	const bool well = strstr(fail_last()->reason, "transfer") &&
		*fail_last()->remedy;

	fail_clear();
	return well;
}

/* ---- the ways to stop it ------------------------------------------------- */

static int refusals, holds;

static void
hold_each(struct target *t)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		struct held h;

		if (thread_hold(t, tids[i], 0, 5000 * (uint64_t)MS, &h) == 0) {
			holds++;
			check(thread_release(t, &h) == 0, "release");
		} else {
			/* a child's waiter may have ended meanwhile */
			refusals += refused_well();
		}
	}
	free(tids);
}

static void
hold_all(struct target *t)
{
	if (target_hold_all(t) == 0) {
		holds++;
		check(target_release_all(t) == 0, "release all");
	} else {
		check(refused_well(), "hold all is refused for a reason");
		refusals++;
	}
}

static void
run_seized(struct target *t)
{
	struct event ev;

	if (target_hold_all(t) < 0) {
		check(refused_well(), "refused for a reason");
		return;
	}
	check(target_continue_all(t) == 0, "continue");
	for (int i = 0; i < 20; i++) {
		while (target_next_event(t, &ev))
			;
		rest_ms(1);
	}
	check(target_release_all(t) == 0, "release all");
}

static void
look(struct target *t)
{
	struct snapshot snap;

	check(snapshot_take(t, 0, 4096, &snap) == 0, "a snapshot");
	check(snap.len > 20, "a snapshot of %zu threads", snap.len);
	snapshot_fini(&snap);
}

static void
visit(struct target *t, unsigned seed)
{
	const struct guest_options opt = {
		.windows = 64, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 65536, .interval_ns = MS, .donor_seed = seed,
		.start = true, .clock = GUEST_POSIX_TIMER,
	};
	struct inject_report report = { 0 };
	struct guest *g = guest_open(t, &opt, &report);

	check(g != NULL, "visit %u", seed);
	if (!g)
		return;
	rest_ms(5);
	check(guest_stop(g, &report) == 0, "the end of visit %u", seed);
	guest_close(g);
}

/* ---- what it says -------------------------------------------------------- */

static unsigned long long told_cut;

/* What it has seen so far, or at its end. */
static void
hear(void)
{
	unsigned long long n;
	char key[16];

	while (read_line() && strcmp(line, "marked") != 0) {
		if (str_starts(line, "bad"))
			check(false, "%s", line);
		if (sscanf(line, "%15s %llu", key, &n) == 2 &&
		    strcmp(key, "cut") == 0)
			told_cut = n;
	}
}

static void
ask(const char *word)
{
	check(write(to_victim, word, strlen(word)) > 0, "told");
	hear();
}

/* A transfer that runs at the moment cannot be told from computing; without
 * the handling some thirty are cut here. */
static void
touch_one(struct target *t, unsigned visits, unsigned seed)
{
	for (int i = 0; i < HOLDS; i++)
		hold_each(t);
	for (int i = 0; i < ROUNDS; i++)
		look(t);
	for (unsigned i = 0; i < visits; i++)
		visit(t, seed + i);
	ask("mark\n");
	check(told_cut <= CUT_MOST, "%llu transfers were cut", told_cut);
}

/* A transfer may begin while all are being asked to stop: that is counted. */
static void
touch_all(struct target *t)
{
	for (int i = 0; i < HOLDS; i++) {
		hold_all(t);
		run_seized(t);
	}
	ask("end\n");
	check(told_cut <= CUT_MOST + 2 * HOLDS, "%llu transfers were cut",
	      told_cut);
}

static void
body(void)
{
	const char *visits = getenv("SONDE_VISITS");
	const char *seed = getenv("SONDE_SEED");
	const unsigned n = visits ? (unsigned)atoi(visits) : 30;
	const pid_t pid = start_calls();
	const unsigned first = seed ? (unsigned)atoi(seed) : (unsigned)pid;
	struct target *t = target_open(pid);

	check(t != NULL, "open");
	if (!t)
		return;
	touch_one(t, n, first);
	touch_all(t);
	printf("%d holds, %d refused, %u visits from seed %u; %u waits began "
	       "again, %u transfers cut, %u counted\n", holds, refusals,
	       n, first, target_marks(t)->began_again,
	       (unsigned)told_cut, target_marks(t)->cut_short);
	target_close(t);
	check(ended_well(pid), "its own judgement");
	check(holds > 2 * HOLDS, "%d holds", holds);
}

int
main(void)
{
	return run_as(false, body, 120);
}
