/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: C1 E1
 * An experiment of which the last seconds are kept, for longer than a test can
 * wait: stacks that nobody names any more are forgotten, those that are asked
 * for once and named for ever are not; one that comes too late is counted as
 * lost, and nothing else is. Memory is bounded, by stacks alone, too; every
 * sample is kept or counted as dropped, by each of two writes.
 */
#include "experiment-help.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define US UINT64_C(1000)

enum {
	OLD = 20000, DEPTH = 64,	/* more than 8 MB of stacks */
	LARGE = 3000, LARGE_DEPTH = 2000,	/* 48 MB of them */
	MOST_MB = 16, MOST = MOST_MB << 20,
	OVERVIEW_RECORD = 504,
};

static struct experiment *
keep(uint64_t start_ns, uint64_t span_ns)
{
	struct experiment_info info = test_info("kept.er");
	struct experiment *exp;

	info.start_ns = start_ns;
	info.limit_mb = MOST_MB;
	exp = experiment_keep(&info, span_ns);
	if (!exp)
		exit(1);
	return exp;
}

/* Another one for each n. */
static uint64_t
stack_of(struct experiment *exp, uint64_t n, size_t depth)
{
	static uint64_t pcs[LARGE_DEPTH];

	for (size_t i = 0; i < depth; i++)
		pcs[i] = 0x400000 + i;
	pcs[0] = 0x800000 + n;
	return experiment_stack(exp, pcs, depth, STACK_COMPLETE);
}

static void
clock_at(struct experiment *exp, uint64_t time_ns, uint64_t frinfo)
{
	experiment_clock(exp, time_ns, 7, 0, MSTATE_USER, US, frinfo);
}

static void
sample_at(struct experiment *exp, uint64_t time_ns)
{
	const struct experiment_usage use = { .user_ns = time_ns / 2 };

	experiment_sample(exp, time_ns, "periodic", &use);
}

/* A number that the log tells in the last event of a kind. */
static uint64_t
told(const struct experiment_reader *rd, const char *kind, const char *what)
{
	uint64_t n = 0;

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		if (strcmp(ev->kind, kind) == 0)
			n = strtoull(ev->attr(ev, what), NULL, 10);
	}
	return n;
}

struct found {
	const struct experiment_reader *rd;
	uint64_t pc, times;
};

static bool
count_leaf(void *arg, const struct experiment_packet *p)
{
	static uint64_t *pcs;
	static size_t cap;
	struct found *f = arg;
	enum stack_end end;

	f->times += experiment_stack_of(f->rd, p->frinfo, &pcs, &cap,
					&end) > 0 && pcs[0] == f->pc;
	return true;
}

static uint64_t
times_at(const struct experiment_reader *rd, uint64_t pc)
{
	struct found f = { .rd = rd, .pc = pc };

	experiment_packets(rd, count_leaf, &f);
	return f.times;
}

static struct experiment_reader *
written(struct experiment *exp, const char *path)
{
	if (experiment_write_kept(exp, path, now_ns(), "a test") < 0) {
		fprintf(stderr, "%s\n", fail_last()->reason);
		exit(1);
	}
	return test_open(path);
}

static void
check_written(struct experiment_reader *rd, uint64_t kept, uint64_t dropped)
{
	const struct test_sums sums = test_sum(rd);

	check_number("packets that are kept", sums.packets, kept);
	check_number("samples that were dropped",
		     told(rd, "sonde_kept", "dropped_samples"), dropped);
	check_number("packets without a stack", sums.unnamed, 0);
}

/* More than a minute ago, for which stacks are kept, and now. */
static void
test_forgotten(void)
{
	/* the machine may have started just before */
	while (now_ns() <= 2 * MINUTE)
		usleep(100000);

	const uint64_t now = now_ns(), old = now - 2 * MINUTE;
	struct experiment *exp = keep(old, 10 * SECOND);
	const uint64_t kernel = experiment_artificial(exp, "<Kernel>"),
	      kernel_pc = experiment_artificial_pc(exp, "<Kernel>"),
	      lost_pc = experiment_artificial_pc(exp, "<Lost samples>");
	uint64_t first = 0;
	struct experiment_reader *rd;
	struct stat st;

	for (uint64_t i = 0; i < OLD; i++) {
		const uint64_t frinfo = stack_of(exp, i, DEPTH);

		first = first ? first : frinfo;
		clock_at(exp, old + i * 1000 * US, frinfo);
	}
	sample_at(exp, old + SECOND);
	check(experiment_size(exp) > 10 << 20, "there are no stacks");
	(void)experiment_flush(exp);
	check(experiment_size(exp) < 1 << 20, "%llu bytes of stacks are left",
	      (unsigned long long)experiment_size(exp));
	check(!experiment_has_stack(exp, first), "a stack is not forgotten");
	check(experiment_has_stack(exp, kernel), "<Kernel> is forgotten");

	clock_at(exp, now - 3 * US, first);
	clock_at(exp, now - 2 * US, kernel);
	clock_at(exp, now - US, stack_of(exp, 0, DEPTH));
	sample_at(exp, now - US);
	rd = written(exp, "one.er");
	check_written(rd, 3, OLD);
	check_number("samples at <Kernel>", times_at(rd, kernel_pc), 1);
	check_number("samples at <Lost samples>", times_at(rd, lost_pc), 1);
	check_number("samples where it is known", times_at(rd, 0x800000), 1);
	check_number("samples that are told as lost",
		     told(rd, "sonde_loss", "samples"), 1);
	experiment_reader_free(rd);
	check_number("bytes of the one sample point that is kept",
		     stat("one.er/overview", &st) < 0 ? 0 :
		     (uint64_t)st.st_size, OVERVIEW_RECORD);

	clock_at(exp, now, kernel);
	rd = written(exp, "two.er");
	check_written(rd, 4, OLD);
	experiment_reader_free(rd);
	(void)experiment_close(exp, now, "over");
	check(stat("kept.er", &st) < 0, "closing has written it");
}

/* All of them young. */
static void
test_bounded(void)
{
	const uint64_t start = now_ns() - SECOND, span = 3600 * SECOND;
	struct experiment *exp = keep(start, span);
	uint64_t most = 0, dropped, time = start;
	struct experiment_reader *rd;

	for (uint64_t i = 0; i < LARGE; i++) {
		time = start + i * US;
		clock_at(exp, time, stack_of(exp, i, LARGE_DEPTH));
		if (i % 10)
			continue;
		(void)experiment_flush(exp);
		if (experiment_size(exp) > most)
			most = experiment_size(exp);
	}
	check(most <= MOST + 10 * (LARGE_DEPTH + 10) * sizeof(uint64_t),
	      "it takes %llu bytes", (unsigned long long)most);
	dropped = experiment_kept_dropped(exp, now_ns());
	check(experiment_kept_ns(exp, time) < (LARGE - dropped + 1) * US,
	      "it says that more is kept");
	check(dropped > 0 && dropped < LARGE - MOST / LARGE_DEPTH / 20,
	      "%llu were dropped", (unsigned long long)dropped);
	/* but for the last, what is written is not that large */
	check_number("dropped but for the last 100",
		     experiment_kept_dropped(exp, time - 99 * US + span),
		     LARGE - 100);
	rd = written(exp, "large.er");
	check_written(rd, 100, LARGE - 100);
	check_number("losses", told(rd, "sonde_loss", "samples"), 0);
	experiment_reader_free(rd);
	(void)experiment_close(exp, time, "over");
}

int
main(void)
{
	char *dir = scratch_enter();

	test_forgotten();
	test_bounded();
	scratch_leave(dir);
	return failures ? 1 : 0;
}
