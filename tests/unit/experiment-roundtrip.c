/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: E1 E2 E3
 * What is written is what is read: stacks of every depth and end, weights to
 * the microsecond, mappings over time, events, sample points; while it is
 * being recorded as well as after the end.
 */
#include <signal.h>
#include <sys/wait.h>

#include "experiment-help.h"

#define MS UINT64_C(1000000)

enum { DEEP = 10000, SHALLOW_PACKETS = 1000 };

static struct experiment_packet seen[4096];
static size_t seen_count;

static bool
remember(void *arg, const struct experiment_packet *p)
{
	(void)arg;
	if (seen_count < ARRAY_LEN(seen))
		seen[seen_count] = *p;
	seen_count++;
	return true;
}

static void
check_stack(const struct experiment_reader *rd, uint64_t frinfo,
	    const uint64_t *want, size_t n, enum stack_end want_end)
{
	uint64_t *pcs = NULL;
	size_t cap = 0;
	enum stack_end end;
	const ssize_t got = experiment_stack_of(rd, frinfo, &pcs, &cap, &end);

	if (check(got == (ssize_t)n, "a stack of %zu frames has %zd", n, got))
		check(n == 0 || memcmp(pcs, want, n * sizeof *want) == 0,
		      "the frames of a stack of %zu differ", n);
	check(end == want_end, "a stack ends as %d, not %d", end, want_end);
	free(pcs);
}

static void
test_stacks(void)
{
	const struct experiment_info info = test_info("stacks.er");
	struct experiment *exp = test_create(&info);
	uint64_t *deep = xmalloc((70000 + 1) * sizeof *deep);
	const size_t sizes[] = { 0, 1, 2, 2047, 2048, 2049, 4096, 4097, DEEP,
		65536 };
	uint64_t ids[ARRAY_LEN(sizes)][3];

	for (size_t i = 0; i < 70001; i++)
		deep[i] = 0x400000 + i * 16;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (int end = 0; end < 3; end++) {
			ids[i][end] = experiment_stack(exp, deep, sizes[i],
						       (enum stack_end)end);
			check(ids[i][end] != 0, "no id");
		}
	check(experiment_stack(exp, deep, DEEP, STACK_COMPLETE) ==
	      ids[8][STACK_COMPLETE], "one stack has two ids");

	const uint64_t before = experiment_size(exp);

	/* another leaf on the same 10000 frames costs no second copy */
	deep[70000] = deep[0];
	deep[0] = 0x999;

	const uint64_t other = experiment_stack(exp, deep, DEEP,
						STACK_COMPLETE);

	check(experiment_size(exp) - before < 2048 * 8 + 64,
	      "roots are not shared: %llu bytes",
	      (unsigned long long)(experiment_size(exp) - before));

	const uint64_t cut = experiment_stack(exp, deep, 70000,
					      STACK_COMPLETE);

	experiment_close(exp, TEST_START + MS, "end");

	struct experiment_reader *rd = test_open("stacks.er");

	check_stack(rd, other, deep, DEEP, STACK_COMPLETE);
	check_stack(rd, cut, deep, 65536, STACK_TRUNCATED);
	deep[0] = deep[70000];
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (int end = 0; end < 3; end++)
			check_stack(rd, ids[i][end], deep, sizes[i],
				    (enum stack_end)end);
	check_number("warnings", experiment_warning_count(rd), 0);
	experiment_reader_free(rd);
	free(deep);
}

/* Weights below a microsecond wait; above 2147 s they are split. */
static void
test_weights(void)
{
	const struct experiment_info info = test_info("weights.er");
	struct experiment *exp = test_create(&info);
	const uint64_t pcs[] = { 0x1000, 0x2000 };
	const uint64_t id = experiment_stack(exp, pcs, 2, STACK_COMPLETE);
	const uint64_t huge = UINT64_C(5000000000) * 1000 + 7;

	for (int i = 0; i < 10; i++)
		experiment_clock(exp, TEST_START + i * MS, 10, 1, MSTATE_USER,
				 1500, id);
	experiment_clock(exp, TEST_START, 10, 1, MSTATE_SYSTEM, 999, id);
	experiment_clock(exp, TEST_START, 11, 1, MSTATE_SYSTEM, 999, id);
	experiment_clock(exp, TEST_START + 20 * MS, 12, 0, MSTATE_SLEEP, huge,
			 id);
	experiment_close(exp, TEST_START + 30 * MS, "end");

	struct experiment_reader *rd = test_open("weights.er");
	const struct test_sums sums = test_sum(rd);

	check_number("user", sums.by_state[MSTATE_USER], 15000);
	check_number("system", sums.by_state[MSTATE_SYSTEM], 0);
	check_number("sleep", sums.by_state[MSTATE_SLEEP], huge - 7);
	check_number("packets", sums.packets, 10 + 3);
	check_number("unnamed", sums.unnamed, 0);
	experiment_reader_free(rd);
}

/* What a map record has to be. */
struct want_map {
	uint64_t from, until, start, size, offset;
	unsigned prot;
	bool is_function;
	const char *name, *build_id;
};

static void
check_maps(const struct experiment_reader *rd, const struct want_map *want,
	   size_t n)
{
	/* and <Lost samples>, which is there from the beginning */
	check_number("mappings", experiment_map_count(rd), n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct want_map *w = &want[i];
		bool found = false;

		for (size_t j = 0; j < experiment_map_count(rd); j++) {
			const struct experiment_map_record *r =
				experiment_map_at(rd, j);

			found |= r->time_ns == w->from &&
				r->until_ns == w->until &&
				r->start == w->start && r->size == w->size &&
				r->offset == w->offset && r->prot == w->prot &&
				r->is_function == w->is_function &&
				strcmp(r->name, w->name) == 0 &&
				strcmp(r->build_id, w->build_id) == 0;
		}
		check(found, "mapping %zu (%s) is not as written", i, w->name);
	}
}

static void
test_maps(void)
{
	const struct experiment_info info = test_info("maps.er");
	struct experiment *exp = test_create(&info);
	const uint64_t t = TEST_START, gib = UINT64_C(1) << 30;

	experiment_map(exp, t - 5, 0x10000, 0x3000, 0x1000, 5, "/bin/a&b",
		       "00ff");
	experiment_map(exp, t, 0x20000, 0x1000, 0, 7, "/bin/rwx", NULL);
	experiment_map(exp, t, 0x30000, 0x1000, 0, 4, "/lib/ro", "");
	experiment_map(exp, t, 0x40000, 0x1000, 0, 5, "", NULL);
	experiment_map(exp, t, 0x50000, 0x2000, 0, 5, "[vdso]", NULL);
	experiment_function(exp, t + 1, 0x50100, 0x80, "__vdso_x<int>");
	/* the middle page of a&b is replaced, then taken away */
	experiment_map(exp, t + MS, 0x11000, 0x1000, 0x9000, 5, "/lib/plug",
		       NULL);
	experiment_unmap(exp, t + 2 * MS, 0x11000);
	/* more than an int holds, and gone again */
	experiment_map(exp, t, gib * 16, gib * 2 + 4096, 0, 5, "/big", NULL);
	experiment_unmap(exp, t + 3 * MS, gib * 16);
	experiment_close(exp, t + 4 * MS, "end");

	const uint64_t never = UINT64_MAX;
	const struct want_map want[] = {
		{ 0, MS, 0x10000, 0x3000, 0x1000, 5, false, "/bin/a&b",
			"00ff" },
		{ MS, never, 0x10000, 0x1000, 0x1000, 5, false, "/bin/a&b",
			"00ff" },
		{ MS, 2 * MS, 0x11000, 0x1000, 0x9000, 5, false, "/lib/plug",
			"" },
		{ MS, never, 0x12000, 0x1000, 0x3000, 5, false, "/bin/a&b",
			"00ff" },
		{ 0, never, 0x20000, 0x1000, 0, 7, false, "/bin/rwx", "" },
		{ 0, never, 0x30000, 0x1000, 0, 4, false, "/lib/ro", "" },
		{ 0, never, 0x40000, 0x1000, 0, 5, false, "", "" },
		{ 0, 1, 0x50000, 0x2000, 0, 5, false, "[vdso]", "" },
		{ 1, never, 0x50000, 0x100, 0, 5, false, "[vdso]", "" },
		{ 1, never, 0x50100, 0x80, 0, 0, true, "__vdso_x<int>", "" },
		{ 1, never, 0x50180, 0x1e80, 0x180, 5, false, "[vdso]", "" },
		{ 0, 3 * MS, gib * 16, gib, 0, 5, false, "/big", "" },
		{ 0, 3 * MS, gib * 17, gib, gib, 5, false, "/big", "" },
		{ 0, 3 * MS, gib * 18, 4096, gib * 2, 5, false, "/big", "" },
	};
	struct experiment_reader *rd = test_open("maps.er");

	check_maps(rd, want, ARRAY_LEN(want));
	experiment_reader_free(rd);
}

static const struct experiment_log_event *
find_event(const struct experiment_reader *rd, const char *kind, size_t nth)
{
	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		if (strcmp(ev->kind, kind) == 0 && nth-- == 0)
			return ev;
	}
	return NULL;
}

static void
check_attr(const struct experiment_reader *rd, const char *kind, size_t nth,
	   const char *name, const char *want)
{
	const struct experiment_log_event *ev = find_event(rd, kind, nth);

	if (check(ev, "there is no event %s %zu", kind, nth))
		check_text(name, ev->attr(ev, name), want);
}

static const char odd[] = "100% <of> \"it\" & 'that'\n\ttab \x7f %41% \xc3\xa4";
/* ... comes back as it was, but for what a terminal would obey */
static const char tamed[] = "100% <of> \"it\" & 'that'\n\ttab ? %41% \xc3\xa4";
/* an attribute is one line of a report */
static const char tamed_line[] =
	"100% <of> \"it\" & 'that'??tab ? %41% \xc3\xa4";

static void
write_events(struct experiment *exp)
{
	const char *const attrs[] = { "who", odd, "n", "12", NULL };
	const struct experiment_usage use = {
		.user_ns = 1500000001, .system_ns = 7, .wait_ns = 8,
		.sleep_ns = 9, .minor_faults = 10, .major_faults = 11,
		.in_blocks = 12, .out_blocks = 13, .voluntary = 14,
		.involuntary = 15,
	};
	const struct experiment_usage none = { 0 };

	experiment_sample(exp, TEST_START, "open", &none);
	experiment_comment(exp, TEST_START + 1, odd);
	experiment_pause(exp, TEST_START + 2 * MS, "API");
	experiment_resume(exp, TEST_START + 3 * MS);
	experiment_event(exp, TEST_START + 4 * MS, "sonde_odd", attrs);
	experiment_sample(exp, TEST_START + 5 * MS, odd, &use);
	experiment_loss(exp, TEST_START + 6 * MS, "ring", "", 1, 10);
	experiment_loss(exp, TEST_START + 7 * MS, "ring", "", 2, 20);
	experiment_loss(exp, TEST_START + 7 * MS, "blocked", "a b", 5, 50);
	experiment_loss(exp, TEST_START + 8 * MS, "ring", "", 3, 30);
}

static void
check_samples(const struct experiment_reader *rd)
{
	if (!check_number("samples", experiment_sample_count(rd), 2))
		return;

	const struct experiment_sample_record *s = experiment_sample_at(rd, 1);

	check_text("label", s->label, tamed_line);
	check_number("sample time", s->time_ns, 5 * MS);
	check_number("user", s->use.user_ns, 1500000001);
	check_number("system", s->use.system_ns, 7);
	check_number("wait", s->use.wait_ns, 8);
	check_number("sleep", s->use.sleep_ns, 9);
	check_number("minor", s->use.minor_faults, 10);
	check_number("major", s->use.major_faults, 11);
	check_number("in", s->use.in_blocks, 12);
	check_number("out", s->use.out_blocks, 13);
	check_number("voluntary", s->use.voluntary, 14);
	check_number("involuntary", s->use.involuntary, 15);
}

/* The last line of a loss holds, and drains do not swamp the log. */
static void
check_losses(const struct experiment_reader *rd)
{
	const struct experiment_log_event *ev, *ring = NULL;
	size_t lines = 0;

	for (size_t i = 0; (ev = find_event(rd, "sonde_loss", i)); i++) {
		lines++;
		if (strcmp(ev->attr(ev, "cause"), "ring") == 0)
			ring = ev;
	}
	check_number("loss lines", lines, 3);
	if (check(ring, "no loss by ring")) {
		check_text("samples", ring->attr(ring, "samples"), "3");
		check_text("weight", ring->attr(ring, "weight_ns"), "30");
	}
}

static void
test_events(void)
{
	const struct experiment_info info = test_info("events.er");
	struct experiment *exp = test_create(&info);

	write_events(exp);
	check(experiment_close(exp, TEST_START + 9 * MS, tamed) == 0, "close: %s",
	      fail_last()->reason);
	spill("events.er/notes", "a note\n", 7);

	struct experiment_reader *rd = test_open("events.er");

	check_number("warnings", experiment_warning_count(rd), 0);
	check(experiment_finished(rd), "it is not finished");
	check_number("duration", experiment_duration_ns(rd), 9 * MS);
	check_number("start", experiment_start_ns(rd), TEST_START);
	check_text("notes", experiment_notes(rd), "a note\n");
	check_text("cwd", experiment_property(rd, "cwd"), info.cwd);
	check_text("command", experiment_property(rd, "command"),
		   info.command);
	check_text("pid", experiment_property(rd, "pid"), "4242");
	check_text("interval", experiment_property(rd, "interval_us"),
		   "10007");
	check_text("engine", experiment_property(rd, "engine"), "ring");
	check_text("why", experiment_property(rd, "engine_why"),
		   info.engine_why);
	check_text("attached", experiment_property(rd, "attached"), "1");
	check_text("version", experiment_property(rd, "version"), "12.4");
	check_text("end", experiment_property(rd, "end"), tamed_line);
	check(!experiment_property(rd, "nothing"), "a property from nowhere");
	check_attr(rd, "pause", 0, "name", "API");
	check_attr(rd, "sonde_odd", 0, "who", tamed_line);
	check_attr(rd, "sonde_odd", 0, "n", "12");
	check(find_event(rd, "resume", 0)->time_ns == 3 * MS, "resume's time");
	/* the first comment is the header's own */
	check_text("comment", find_event(rd, "comment", 1)->text, tamed);
	check_samples(rd);
	check_losses(rd);
	experiment_reader_free(rd);
}

/* Artificial functions have a name, by the mapping at their address. */
static void
test_artificial(void)
{
	const struct experiment_info info = test_info("artificial.er");
	struct experiment *exp = test_create(&info);
	const uint64_t lost = experiment_artificial(exp, "<Lost samples>");
	const uint64_t pc = experiment_artificial_pc(exp, "do_syscall_64");

	check(lost == experiment_artificial(exp, "<Lost samples>"),
	      "one name has two stacks");
	check(pc == experiment_artificial_pc(exp, "do_syscall_64"),
	      "one name has two addresses");
	experiment_close(exp, TEST_START + MS, "end");

	struct experiment_reader *rd = test_open("artificial.er");
	uint64_t *pcs = NULL;
	size_t cap = 0;
	enum stack_end end;

	check(experiment_stack_of(rd, lost, &pcs, &cap, &end) == 1,
	      "the stack of <Lost samples> is not one frame");
	for (size_t i = 0; i < experiment_map_count(rd); i++) {
		const struct experiment_map_record *r =
			experiment_map_at(rd, i);
		const bool has_lost = pcs[0] > r->start &&
			pcs[0] < r->start + r->size;
		const bool has_pc = pc > r->start && pc < r->start + r->size;

		check(r->is_function, "%s is no function", r->name);
		check(has_lost != has_pc, "%s covers both or none", r->name);
		check_text("name", r->name,
			   has_lost ? "<Lost samples>" : "do_syscall_64");
	}
	check_number("functions", experiment_map_count(rd), 2);
	free(pcs);
	experiment_reader_free(rd);
}

/* Read by another while it grows: what was flushed is there, and sound. */
static void
test_live(void)
{
	const struct experiment_info info = test_info("live.er");
	struct experiment *exp = test_create(&info);
	const uint64_t pcs[] = { 0x1000, 0x2000, 0x3000 };

	for (int i = 0; i < SHALLOW_PACKETS; i++) {
		const uint64_t id = experiment_stack(exp, pcs, 1 + i % 3,
						     STACK_COMPLETE);

		experiment_clock(exp, TEST_START + i * MS, 7, 0, MSTATE_USER,
				 MS, id);
		if (i % 100 != 99)
			continue;
		check(experiment_flush(exp) == 0, "flush");

		struct experiment_reader *rd = test_open("live.er");
		const struct test_sums sums = test_sum(rd);

		check_number("packets so far", sums.packets, i + 1);
		check_number("unnamed so far", sums.unnamed, 0);
		check(experiment_recording(rd), "nobody records it");
		check(!experiment_finished(rd), "it is finished already");
		check_number("warnings", experiment_warning_count(rd), 0);
		check_number("duration", experiment_duration_ns(rd), i * MS);
		experiment_reader_free(rd);
	}
	experiment_exec(exp, TEST_START + 2000 * MS, "_x1", "ls");
	experiment_close(exp, TEST_START + 2000 * MS, "the target called exec");

	struct experiment_reader *rd = test_open("live.er/");

	check(!experiment_recording(rd), "it is still recorded");
	check(experiment_finished(rd), "exec is no end");
	experiment_packets(rd, remember, NULL);
	check_number("packets", seen_count, SHALLOW_PACKETS);
	check_number("time", seen[42].time_ns, 42 * MS);
	check_number("thread", seen[42].thread, 7);
	check_number("kind", (uint64_t)seen[42].kind, 8);
	experiment_reader_free(rd);
}

static void
write_fast(void)
{
	const struct experiment_info info = test_info("fast.er");
	struct experiment *exp = test_create(&info);
	uint64_t pcs[40];

	for (uint64_t i = 0; i < 200000; i++) {
		const uint64_t t = TEST_START + i * 1000;

		for (size_t j = 0; j < ARRAY_LEN(pcs); j++)
			pcs[j] = (i / 4 << 12) + j;
		if (i % 64 == 0)
			experiment_function(exp, t, i << 10, 65536, "jit");
		experiment_clock(exp, t, 7, 0, MSTATE_USER, 1000,
				 experiment_stack(exp, pcs, ARRAY_LEN(pcs),
						  STACK_COMPLETE));
		if (i % 1000 == 0)
			experiment_flush(exp);
	}
	_exit(experiment_close(exp, TEST_START + MS, "end") != 0);
}

/* Two processes, nothing agreed between them: each look is sound, none sees
 * less than the one before. */
static void
test_concurrent(void)
{
	const pid_t pid = fork();
	uint64_t before = 0, looks = 0;
	bool finished = false;
	int status;

	if (pid == 0)
		write_fast();
	while (!finished) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			finished = true;
			check(status == 0, "the writer ended with %#x",
			      status);
		}

		struct experiment_reader *rd = experiment_open("fast.er");

		if (!rd || !experiment_property(rd, "version")) {
			/* it is just being created */
			check(!finished, "%s", fail_last()->reason);
			experiment_reader_free(rd);
			continue;
		}

		const struct test_sums sums = test_sum(rd);

		check(sums.packets >= before, "packets went away");
		check_number("unnamed", sums.unnamed, 0);
		check_number("words", sums.words, sums.packets * 40);
		check_number("warnings", experiment_warning_count(rd), 0);
		before = sums.packets;
		looks++;
		experiment_reader_free(rd);
	}
	check_number("packets", before, 200000);
	check(looks > 2, "only %llu looks", (unsigned long long)looks);
}

static void
add_packets(const char *path, int n)
{
	const struct experiment_info info = test_info(path);
	struct experiment *exp = test_create(&info);
	const uint64_t pc = 0x1000;

	for (int i = 0; i < n; i++)
		experiment_clock(exp, TEST_START, 7, 0, MSTATE_USER, MS,
				 experiment_stack(exp, &pc, 1, STACK_COMPLETE));
	experiment_close(exp, TEST_START + MS, "end");
}

static void
test_children(void)
{
	const char *const names[] = { "_f1.er", "_f2.er", "_f2_x1.er",
		"_f10.er" };

	add_packets("founder.er", 1);
	for (size_t i = ARRAY_LEN(names); i-- > 0; ) {
		char *path = xasprintf("founder.er/%s", names[i]);

		add_packets(path, 10 + (int)i);
		free(path);
	}
	mkdir("founder.er/archives", 0777);

	struct experiment_reader *rd = test_open("founder.er");

	check_number("children", experiment_child_count(rd), 4);
	for (size_t i = 0; i < experiment_child_count(rd); i++) {
		const struct experiment_reader *child =
			experiment_child(rd, i);
		const struct test_sums sums = test_sum(child);

		check(str_ends(experiment_reader_path(child), names[i]),
		      "child %zu is %s", i, experiment_reader_path(child));
		check_number("packets of a child", sums.packets, 10 + i);
	}
	check_number("packets of the founder", test_sum(rd).packets, 1);
	experiment_reader_free(rd);
}

/* Writers are killed at any moment; what was flushed stays readable. */
static void
test_killed(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		const struct experiment_info info = test_info("killed.er");
		struct experiment *exp = test_create(&info);
		const uint64_t pc = 0x1000;
		const uint64_t id = experiment_stack(exp, &pc, 1,
						     STACK_COMPLETE);

		for (int i = 0; i < 100; i++)
			experiment_clock(exp, TEST_START + i * MS, 7, 0,
					 MSTATE_USER, MS, id);
		experiment_flush(exp);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);

	struct experiment_reader *rd = test_open("killed.er");

	check(!experiment_finished(rd), "a killed writer finished it");
	check(!experiment_recording(rd), "a killed writer records it");
	check_number("packets", test_sum(rd).packets, 100);
	check_number("duration", experiment_duration_ns(rd), 99 * MS);
	check_number("warnings", experiment_warning_count(rd), 1);
	experiment_reader_free(rd);
}

int
main(void)
{
	char *dir = scratch_enter();

	test_stacks();
	test_weights();
	test_maps();
	test_events();
	test_artificial();
	test_live();
	test_concurrent();
	test_children();
	test_killed();
	scratch_leave(dir);
	return failures > 0;
}
