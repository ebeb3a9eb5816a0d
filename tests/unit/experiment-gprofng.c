/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: E4 E8 S8
 * The installed gprofng reads our experiments with the same numbers. The
 * program profiled is this one: random stacks of its functions are recorded
 * with random weights, the truth is added up on the side, and what
 * `gprofng display text` prints must be it to the last digit. The program's
 * file is gone by then: its copy in archives/ has to do.
 */
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiment-help.h"

#define US UINT64_C(1000)

/* The functions that stacks are made of; only their addresses matter. */
#define PART(name, n) \
	__attribute__((noinline, used)) int name(int); \
	int name(int x) { return x * n + (x >> n); }
PART(part_ant, 3) PART(part_bee, 5) PART(part_cat, 7) PART(part_dog, 9)
PART(part_eel, 11) PART(part_fox, 13) PART(part_gnu, 15) PART(part_hen, 17)

enum { CODE, KERNEL = 8, LOST, TRUNCATED, FAILED, PLACES };

/* Everything that has a line in gprofng's list of functions. */
static struct place {
	const char *name;
	uint64_t pc;
	uint64_t excl[MSTATE_COUNT], incl[MSTATE_COUNT];	/* us */
	uint64_t to[PLACES];		/* us, as direct caller of ... */
} places[PLACES] = {
	{ .name = "part_ant", .pc = (uintptr_t)part_ant },
	{ .name = "part_bee", .pc = (uintptr_t)part_bee },
	{ .name = "part_cat", .pc = (uintptr_t)part_cat },
	{ .name = "part_dog", .pc = (uintptr_t)part_dog },
	{ .name = "part_eel", .pc = (uintptr_t)part_eel },
	{ .name = "part_fox", .pc = (uintptr_t)part_fox },
	{ .name = "part_gnu", .pc = (uintptr_t)part_gnu },
	{ .name = "part_hen", .pc = (uintptr_t)part_hen },
	{ .name = "do_syscall_64" },
	{ .name = "<Lost samples>" },
	{ .name = "<Truncated-stack>" },
	{ .name = "<Stack-unwind-failed>" },
};

/* As the recorder does, by a descriptor. */
static int
archive_of(const char *path, enum archive_mode mode)
{
	const struct experiment_archiving what = {
		.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.path = path, .root = "",
	};
	const int r = what.dir_fd < 0 && mode != ARCHIVE_OFF ?
		fail_errno("open %s", path) : experiment_archive(&what, mode);

	if (what.dir_fd >= 0)
		close(what.dir_fd);
	return r;
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

/* ---- recording ------------------------------------------------------- */

static const char *program;	/* a copy of this one, to be deleted */

static int
map_object(struct dl_phdr_info *object, size_t size, void *arg)
{
	const char *name = *object->dlpi_name ? object->dlpi_name : program;

	(void)size;
	if (*name != '/')
		return 0;	/* the vdso */
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &object->dlpi_phdr[i];
		const uint64_t start = (object->dlpi_addr + ph->p_vaddr) &
			~UINT64_C(4095);

		if (ph->p_type != PT_LOAD)
			continue;
		experiment_map(arg, TEST_START, start,
			       (object->dlpi_addr + ph->p_vaddr +
				ph->p_memsz - start + 4095) & ~UINT64_C(4095),
			       ph->p_offset & ~UINT64_C(4095), ph->p_flags & 7,
			       name, NULL);
	}
	return 0;
}

/* No function twice on a stack: then an edge has one meaning for all. */
static size_t
random_stack(int *stack)
{
	int order[KERNEL];
	const size_t n = 1 + next_random() % KERNEL;

	for (int i = 0; i < KERNEL; i++)
		order[i] = i;
	for (int i = KERNEL - 1; i > 0; i--) {
		const int j = (int)(next_random() % (uint64_t)(i + 1));
		const int k = order[i];

		order[i] = order[j];
		order[j] = k;
	}
	memcpy(stack, order, n * sizeof *stack);
	return n;
}

/* frames are places, leaf first. */
static void
count(const int *frames, size_t n, enum mstate state, uint64_t us)
{
	size_t leaf = 0;
	bool done[PLACES] = { false };

	places[frames[leaf]].excl[state] += us;
	for (size_t i = 0; i < n; i++) {
		if (!done[frames[i]])
			places[frames[i]].incl[state] += us;
		done[frames[i]] = true;
		if (i > 0 && state <= MSTATE_SYSTEM)
			places[frames[i]].to[frames[i - 1]] += us;
	}
}

static void
record(struct experiment *exp, uint64_t time_ns, const int *frames, size_t n,
       enum mstate state, uint64_t us)
{
	uint64_t *pcs = xcalloc(n + 1, sizeof *pcs);
	enum stack_end end = STACK_COMPLETE;
	size_t len = n;

	if (frames[n - 1] == TRUNCATED)
		end = STACK_TRUNCATED;
	if (frames[n - 1] == FAILED)
		end = STACK_FAILED;
	if (end != STACK_COMPLETE)
		len--;
	for (size_t i = 0; i < len; i++)
		pcs[i] = places[frames[i]].pc + (frames[i] < KERNEL);
	count(frames, n, state, us);
	experiment_clock(exp, time_ns, 100 + (int)(us % 5), (int)(us % 2),
			 state, us * US, experiment_stack(exp, pcs, len, end));
	free(pcs);
}

static void
record_random(struct experiment *exp, uint64_t time_ns)
{
	static const enum mstate states[] = { MSTATE_USER, MSTATE_USER,
		MSTATE_SYSTEM, MSTATE_WAIT_CPU, MSTATE_SLEEP };
	const enum mstate state = states[next_random() % ARRAY_LEN(states)];
	const uint64_t us = 1 + next_random() % 100000;
	int frames[KERNEL + 2];
	size_t n = 0;

	if (state == MSTATE_SYSTEM)
		frames[n++] = KERNEL;
	n += random_stack(frames + n);
	if (us % 16 == 0)
		frames[n++] = us % 32 ? TRUNCATED : FAILED;
	record(exp, time_ns, frames, n, state, us);
}

/* A recursion of many packets, and one longer than an experiment keeps. */
static void
record_deep(struct experiment *exp, uint64_t time_ns)
{
	enum { DEEP = 20000 };
	int *frames = xcalloc(DEEP, sizeof *frames);

	frames[0] = 0;
	for (int i = 1; i < DEEP - 1; i++)
		frames[i] = 1;
	frames[DEEP - 1] = 2;
	record(exp, time_ns, frames, DEEP, MSTATE_STOPPED, 5000123);
	free(frames);
}

static void
write_experiment(const char *path)
{
	struct experiment_info info = test_info(path);
	const struct experiment_usage none = { 0 };
	const int lost = LOST;
	uint64_t time_ns = TEST_START;

	info.command = "experiment-gprofng";
	info.cwd = "/";

	struct experiment *exp = test_create(&info);

	dl_iterate_phdr(map_object, exp);
	/* what gprofng does not know must not disturb it */
	experiment_map(exp, TEST_START, 0x1000, 4096, 0, 5, "", NULL);
	experiment_map(exp, TEST_START, 0x3000, 4096, 0, 5, "[vdso]", NULL);
	experiment_unmap(exp, TEST_START, 0x3000);
	places[KERNEL].pc = experiment_artificial_pc(exp, "do_syscall_64");
	places[LOST].pc = experiment_artificial_pc(exp, "<Lost samples>");
	experiment_sample(exp, time_ns, "first", &none);
	for (int i = 0; i < 5000; i++)
		record_random(exp, time_ns += 1000 * US);
	record_deep(exp, time_ns += 1000 * US);
	record(exp, time_ns, &lost, 1, MSTATE_USER, 7654321);
	experiment_loss(exp, time_ns, "ring", "", 17, 1000);
	experiment_sample(exp, time_ns, "last & \"least\"", &none);
	experiment_comment(exp, time_ns, "all of it: 100%");
	if (experiment_close(exp, time_ns, "the test ended it") < 0)
		check(false, "close: %s", fail_last()->reason);
}

static void
copy_program(const char *to)
{
	char *command = xasprintf("cp /proc/%d/exe '%s'", (int)getpid(), to);

	if (system(command) != 0)
		exit(99);
	free(command);
}

/* ---- the truth ------------------------------------------------------- */

/* Metrics that we ask gprofng for, and their states. */
static const struct {
	const char *name;
	uint32_t states;
	bool inclusive;
} columns[] = {
	{ "e.total", (1u << MSTATE_LINUX_CPU) - 1, false },
	{ "i.total", (1u << MSTATE_LINUX_CPU) - 1, true },
	{ "e.user", 1u << MSTATE_USER, false },
	{ "i.user", 1u << MSTATE_USER, true },
	{ "i.system", 1u << MSTATE_SYSTEM, true },
	{ "i.wait", 1u << MSTATE_WAIT_CPU, true },
	{ "i.sleep", 1u << MSTATE_SLEEP, true },
	{ "e.stop", 1u << MSTATE_STOPPED, false },
	{ "i.stop", 1u << MSTATE_STOPPED, true },
};

static uint64_t
truth(const struct place *p, size_t column)
{
	const uint64_t *us = columns[column].inclusive ? p->incl : p->excl;
	uint64_t sum = 0;

	for (int state = 0; state < MSTATE_COUNT; state++)
		if (columns[column].states & 1u << state)
			sum += us[state];
	return sum;
}

/* gprofng shows milliseconds and rounds them. */
static bool
is_shown_as(uint64_t us, double seconds)
{
	const double off = (double)us / 1e6 - seconds;

	return off < 0.000501 && off > -0.000501;
}

static int
place_of(const char *name)
{
	for (int i = 0; i < PLACES; i++)
		if (strcmp(places[i].name, name) == 0)
			return i;
	return -1;
}

/* ---- gprofng --------------------------------------------------------- */

static char *
display(const char *exp, const char *commands)
{
	char *command = xasprintf("gprofng display text %s %s >out.txt 2>&1",
				  commands, exp);
	const int status = system(command);

	check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %#x",
	      command, status);
	free(command);
	return slurp("out.txt", NULL);
}

/* The next line; NULL at the end. Destroys the text. */
static char *
next_line(char **text)
{
	char *const line = *text;
	char *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	*text = end ? end + 1 : NULL;
	return line;
}

/* Numbers at the start of a line; the rest is the name. */
static size_t
numbers_of(char **line, double *out, size_t max)
{
	size_t n = 0;

	for (;;) {
		char *end;
		const double x = strtod(*line, &end);

		if (end == *line || n == max)
			break;
		out[n++] = x;
		*line = end;
	}
	*line += strspn(*line, " ");
	return n;
}

static void
check_function(const char *name, const double *shown)
{
	const int i = place_of(name);

	for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
		uint64_t want = 0;

		if (strcmp(name, "<Total>") == 0)
			for (int p = 0; p < PLACES; p++)
				want += columns[c].inclusive ? 0 :
					truth(&places[p], c);
		else if (i >= 0)
			want = truth(&places[i], c);
		if (strcmp(name, "<Total>") == 0 && columns[c].inclusive)
			continue;
		check(is_shown_as(want, shown[c]),
		      "%s %s: gprofng shows %.3f, true is %.6f", name,
		      columns[c].name, shown[c], (double)want / 1e6);
	}
}

static void
test_functions(const char *exp)
{
	struct str commands = { 0 };
	bool found[PLACES] = { false };
	size_t rows = 0;
	char *line;

	str_add(&commands, "-metrics ");
	for (size_t c = 0; c < ARRAY_LEN(columns); c++)
		str_addf(&commands, "%s:", columns[c].name);
	str_add(&commands, "name -functions");

	char *const out = display(exp, str_text(&commands));

	for (char *text = out; (line = next_line(&text)); ) {
		double shown[ARRAY_LEN(columns)];

		if (numbers_of(&line, shown, ARRAY_LEN(columns)) !=
		    ARRAY_LEN(columns))
			continue;
		check_function(line, shown);
		rows++;
		if (place_of(line) >= 0)
			found[place_of(line)] = true;
	}
	for (int i = 0; i < PLACES; i++)
		check(found[i], "gprofng does not show %s", places[i].name);
	check_number("rows", rows, PLACES + 1);
	str_fini(&commands);
	free(out);
}

/* One line before (callers) or after (callees) the center of a block. */
static void
check_edge(int center, const char *name, double shown, bool is_caller)
{
	const int other = place_of(name);

	if (other < 0)
		return;		/* <Total>, which calls all roots */

	const uint64_t want = is_caller ? places[other].to[center] :
		places[center].to[other];

	check(is_shown_as(want, shown), "%s %s %s: gprofng shows %.3f, true "
	      "is %.6f", places[center].name, is_caller ? "called by" :
	      "calls", name, shown, (double)want / 1e6);
}

/* Collect the lines of a block; its center has a star. */
struct block {
	struct { char *name; double shown; } lines[2 * PLACES + 4];
	size_t count, center;
};

static size_t
check_block(const struct block *b)
{
	const int center = place_of(b->lines[b->center].name);

	for (size_t i = 0; i < b->count && center >= 0; i++)
		if (i != b->center)
			check_edge(center, b->lines[i].name, b->lines[i].shown,
				   i < b->center);
	return center >= 0 ? b->count - 1 : 0;
}

static void
test_edges(const char *exp)
{
	char *const out = display(exp, "-metrics e.totalcpu:name "
				  "-callers-callees");
	struct block b = { .count = 0 };
	size_t edges = 0;
	char *line;

	for (char *text = out; (line = next_line(&text)); ) {
		double shown;

		if (numbers_of(&line, &shown, 1) != 1) {
			edges += b.count ? check_block(&b) : 0;
			b.count = 0;
			continue;
		}
		if (b.count == ARRAY_LEN(b.lines))
			break;
		if (*line == '*')
			b.center = b.count;
		b.lines[b.count].shown = shown;
		b.lines[b.count++].name = line + (*line == '*');
	}
	edges += b.count ? check_block(&b) : 0;
	check(edges > 100, "gprofng shows only %zu edges", edges);
	free(out);
}

static void
test_header(const char *exp)
{
	static const char *const wanted[] = {
		"No errors", "No warnings", "all of it: 100%",
		"Clock profiling every 10007 microseconds by ring",
		"the test ended it", "Process pid 4242", "experiment-gprofng",
		"Collector version: `sonde ",
	};
	char *const out = display(exp, "-header");

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		check(strstr(out, wanted[i]), "-header does not say: %s",
		      wanted[i]);
	check(!strstr(out, "not closed"), "-header says: not closed");
	if (failures)
		fputs(out, stderr);
	free(out);
}

int
main(void)
{
	if (system("gprofng --version >/dev/null 2>&1") != 0) {
		puts("gprofng is not installed");
		return 77;
	}

	char *dir = scratch_enter();

	program = xasprintf("%s/program", dir);
	copy_program(program);
	write_experiment("judge.er");
	check(archive_of("judge.er", ARCHIVE_ON) == 0,
	      "archive: %s", fail_last()->reason);
	check(unlink(program) == 0, "the program's file stays");
	test_functions("judge.er");
	test_edges("judge.er");
	test_header("judge.er");
	if (failures && getenv("KEEP_TMP"))
		printf("kept: %s\n", dir);
	else
		scratch_leave(dir);
	return failures > 0;
}
