/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of every view of an experiment with a known truth; the grammar of
 * metrics and sort; what wrong words get; an experiment that grows; notes.
 *
 * mission: V1 V2 V12 E2
 */
#include "profile-help.h"
#include "view.h"

#define FRAME(name) \
	__attribute__((noinline, used)) long name(long n); \
	long name(long n) { return n * __LINE__ + (n ? n >> 2 : 1); }
FRAME(entry_point)
enum { HOT_LINE = __LINE__ + 1 };
FRAME(hot_spot)
FRAME(cold_spot)

#define PC(function) ((uint64_t)(uintptr_t)(function) + 1)
#define STACK(...) (const uint64_t[]){ __VA_ARGS__ }, \
	sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static struct viewer *viewer;
static uint64_t t0;

enum { WORDS_MAX = 4 };

/* Run a view; the text is the caller's; NULL: it failed. */
static char *
run(const char *command)
{
	char *copy = xstrdup(command), *save = NULL, *text = NULL;
	const char *words[WORDS_MAX];
	size_t n = 0, size;
	FILE *out = open_memstream(&text, &size);
	int rc = -1;

	for (char *w = strtok_r(copy, " ", &save); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	fail_clear();
	for (const struct view *v = view_table; v->name; v++)
		if (!strcmp(v->name, words[0]))
			rc = viewer_run(viewer, v, n, words, out);
	fclose(out);
	free(copy);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

static void
expect(const char *command, const char *want)
{
	char *got = run(command);

	if (!got || strcmp(got, want)) {
		printf("---- %s printed\n%s\n---- instead of\n%s\n", command,
		       got ? got : fail_last()->reason, want);
		failures++;
	}
	free(got);
}

static void
expect_part(const char *command, const char *part)
{
	char *got = run(command);

	if (!got || !strstr(got, part)) {
		printf("---- %s printed\n%s\n---- without\n%s\n", command,
		       got ? got : fail_last()->reason, part);
		failures++;
	}
	free(got);
}

/* It must fail as wrong usage, and tell what to do. */
static void
refuse(const char *command)
{
	char *got = run(command);

	if (got || fail_last()->kind != FAIL_USAGE || !fail_last()->reason[0]) {
		printf("%s was not refused\n", command);
		failures++;
	}
	free(got);
}

static void
load(const char *path)
{
	if (viewer_load(viewer, &path, 1) < 0) {
		printf("load %s: %s\n", path, fail_last()->reason);
		exit(1);
	}
}

static void
add(struct experiment *exp, uint64_t ms, enum mstate state, const uint64_t *pcs,
    size_t n)
{
	experiment_clock(exp, t0 + MS, 7, 0, state, ms * MS,
			 experiment_stack(exp, pcs, n, STACK_COMPLETE));
}

static char *
write_experiment(const struct text *text)
{
	char *path = scratch_path("view.er");
	struct experiment *exp = new_experiment(path, t0);

	map_text(exp, text, t0);
	add(exp, 1500, MSTATE_USER, STACK(PC(hot_spot), PC(entry_point)));
	add(exp, 300, MSTATE_SYSTEM, STACK(PC(hot_spot), PC(entry_point)));
	add(exp, 200, MSTATE_USER, STACK(PC(cold_spot), PC(entry_point)));
	add(exp, 4000, MSTATE_SLEEP, STACK(PC(cold_spot), PC(entry_point)));
	experiment_event(exp, t0 + MS, "sonde_thread", (const char *const[]){
			 "tid", "7", "name", "worker", NULL });
	experiment_loss(exp, t0 + MS, "ring", "", 4, 2 * MS);
	if (experiment_close(exp, t0 + 5000 * MS, "target exited") < 0)
		exit(99);
	return path;
}

static void
test_tables(void)
{
	expect("functions",
	       "Functions sorted by metric: Exclusive Total CPU Time\n\n"
	       "Excl. Total   Incl. Total    Name\n"
	       "CPU           CPU\n"
	       " sec.      %   sec.      %\n"
	       "2.000 100.00  2.000 100.00   <Total>\n"
	       "1.800  90.00  1.800  90.00   hot_spot\n"
	       "0.200  10.00  0.200  10.00   cold_spot\n"
	       "0.      0.    2.000 100.00   entry_point\n\n");
	expect("callers-callees",
	       "Functions sorted by metric: Exclusive Total CPU Time\n"
	       "Callers and callees sorted by metric: "
	       "Attributed Total CPU Time\n\n"
	       "Attr. Total    Name\nCPU\n sec.      %\n"
	       "2.000   0.    *<Total>\n"
	       "2.000 100.00   entry_point\n\n"
	       "Attr. Total    Name\nCPU\n sec.      %\n"
	       "1.800 100.00   entry_point\n"
	       "1.800 100.00  *hot_spot\n\n"
	       "Attr. Total    Name\nCPU\n sec.      %\n"
	       "0.200 100.00   entry_point\n"
	       "0.200 100.00  *cold_spot\n\n"
	       "Attr. Total    Name\nCPU\n sec.      %\n"
	       "2.000 100.00   <Total>\n"
	       "0.      0.    *entry_point\n"
	       "1.800  90.00   hot_spot\n"
	       "0.200  10.00   cold_spot\n\n");
	expect("calltree",
	       "Functions Call Tree. Metric: Attributed Total CPU Time\n\n"
	       "Attr. Total    Name\nCPU\n sec.      %\n"
	       "2.000 100.00   +-<Total>\n"
	       "2.000 100.00     +-entry_point\n"
	       "1.800  90.00       +-hot_spot\n"
	       "0.200  10.00       +-cold_spot\n\n");
	expect("threads",
	       "Objects sorted by metric: Exclusive Total CPU Time\n\n"
	       "Excl. Total    Name\nCPU\n sec.      %\n"
	       "2.000 100.00   <Total>\n"
	       "2.000 100.00   Process 1, Thread 1, tid 7 (worker)\n\n");

	char *line = xasprintf("line %d in \"view-tables.c\"\n", HOT_LINE);
	char *row = xasprintf("1.800  90.00  1.800  90.00   hot_spot, %s",
			      line);
	char *pc = xasprintf("hot_spot + 0x00000001, %s", line);

	expect_part("lines", row);
	expect_part("pcs", pc);
	free(line);
	free(row);
	free(pc);
	expect_part("objects", "2.000 100.00  2.000 100.00   <view-tables> (");
}

static void
test_header(void)
{
	expect_part("header", "Finished: target exited\n");
	expect_part("header", "Target command: 'synthetic --with words'\n");
	expect_part("header", "  Clock-profiling, interval = 10000 micro");
	expect_part("header", "  Engine ring: made up for a test\n");
	expect_part("header", "Experiment Ended: 5.000000000\n");
	expect_part("header", "Samples: 4\n"
		    "Stacks: 4 complete, 0 truncated, 0 failed\n");
	expect_part("header", "  ring: 4 samples, 0.002 s\n");
	expect_part("overview", "[X]Total CPU Time - totalcpu (Seconds): "
		    "[2.000]\n");
	expect_part("overview", "[ ]Sleep Time - sleep (Seconds): [4.000]\n");
	expect_part("experiment_list", "view.er\n");
	expect_part("metric_list", "Exclusive Sleep Time: e.%sleep\n");
}

static void
test_metrics(void)
{
	expect("metrics e.user:i.system:e%sleep", "");
	expect("functions",
	       "Functions sorted by metric: Exclusive User CPU Time\n\n"
	       "Excl.     Incl.     Excl.    Name\n"
	       "User CPU  Sys. CPU  Sleep\n"
	       " sec.      sec.          %\n"
	       "1.700     0.300     100.00   <Total>\n"
	       "1.500     0.300       0.     hot_spot\n"
	       "0.200     0.        100.00   cold_spot\n"
	       "0.        0.300       0.     entry_point\n\n");
	expect("metrics", "Current metrics: e.user:i.system:e%sleep:name\n"
	       "Current Sort Metric: Exclusive User CPU Time ( e.user )\n");
	expect("sort -i.system", "");
	expect_part("functions", "Functions sorted by metric: "
		    "-Inclusive System CPU Time\n");
	expect("sort", "Current Sort Metric: -Inclusive System CPU Time "
	       "( -i.system )\n");
	expect("sort name", "");
	expect_part("functions", "<Total>\n0.200     0.        100.00   cold");
	expect("metrics ie.%user:e!sleep:size", "");
	expect("metrics", "Current metrics: i.%user:e.%user:e!sleep:size:"
	       "name\nCurrent Sort Metric: Exclusive User CPU Time "
	       "( e.%user )\n");	/* as gprofng: exclusive ones first */
	expect("sort e.sleep", "");	/* hidden, and sorted by */
	expect_part("functions", "Exclusive Sleep Time\n");
	expect("metrics e.ulock:e.text", "");	/* the older names */
	expect("metrics", "Current metrics: e.lock:e.textpfault:name\n"
	       "Current Sort Metric: Exclusive User Lock Time ( e.lock )\n");
	refuse("metrics e.nonsense");
	refuse("metrics .user");
	refuse("metrics a.user");
	refuse("metrics :");
	refuse("metrics e.user extra");
	refuse("sort e.user");		/* not a column now */
	refuse("sort nonsense");
	expect("metrics", "Current metrics: e.lock:e.textpfault:name\n"
	       "Current Sort Metric: Exclusive User Lock Time ( e.lock )\n");
	expect("metrics default", "");
	expect("metrics", "Current metrics: e.%totalcpu:i.%totalcpu:name\n"
	       "Current Sort Metric: Exclusive Total CPU Time "
	       "( e.%totalcpu )\n");
}

static void
test_settings(void)
{
	expect("limit 2", "");
	expect("functions",
	       "Functions sorted by metric: Exclusive Total CPU Time\n\n"
	       "Excl. Total   Incl. Total    Name\n"
	       "CPU           CPU\n"
	       " sec.      %   sec.      %\n"
	       "2.000 100.00  2.000 100.00   <Total>\n"
	       "1.800  90.00  1.800  90.00   hot_spot\n\n");
	expect("limit", "limit 2\n");
	expect("limit 0", "");
	refuse("limit -1");
	refuse("limit many");
	refuse("functions now");
	expect("name long:soname", "");
	expect_part("functions", "hot_spot [<view-tables>]\n");
	expect("name", "name long:soname\n");
	expect("name long", "");
	refuse("name pretty");
	expect("viewmode", "viewmode user\n");
	expect("viewmode machine", "");
	expect("viewmode", "viewmode machine\n");
	expect_part("functions", "hot_spot\n");
	refuse("viewmode raw");
	expect("viewmode", "viewmode machine\n");
	expect("viewmode user", "");
	viewer_set_format(viewer, VIEW_FOLDED);
	expect("calltree", "entry_point;cold_spot 200000\n"
	       "entry_point;hot_spot 1800000\n");
	viewer_set_format(viewer, VIEW_TEXT);
}

static void
test_formats(void)
{
	expect("printmode ,", "");
	expect("functions",
	       "\"\",\"\",\"\",\"\",\"\"\n"
	       "\"Exclusive\",\"Exclusive\",\"Inclusive\",\"Inclusive\","
	       "\"Name\"\n"
	       "\"Total CPU Time\",\"Total CPU Time\",\"Total CPU Time\","
	       "\"Total CPU Time\",\"\"\n"
	       "\"V  (sec.)\",\"V  %\",\"   (sec.)\",\"   %\",\"   \"\n"
	       "\"2.000\",\"100.00\",\"2.000\",\"100.00\",\"<Total>\"\n"
	       "\"1.800\",\"90.00\",\"1.800\",\"90.00\",\"hot_spot\"\n"
	       "\"0.200\",\"10.00\",\"0.200\",\"10.00\",\"cold_spot\"\n"
	       "\"0.\",\"0.\",\"2.000\",\"100.00\",\"entry_point\"\n");
	expect("printmode", "printmode ,\n");
	expect("printmode json", "");
	expect_part("calltree", "{\"name\": \"hot_spot\", \"depth\": 2, "
		    "\"parent\": 1, \"values\": [1800000000], "
		    "\"percents\": [90.000000]}");
	expect_part("limit", "\"text\": [\"no limit\"]}\n");
	refuse("functions now");	/* and nothing is printed */
	expect("printmode text", "");
	refuse("printmode xml");
	refuse("printmode \"");
	expect("printmode", "printmode text\n");
}

static size_t
widest(const char *text)
{
	size_t most = 0;

	while (*text) {
		const size_t n = strcspn(text, "\n");

		most = n > most ? n : most;
		text += n + (text[n] == '\n');
	}
	return most;
}

/* 48 columns: a name has half of them, and numbers what is left. */
static void
test_width(void)
{
	char *text;

	viewer_set_width(viewer, 48);
	text = run("pcs");
	CHECK(text && strstr(text, "  hot_spot") && widest(text) <= 48);
	free(text);
	text = run("calltree");		/* it fits */
	CHECK(text && strstr(text, "\n1.800  90.00       +-hot_spot\n"));
	free(text);
	viewer_set_width(viewer, 0);
}

/* Two load objects with functions of one name, and one that is gone. */
static void
test_equal_names(const struct text *text)
{
	char *path = scratch_path("equal.er"), *copy = scratch_path("copy.so");
	struct experiment *exp = new_experiment(path, t0);
	const uint64_t far = UINT64_C(0x100000000);
	char *notes = NULL;
	size_t size;

	copy_file(text->path, copy);
	map_text(exp, text, t0);
	experiment_map(exp, t0, text->start + far, text->size, text->offset, 5,
		       copy, NULL);
	experiment_map(exp, t0, far, text->size, text->offset, 5, "/no/file.so",
		       NULL);
	add(exp, 20, MSTATE_USER, STACK(PC(hot_spot)));
	add(exp, 10, MSTATE_USER, STACK(PC(hot_spot) + far));
	add(exp, 5, MSTATE_USER, STACK(far + 10));
	if (experiment_close(exp, t0 + 50 * MS, "") < 0)
		exit(99);
	load(path);
	expect("functions",
	       "Functions sorted by metric: Exclusive Total CPU Time\n\n"
	       "Excl. Total   Incl. Total    Name\n"
	       "CPU           CPU\n"
	       " sec.      %   sec.      %\n"
	       "0.035 100.00  0.035 100.00   <Total>\n"
	       "0.020  57.14  0.020  57.14   hot_spot (<view-tables>)\n"
	       "0.010  28.57  0.010  28.57   hot_spot (<copy.so>)\n"
	       "0.005  14.29  0.005  14.29   <file.so> -- "
	       "no functions found\n\n");

	FILE *err = open_memstream(&notes, &size);

	viewer_notes(viewer, err);
	viewer_notes(viewer, err);
	fclose(err);

	const char *once = strstr(notes, "/no/file.so is gone");

	CHECK(once && !strstr(once + 1, "/no/file.so is gone"));
	free(notes);
	free(path);
	free(copy);
}

static void
test_growth(const struct text *text)
{
	char *path = scratch_path("grow.er");
	struct experiment *exp = new_experiment(path, t0);

	map_text(exp, text, t0);
	add(exp, 1000, MSTATE_USER, STACK(PC(hot_spot)));
	CHECK(experiment_flush(exp) == 0);
	load(path);
	expect_part("functions", "1.000 100.00  1.000 100.00   <Total>\n");
	expect_part("header", "Still recording");
	CHECK(viewer_refresh(viewer) == 0);
	expect_part("functions", "1.000 100.00  1.000 100.00   <Total>\n");
	add(exp, 3000, MSTATE_USER, STACK(PC(cold_spot), PC(entry_point)));
	CHECK(experiment_flush(exp) == 0);
	CHECK(viewer_refresh(viewer) == 0);
	expect_part("functions", "4.000 100.00  4.000 100.00   <Total>\n");
	expect_part("functions", "3.000  75.00  3.000  75.00   cold_spot\n");
	if (experiment_close(exp, t0 + 50 * MS, "it left") < 0)
		exit(99);
	CHECK(viewer_refresh(viewer) == 0);
	expect_part("header", "Finished: it left\n");
	free(path);
}

static void
test_missing(void)
{
	char *path = scratch_path("viev.er");

	fail_clear();
	CHECK(viewer_load(viewer, (const char *const[]){ path }, 1) < 0);
	CHECK(fail_last()->kind == FAIL_MISSING);
	CHECK(strstr(fail_last()->remedy, "view.er"));
	/* what was open before still is */
	expect_part("experiment_list", "grow.er\n");
	free(path);
}

static bool
find_name(void *arg, const char *name)
{
	bool *found = arg;

	*found = *found || !strcmp(name, "cold_spot");
	return !*found;
}

/* Resource samples at 0, 1, 3 and 4 s: what the process used until then. */
static void
write_samples(struct experiment *exp)
{
	static const struct {
		uint64_t at_ms, user_ms, sleep_ms;
	} samples[] = {
		{ 0, 0, 0 }, { 1000, 400, 600 }, { 3000, 900, 2100 },
		{ 4000, 1000, 3000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		experiment_sample(exp, t0 + samples[i].at_ms * MS, "periodic",
				  &(struct experiment_usage){
				.user_ns = samples[i].user_ms * MS,
				.sleep_ns = samples[i].sleep_ms * MS });
}

static void
spend(struct experiment *exp, uint64_t until_ms, enum mstate state,
      uint64_t ms, uint64_t frinfo)
{
	experiment_clock(exp, t0 + until_ms * MS, 7, 0, state, ms * MS, frinfo);
}

static void
expect_user_and_sleep(const char *sample, const char *user, const char *sleep)
{
	char *text = run("sample_detail");
	const char *at = text ? strstr(text, sample) : NULL;
	const char *end = at ? strstr(at, "context switches") : NULL;
	const char *u = at ? strstr(at, user) : NULL;
	const char *s = at ? strstr(at, sleep) : NULL;

	if (!u || !s || u > end || s > end) {
		printf("---- sample_detail printed\n%s\n---- without %s and %s "
		       "in %s\n", text ? text : fail_last()->reason, user,
		       sleep, sample);
		failures++;
	}
	free(text);
}

/* <Total> beside what the process used, also from one sample to the next. */
static void
test_samples(const struct text *text)
{
	char *path = scratch_path("samples.er");
	struct experiment *exp = new_experiment(path, t0);

	map_text(exp, text, t0);

	const uint64_t stack = experiment_stack(
		exp, STACK(PC(hot_spot), PC(entry_point)), STACK_COMPLETE);

	write_samples(exp);
	spend(exp, 400, MSTATE_USER, 390, stack);
	/* it lay in all three, 0.75 s, 2 s and 0.25 s of it */
	spend(exp, 3250, MSTATE_SLEEP, 3000, stack);
	spend(exp, 2000, MSTATE_USER, 500, stack);
	/* of many threads at once: it says nothing of the time before */
	spend(exp, 3500, MSTATE_USER, 2000,
	      experiment_artificial(exp, "<Unsampled threads>"));
	/* behind the last sample */
	spend(exp, 4100, MSTATE_USER, 110, stack);
	if (experiment_close(exp, t0 + 4100 * MS, "target exited") < 0)
		exit(99);
	load(path);
	free(path);
	expect_user_and_sleep("Sample Number 1", "0.400 ( 40.0%)   <Total> "
			      "0.390", "0.600 ( 60.0%)   <Total> 0.750");
	expect_user_and_sleep("Sample Number 2", "0.500 ( 25.0%)   <Total> "
			      "0.500", "1.500 ( 75.0%)   <Total> 2.000");
	expect_user_and_sleep("Sample Number 3", "0.100 ( 10.0%)   <Total> "
			      "2.110", "0.900 ( 90.0%)   <Total> 0.250");
	expect_part("statistics", "1.000 ( 25.0%)   <Total> 3.000\n");
	expect_part("statistics", "3.000 ( 75.0%)   <Total> 3.000\n");
	expect_part("overview", "[X]Total CPU Time - totalcpu (Seconds): "
		    "[3.000]                used 1.000\n");
	expect_part("overview", "[ ]Total Thread Time - total (Seconds): "
		    "[6.000]                used 4.000\n");
}

int
main(void)
{
	const struct text text = own_text();
	bool found = false;

	t0 = now_ns();
	make_scratch();
	viewer = viewer_new();
	refuse("functions");	/* nothing is open */
	expect("metrics e.user", "");
	expect("metrics default", "");

	char *path = write_experiment(&text);

	load(path);
	free(path);
	test_tables();
	test_header();
	test_metrics();
	test_settings();
	test_formats();
	test_width();
	viewer_each_function(viewer, find_name, &found);
	CHECK(found);
	test_equal_names(&text);
	test_samples(&text);
	test_growth(&text);
	test_missing();
	viewer_free(viewer);
	return failures != 0;
}
