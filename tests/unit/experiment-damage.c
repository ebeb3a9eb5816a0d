/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: E2
 * Experiments that were cut short or spoiled. Each file is cut at every byte
 * of its last record, and the reader must keep all that came before; then
 * bytes are flipped at random, and the reader must come back with something
 * finite: the sanitizers of a build with them are the judge.
 */
#include "experiment-help.h"

#define MS UINT64_C(1000000)

enum { PACKETS = 40, FLIPS = 3000 };

static const char *const files[] = { "log.xml", "map.xml", "profile",
	"data.frameinfo", "overview" };

/* Every packet has its own stack, mapping and event, of one weight. */
static void
write_whole(const char *path)
{
	const struct experiment_info info = test_info(path);
	struct experiment *exp = test_create(&info);
	const struct experiment_usage none = { 0 };
	uint64_t pcs[5000];

	for (int i = 0; i < PACKETS; i++) {
		const uint64_t t = TEST_START + (uint64_t)i * MS;
		const size_t depth = i % 8 ? 3 : 2500;

		for (size_t j = 0; j < depth; j++)
			pcs[j] = 0x1000 + (uint64_t)i * 64 + j;
		experiment_map(exp, t, 0x100000 * (uint64_t)(i + 1), 4096, 0,
			       5, "/bin/x & y", "abcdef");
		experiment_clock(exp, t, 7, 0, MSTATE_USER, MS,
				 experiment_stack(exp, pcs, depth,
						  STACK_COMPLETE));
		experiment_sample(exp, t, "label <1>", &none);
		experiment_comment(exp, t, "some text > here");
	}
	experiment_close(exp, TEST_START + PACKETS * MS, "end");
}

/* What of an experiment can be counted. */
struct counts {
	uint64_t packets, named, maps, events, samples, warnings;
	bool finished;
};

static struct counts
count(const char *path)
{
	struct experiment_reader *rd = experiment_open(path);

	if (!rd) {
		check(false, "%s: %s", path, fail_last()->reason);
		return (struct counts){ 0 };
	}

	const struct test_sums sums = test_sum(rd);
	const struct counts c = {
		.packets = sums.packets, .named = sums.packets - sums.unnamed,
		.maps = experiment_map_count(rd),
		.events = experiment_log_count(rd),
		.samples = experiment_sample_count(rd),
		.warnings = experiment_warning_count(rd),
		.finished = experiment_finished(rd),
	};

	experiment_reader_free(rd);
	return c;
}

static bool
same(const struct counts *a, const struct counts *b)
{
	return a->packets == b->packets && a->named == b->named &&
		a->maps == b->maps && a->events == b->events &&
		a->samples == b->samples && a->warnings == b->warnings &&
		a->finished == b->finished;
}

/* Where the last record of a file begins. */
static size_t
last_record(const char *name, const char *data, size_t size)
{
	size_t at = 0, last = 0;

	if (str_ends(name, ".xml")) {
		for (last = size - 1; last > 0 && data[last - 1] != '\n'; )
			last--;
		return last;
	}
	while (at < size) {
		uint16_t n = 504;

		if (strcmp(name, "overview") != 0)
			memcpy(&n, data + at, sizeof n);
		last = at;
		at += n;
	}
	return last;
}

static uint64_t
less(uint64_t n, const char *name, const char *file)
{
	return n - (strcmp(name, file) == 0);
}

/* Cut so that the record is whole, or not there at all, or in between. */
static void
check_cut(const char *name, const struct counts *whole, size_t cut,
	  size_t last, size_t size)
{
	const struct counts c = count("cut.er");
	const bool is_log = strcmp(name, "log.xml") == 0;
	/* a line without its newline is whole */
	const bool complete = cut == size ||
		(str_ends(name, ".xml") && cut == size - 1);
	const uint64_t damage = !complete && cut > last;
	char *where = xasprintf("%s cut at %zu (%zu..%zu): ", name, cut, last,
				size);

	if (complete)
		name = "";
	check(c.packets == less(whole->packets, name, "profile"),
	      "%s%llu packets", where, (unsigned long long)c.packets);
	if (strcmp(name, "profile") != 0)
		check(c.named == less(whole->named, name, "data.frameinfo"),
		      "%s%llu named", where, (unsigned long long)c.named);
	check(c.maps == less(whole->maps, name, "map.xml"),
	      "%s%llu maps", where, (unsigned long long)c.maps);
	check(c.events == less(whole->events, name, "log.xml"),
	      "%s%llu events", where, (unsigned long long)c.events);
	check(c.samples == less(whole->samples, name, "overview"),
	      "%s%llu samples", where, (unsigned long long)c.samples);
	/* one for the half record, one if what is lost is the exit; a whole log
	 * says how large the other files are, so a cut between records shows */
	const uint64_t least = is_log ? damage + !complete : !complete;

	check(c.warnings >= least && c.warnings <= (is_log ? least :
	      damage + (cut < size)),
	      "%s%llu warnings", where, (unsigned long long)c.warnings);
	check(c.finished == (!is_log || complete), "%sfinished is %d", where,
	      c.finished);
	free(where);
}

static void
test_cuts(void)
{
	const struct counts whole = count("whole.er");

	check_number("packets", whole.packets, PACKETS);
	check_number("named", whole.named, PACKETS);
	/* and <Lost samples>, which is there from the beginning */
	check_number("maps", whole.maps, PACKETS + 1);
	check_number("samples", whole.samples, PACKETS);
	check_number("warnings", whole.warnings, 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *from = xasprintf("whole.er/%s", files[i]);
		char *to = xasprintf("cut.er/%s", files[i]);
		size_t size;
		char *data = slurp(from, &size);
		const size_t last = last_record(files[i], data, size);
		const size_t step = size - last > 2000 ? 37 : 1;

		for (size_t cut = last; cut <= size; cut += step) {
			spill(to, data, cut);
			check_cut(files[i], &whole, cut, last, size);
		}
		spill(to, data, size);
		free(data);
		free(from);
		free(to);
	}
}

/* Any cut of the log keeps every event whose line was written; a text that
 * lacks its end is half a text, and no event. */
static void
test_log_cuts(void)
{
	size_t size;
	char *data = slurp("whole.er/log.xml", &size);
	size_t line = 0, whole_lines = 0;

	for (size_t cut = 0; cut <= size; cut++) {
		const char *rest = data + line;
		const size_t n = cut - line;
		/* a '<' of its own ends a text */
		const bool may_be_whole = memmem(rest, n, "/>", 2) ||
			(n > 1 && memchr(rest + 1, '<', n - 1));

		if (cut > size - 1000) {
			spill("cut.er/log.xml", data, cut);

			const uint64_t events = count("cut.er").events;

			check(events == whole_lines ||
			      (events == whole_lines + 1 && may_be_whole),
			      "log cut at %zu has %llu events, not %zu", cut,
			      (unsigned long long)events, whole_lines);
		}
		if (cut < size && data[cut] == '\n') {
			whole_lines += str_starts(rest, "<event");
			line = cut + 1;
		}
	}
	spill("cut.er/log.xml", data, size);
	free(data);
}

/* The real collector leaves the rest of a 64 KiB block as NULs. */
static void
test_padding(void)
{
	const struct counts whole = count("whole.er");
	struct counts c;

	for (size_t i = 0; i < ARRAY_LEN(files) - 1; i++) {
		char *to = xasprintf("cut.er/%s", files[i]);
		size_t size;
		char *data = slurp(to, &size);
		char *padded = xcalloc(size + (1 << 20), 1);

		memcpy(padded, data, size);
		spill(to, padded, size + 100000);
		c = count("cut.er");
		check(same(&c, &whole), "%s with NULs behind is not the same",
		      files[i]);
		/* one byte lost, then NULs, as after a kill */
		padded[size - 4] = '\0';
		padded[size - 3] = '\0';
		padded[size - 2] = '\0';
		padded[size - 1] = '\0';
		spill(to, padded, size + 100000);
		c = count("cut.er");
		check(c.packets >= PACKETS - 1 && c.maps >= PACKETS - 1,
		      "%s spoiled at its end lost more than that", files[i]);
		spill(to, data, size);
		free(data);
		free(padded);
		free(to);
	}
}

/* A sparse file of a terabyte is walked in no time. */
static void
test_holes(void)
{
	for (size_t i = 2; i < 4; i++) {
		char *to = xasprintf("cut.er/%s", files[i]);
		size_t size;
		char *data = slurp(to, &size);

		if (truncate(to, (off_t)1 << 40) == 0)
			check_number("packets before a hole",
				     count("cut.er").packets, PACKETS);
		spill(to, data, size);
		free(data);
		free(to);
	}
}

static uint64_t
next_random(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Whatever the bytes are: no crash, no endless loop, no absurd amount. */
static void
test_flips(void)
{
	char *original[ARRAY_LEN(files)];
	size_t sizes[ARRAY_LEN(files)];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *from = xasprintf("whole.er/%s", files[i]);

		original[i] = slurp(from, &sizes[i]);
		free(from);
	}
	for (int n = 0; n < FLIPS; n++) {
		const size_t i = next_random() % ARRAY_LEN(files);
		char *to = xasprintf("cut.er/%s", files[i]);
		char *data = xmalloc(sizes[i]);
		const unsigned flips = 1 + next_random() % 8;

		memcpy(data, original[i], sizes[i]);
		for (unsigned j = 0; j < flips; j++)
			data[next_random() % sizes[i]] = (char)next_random();
		/* heads of packets and declarations, where it hurts */
		if (n % 3 == 0)
			data[next_random() % (sizes[i] < 64 ? sizes[i] : 64)] =
				(char)(next_random() % 2 ? 0xff : 0);
		spill(to, data, sizes[i] - (n % 5 ? 0 : next_random() %
					    sizes[i]));

		struct experiment_reader *rd = experiment_open("cut.er");

		if (rd) {
			const struct test_sums sums = test_sum(rd);

			check(sums.packets < 100000, "too many packets");
			experiment_reader_free(rd);
		}
		spill(to, original[i], sizes[i]);
		free(data);
		free(to);
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		free(original[i]);
}

static void
test_missing(void)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *to = xasprintf("cut.er/%s", files[i]);
		size_t size;
		char *data = slurp(to, &size);

		unlink(to);

		struct experiment_reader *rd = experiment_open("cut.er");

		if (i == 0) {
			check(!rd && fail_last()->kind == FAIL_MISSING,
			      "without log.xml it is an experiment");
		} else {
			check(rd, "without %s it is none", files[i]);
			check(!rd || i == 4 || experiment_warning_count(rd),
			      "%s is not missed", files[i]);
		}
		experiment_reader_free(rd);
		spill(to, data, size);
		free(data);
		free(to);
	}
	check(!experiment_open("nothing.er") &&
	      fail_last()->kind == FAIL_MISSING, "nothing is an experiment");
	check(!experiment_open("cut.er/profile") &&
	      fail_last()->kind == FAIL_MISSING, "a file is an experiment");
}

int
main(void)
{
	char *dir = scratch_enter();

	write_whole("whole.er");
	write_whole("cut.er");
	test_cuts();
	test_log_cuts();
	test_padding();
	test_holes();
	test_missing();
	test_flips();
	scratch_leave(dir);
	return failures > 0;
}
