/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames that one PC stands for. A program is compiled here, and an experiment
 * made up in which each of its instructions is a leaf once, with a weight of
 * its own. With `inlines` every such stack must be the functions and lines
 * that addr2line -i knows, and all sums what they were without. Outlined cold
 * parts have their function between them and its caller, with and without
 * debug information; bodies of OpenMP regions and of Fortran entries are named
 * after whom they were taken from.
 *
 * mission: M5 M7 M8 M9
 */
#include "profile.h"
#include "profile-help.h"

enum { BASE = 0x40000000 };

static const char source[] =
	"volatile unsigned long sink;\n"
	"#define INLINE static inline __attribute__((always_inline))\n"
	"INLINE void innermost(long n)\n"
	"{\n"
	"\tfor (long i = 0; i < n; i++)\n"
	"\t\tsink += i * i;\n"
	"}\n"
	"INLINE void middle(long n)\n"
	"{\n"
	"\tfor (int i = 0; i < 10; i++)\n"
	"\t\tinnermost(n + i);\n"
	"\tsink++;\n"
	"}\n"
	"__attribute__((noinline)) void outer(long n)\n"
	"{\n"
	"\tmiddle(n);\n"
	"\tsink--;\n"
	"\tinnermost(n);\n"
	"}\n"
	"__attribute__((noinline)) void last(void)\n"
	"{\n"
	"\tsink++;\n"
	"\tinnermost(3);\n"
	"}\n"
	"__attribute__((noinline,cold)) void complain(long n) { sink = n; }\n"
	"static __attribute__((noinline,noclone)) long seldom(long n)\n"
	"{\n"
	"\tif (n > 5) {\n"
	"\t\tcomplain(n);\n"
	"\t\tinnermost(n);\n"
	"\t\t__builtin_abort();\n"
	"\t}\n"
	"\treturn n + sink;\n"
	"}\n"
	"long other(long n);\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"\t(void)argv;\n"
	"\touter(argc);\n"
	"\tlast();\n"
	"\treturn seldom(argc) + other(argc);\n"
	"}\n";
static const char other[] =
	"__attribute__((cold)) void complain(long n);\n"
	"extern volatile unsigned long sink;\n"
	"static __attribute__((noinline,noclone)) long seldom(long n)\n"
	"{\n"
	"\tif (n > 7) {\n"
	"\t\tcomplain(n * 3);\n"
	"\t\tsink ^= n;\n"
	"\t\t__builtin_abort();\n"
	"\t}\n"
	"\treturn n * sink;\n"
	"}\n"
	"long other(long n) { return seldom(n); }\n";

static struct profile *prof;

/* ---- the program and what other tools say of it ---------------------- */

static bool
try_run(const char *command)
{
	char *all = xasprintf("cd %s && { %s; } >log 2>&1", scratch, command);
	const bool well = system(all) == 0;

	free(all);
	return well;
}

static void
run(const char *command)
{
	if (try_run(command))
		return;
	printf("failed: %s\n", command);

	char *log = xasprintf("cat %s/log", scratch);

	(void)!system(log);	/* helps whoever reads the failure */
	free(log);
	exit(99);
}

static void
write_source(const char *name, const char *text)
{
	char *path = scratch_path(name);
	FILE *out = fopen(path, "w");

	if (!out || fputs(text, out) < 0 || fclose(out) != 0)
		exit(99);
	free(path);
}

static FILE *
output_of(const char *command)
{
	char *all = xasprintf("cd %s && %s", scratch, command);
	FILE *in = popen(all, "r");

	free(all);
	if (!in)
		exit(99);
	return in;
}

static uint64_t
number_of(const char *command)
{
	FILE *in = output_of(command);
	unsigned long long number = 0;

	if (fscanf(in, "%llx", &number) != 1)
		number = 0;
	(void)pclose(in);
	return number;
}

/* The nth address of a name by nm, 0: none. */
static uint64_t
nm(const char *program, const char *name, int n)
{
	char *command = xasprintf("nm -n %s | grep ' %s$' | sed -n %dp",
				  program, name, n + 1);
	const uint64_t addr = number_of(command);

	free(command);
	return addr;
}

/* ---- an experiment of it ---------------------------------------------- */

struct made {
	struct experiment *exp;
	char *path, *program;
	uint64_t t0;
	unsigned count;
};

static struct made
make(const char *name, const char *program)
{
	struct made m = { .path = scratch_path(name),
			  .program = scratch_path(program), .t0 = MS };

	m.exp = new_experiment(m.path, m.t0);
	/* offset and address are the same: linked with one segment's worth */
	experiment_map(m.exp, m.t0, BASE, 1 << 20, 0, 5, m.program, NULL);
	return m;
}

/* The sample with weight count ms; pcs are ELF addresses, leaf first. */
static void
sample(struct made *m, const uint64_t *pcs, size_t n)
{
	uint64_t moved[8];

	for (size_t i = 0; i < n; i++)
		moved[i] = BASE + pcs[i];
	m->count++;
	experiment_clock(m->exp, m->t0 + m->count * MS, 1, 0, MSTATE_USER,
			 m->count * MS,
			 experiment_stack(m->exp, moved, n, STACK_COMPLETE));
}

static void
finish(struct made *m)
{
	if (experiment_close(m->exp, m->t0 + 100000 * MS, "the test") < 0)
		exit(99);
}

static void
made_fini(struct made *m)
{
	free(m->path);
	free(m->program);
}

static void
look(const struct made *m, struct profile_options options)
{
	const char *const path = m->path;

	profile_free(prof);
	prof = profile_open(&path, 1, &options);
	if (!prof) {
		printf("%s: %s\n", m->path, fail_last()->reason);
		exit(1);
	}
}

/* ---- stacks by weight ------------------------------------------------- */

struct shown {			/* function names, leaf first */
	char *names[64];
	size_t n;
};

struct showing {
	struct shown *by_weight;
	size_t count;
};

static void
show(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct showing *s = arg;
	const uint64_t i = weight[0] / MS;

	if (i > s->count || n > 64) {
		failures++;
		return;
	}
	s->by_weight[i].n = n;
	for (size_t f = 0; f < n; f++)
		s->by_weight[i].names[f] =
			xstrdup(profile_function(prof, frames[f])->name);
}

static struct showing
show_stacks(size_t count)
{
	struct showing s = { xcalloc(count + 1, sizeof *s.by_weight), count };

	profile_stacks(prof, show, &s);
	return s;
}

static void
showing_free(struct showing *s)
{
	for (size_t i = 0; i <= s->count; i++)
		for (size_t f = 0; f < s->by_weight[i].n; f++)
			free(s->by_weight[i].names[f]);
	free(s->by_weight);
}

/* The stack of that weight is these names and no more; ended by NULL. */
static void
expect_stack(const struct showing *s, size_t i, const char *const *names)
{
	const struct shown *is = &s->by_weight[i];
	size_t n = 0;

	for (; names[n]; n++)
		if (n >= is->n || strcmp(is->names[n], names[n]))
			break;
	if (!names[n] && n == is->n)
		return;
	printf("stack %zu is", i);
	for (size_t f = 0; f < is->n; f++)
		printf(" %s,", is->names[f]);
	printf(" not");
	for (n = 0; names[n]; n++)
		printf(" %s,", names[n]);
	putchar('\n');
	failures++;
}

static uint64_t
cost_of(const char *name, bool inclusive)
{
	const struct function_cost *costs;
	const size_t n = profile_functions(prof, &costs);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(profile_function(prof, costs[i].function)->name,
			    name))
			sum += (inclusive ? costs[i].cost.incl :
					    costs[i].cost.excl)[0];
	return sum / MS;
}

/* ---- inlined functions ------------------------------------------------ */

struct truth {			/* what addr2line says of an address */
	uint64_t vaddr;
	char *names[16];
	int lines[16];
	size_t n;
};

/* 0xADDR, then pairs of a name and FILE:LINE, innermost first. */
static size_t
read_truth(struct truth *truth, size_t max)
{
	FILE *in = output_of(
		"objdump -d --no-show-raw-insn -j .text whole |"
		" awk '/^ .*:\t/ && !/nop|xchg|data16/ { print $1 }' |"
		" tr -d : |"
		" addr2line -a -f -i -e whole");
	char name[512], place[1024];
	size_t n = 0;

	while (fgets(name, sizeof name, in)) {
		if (str_starts(name, "0x")) {
			if (n == max)
				break;
			truth[n++] = (struct truth){
				.vaddr = strtoull(name, NULL, 16) };
			continue;
		}
		if (!n || !fgets(place, sizeof place, in))
			break;

		struct truth *t = &truth[n - 1];
		const char *colon = strrchr(place, ':');

		name[strcspn(name, "\n")] = '\0';
		t->names[t->n] = xstrdup(name);
		t->lines[t->n++] = colon ? atoi(colon + 1) : 0;
	}
	(void)pclose(in);
	return n;
}

/* The line of a function at an address, -1: it is not there. */
static int
line_at(uint64_t vaddr, const char *name)
{
	const struct location_cost *costs;
	const size_t n = profile_pcs(prof, &costs);

	for (size_t i = 0; i < n; i++)
		if (costs[i].where.vaddr == vaddr &&
		    !strcmp(profile_function(prof, costs[i].where.function)
			    ->name, name))
			return costs[i].line;
	return -1;
}

static void
compare(const struct truth *t, const struct showing *s, size_t i)
{
	const char *names[17] = {0};
	char *made[16] = {0};

	for (size_t f = 0; f < t->n; f++) {
		const bool real = f + 1 == t->n;

		/* what debug information calls the function, nm may not */
		made[f] = real ? xstrdup(s->by_weight[i].n ?
					 s->by_weight[i].names[
						s->by_weight[i].n - 1] : "") :
				 xasprintf("%s [inlined]", t->names[f]);
		names[f] = made[f];
		if (real && t->names[f][0] != '?' &&
		    !str_starts(made[f], t->names[f])) {
			printf("%#" PRIx64 " is in %s, not in %s\n", t->vaddr,
			       made[f], t->names[f]);
			failures++;
		}
		CHECK_EQ((uint64_t)line_at(t->vaddr, made[f]),
			 (uint64_t)t->lines[f]);
	}
	expect_stack(s, i, names);
	for (size_t f = 0; f < t->n; f++)
		free(made[f]);
}

static void
test_inlines(void)
{
	static struct truth truth[4096];
	const size_t n = read_truth(truth, ARRAY_LEN(truth));
	struct made m = make("inlines.er", "whole");
	size_t deep = 0;

	for (size_t i = 0; i < n; i++)
		sample(&m, &truth[i].vaddr, 1);
	finish(&m);

	look(&m, (struct profile_options){0});

	const uint64_t total = profile_total(prof).incl[0];
	const uint64_t outer = cost_of("outer", true);
	const uint64_t last = cost_of("last", true);

	CHECK_EQ(cost_of("outer", false), outer);
	CHECK_EQ(total, (uint64_t)n * (n + 1) / 2 * MS);

	look(&m, (struct profile_options){ .inlines = true,
					   .keep_parts = true });

	struct showing s = show_stacks(n);

	for (size_t i = 0; i < n; i++) {
		compare(&truth[i], &s, i + 1);
		deep += truth[i].n == 3;
	}
	CHECK(n > 60);
	CHECK(deep > 5);
	CHECK_EQ(profile_total(prof).incl[0], total);
	CHECK_EQ(cost_of("outer", true), outer);
	CHECK_EQ(cost_of("last", true), last);
	CHECK(cost_of("outer", false) < outer);
	CHECK(cost_of("innermost [inlined]", false) > 0);
	CHECK(cost_of("middle [inlined]", true) >
	      cost_of("middle [inlined]", false));
	showing_free(&s);
	made_fini(&m);
	for (size_t i = 0; i < n; i++)
		for (size_t f = 0; f < truth[i].n; f++)
			free(truth[i].names[f]);
}

/* ---- outlined parts --------------------------------------------------- */

/* Where the code at an address was written, by addr2line. */
static int
source_of(const char *program, uint64_t addr)
{
	char *command = xasprintf("addr2line -e %s 0x%" PRIx64 " | sed"
				  " 's/.*a[.]c.*/a/; s/.*b[.]c.*/b/'", program,
				  addr);
	const int file = (int)number_of(command);

	free(command);
	return file;
}

/* Of two functions of that name each has its own part, of weight 1 and 2. */
static void
expect_owners(const char *program)
{
	const struct function_cost *costs;
	const size_t n = profile_functions(prof, &costs);

	for (size_t i = 0; i < n; i++) {
		const struct profile_function *fn =
			profile_function(prof, costs[i].function);
		uint64_t truth = 0;

		if (strcmp(fn->name, "seldom"))
			continue;
		for (int part = 0; part < 2; part++)
			if (source_of(program, nm(program, "seldom.cold",
						  part)) ==
			    source_of(program, fn->start))
				truth += part + 1;
		CHECK_EQ(costs[i].cost.incl[0], truth * MS);
	}
}

static void
test_parts(const char *program, bool both_known)
{
	struct made m = make(both_known ? "parts.er" : "bare.er", program);
	const uint64_t main_at = nm(program, "main", 0) + 1;
	const char *const part = "seldom [clone .cold]";

	for (int i = 0; i < 2; i++) {
		const uint64_t cold = nm(program, "seldom.cold", i);
		const uint64_t pcs[] = { cold + 1, main_at };

		CHECK(cold != 0);
		sample(&m, pcs, 2);
	}
	finish(&m);
	look(&m, (struct profile_options){0});

	struct showing s = show_stacks(2);

	for (size_t i = 1; i <= 2; i++) {
		expect_stack(&s, i, both_known ?
			     (const char *const []){ part, "seldom", "main",
						     NULL } :
			     (const char *const []){ part, "main", NULL });
	}
	CHECK_EQ(cost_of(part, false), 3);
	CHECK_EQ(cost_of("seldom", true), both_known ? 3 : 0);
	CHECK_EQ(cost_of("seldom", false), 0);
	CHECK_EQ(profile_total(prof).incl[0], 3 * MS);
	showing_free(&s);

	expect_owners(program);

	look(&m, (struct profile_options){ .keep_parts = true });
	s = show_stacks(2);
	expect_stack(&s, 1, (const char *const []){ part, "main", NULL });
	showing_free(&s);
	made_fini(&m);
}

/* One function of that name: its name is enough. */
static void
test_bare_part(void)
{
	struct made m = make("single.er", "single");
	const uint64_t pcs[] = { nm("single", "seldom.cold", 0) + 1,
				 nm("single", "main", 0) + 1 };

	sample(&m, pcs, 2);
	finish(&m);
	look(&m, (struct profile_options){0});

	struct showing s = show_stacks(1);

	expect_stack(&s, 1, (const char *const []){
		"seldom [clone .cold]", "seldom", "main", NULL });
	showing_free(&s);
	made_fini(&m);
}

/* ---- bodies of regions ------------------------------------------------ */

static const char regions[] =
	"volatile long s;\n"
	"int main(int c, char **v)\n"
	"{\n"
	"\t(void)v;\n"
	"#pragma omp parallel for schedule(static)\n"
	"\tfor (int i = 0; i < 100; i++)\n"
	"\t\ts += i;\n"
	"\t# pragma omp parallel\n"
	"\t{\n"
	"\t\ts += c;\n"
	"#pragma omp task firstprivate(c)\n"
	"\t\ts += c;\n"
	"\t}\n"
	"\treturn 0;\n"
	"}\n";

static char *
display(const char *program, const char *name, enum name_form form)
{
	char *path = scratch_path(program);
	struct symfile *sf = symfile_open(path, path, "");
	char *text = symfile_display(sf, name, nm(program, name, 0), form);

	symfile_free(sf);
	free(path);
	return text;
}

static void
expect_name(const char *program, const char *name, enum name_form form,
	    const char *truth)
{
	char *text = display(program, name, form);

	if (strcmp(text, truth)) {
		printf("%s of %s is %s, not %s\n", name, program, text, truth);
		failures++;
	}
	free(text);
}

/* clang does not say in the name whose it is; the line does. Its runtime is
 * made up: nothing runs. */
static void
test_clang_regions(void)
{
	write_source("kmpc.c",
		     "void __kmpc_fork_call(void) {}\n"
		     "void __kmpc_for_static_fini(void) {}\n"
		     "void __kmpc_for_static_init_4(void) {}\n"
		     "int __kmpc_global_thread_num(void) { return 0; }\n"
		     "void __kmpc_omp_task(void) {}\n"
		     "void *__kmpc_omp_task_alloc(void) { return 0; }\n");
	if (!try_run("clang -O2 -g -fopenmp=libomp -c omp.c -o clang.o &&"
		     " cc clang.o kmpc.c -o clang && nm clang |"
		     " grep -q 't .omp_outlined.$'")) {
		puts("no clang with OpenMP: not tried");
		return;
	}
	expect_name("clang", ".omp_outlined.", NAME_LONG, "main -- OMP parallel"
		    " for region from line 5 [.omp_outlined.]");
	expect_name("clang", ".omp_task_entry.", NAME_SHORT,
		    "main -- OMP task region from line 11"
		    " [.omp_task_entry.]");
}

static void
test_regions(void)
{
	write_source("omp.c", regions);
	if (!try_run("cc -O2 -g -fopenmp omp.c -o omp && nm omp |"
		     " grep -q 'main._omp_fn.2'")) {
		puts("no OpenMP compiler: not tried");
		return;
	}
	expect_name("omp", "main._omp_fn.0", NAME_LONG, "main -- OMP parallel"
		    " for region from line 5 [main._omp_fn.0]");
	expect_name("omp", "main._omp_fn.1", NAME_SHORT,
		    "main -- OMP parallel region from line 8"
		    " [main._omp_fn.1]");
	expect_name("omp", "main._omp_fn.2", NAME_LONG,
		    "main -- OMP task region from line 11 [main._omp_fn.2]");
	expect_name("omp", "main._omp_fn.2", NAME_MANGLED, "main._omp_fn.2");
	expect_name("omp", "main", NAME_LONG, "main");
	test_clang_regions();
	/* without its source nobody knows what kind it is */
	run("mv omp.c elsewhere");
	expect_name("omp", "main._omp_fn.2", NAME_LONG,
		    "main -- OMP region from line 11 [main._omp_fn.2]");
	run("strip -g omp");
	expect_name("omp", "main._omp_fn.0", NAME_LONG,
		    "main -- OMP region [main._omp_fn.0]");
}

static const char entries[] =
	"subroutine compute(n, x)\n"
	"  integer n\n"
	"  real x\n"
	"  x = x + n\n"
	"  return\n"
	"  entry compute_more(n, x)\n"
	"  x = x * n\n"
	"end subroutine\n"
	"program p\n"
	"  real x\n"
	"  x = 1\n"
	"  call compute(3, x)\n"
	"  call compute_more(4, x)\n"
	"  print *, x\n"
	"end program\n";

static void
test_entries(void)
{
	write_source("entries.f90", entries);
	if (!try_run("gfortran -g -O0 entries.f90 -o entries")) {
		puts("no Fortran compiler: not tried");
		return;
	}
	expect_name("entries", "master.0.compute_", NAME_LONG,
		    "compute_ -- body of its entries [master.0.compute_]");
	expect_name("entries", "compute_more_", NAME_LONG, "compute_more_");
	expect_name("entries", "MAIN__", NAME_LONG, "MAIN__");
}

int
main(void)
{
	make_scratch();
	if (!try_run("for t in cc nm objdump addr2line strip; do"
		     " command -v $t; done")) {
		puts("skip: needs cc and binutils");
		return 77;
	}
	write_source("a.c", source);
	write_source("b.c", other);
	/* one segment from 0 on: offsets in the file are addresses */
	run("cc -O2 -g -Wl,-z,noseparate-code a.c b.c -o whole");
	run("strip -g -o bare whole");
	run("sed s/seldom/rarely/ b.c >c.c && cc -O2 -Wl,-z,noseparate-code"
	    " a.c c.c -o single");

	test_inlines();
	test_parts("whole", true);
	test_parts("bare", false);
	test_bare_part();
	test_regions();
	test_entries();
	profile_free(prof);
	return failures ? 1 : 0;
}
