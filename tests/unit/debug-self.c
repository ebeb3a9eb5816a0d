/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: X2
 * The debug room on the program that asks: assignments reach memory, calls
 * reach functions with their arguments where the convention says, refusals say
 * why, and hostile types and expressions end.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "debug.h"

struct pair { int left, right; };
struct packed { unsigned low : 3; int high : 6; };

int counter = 1;
double ratio = 0.5;
struct pair both = { 1, 2 };
struct packed bits = { 1, -2 };
const char *text = "a text";
_Thread_local int of_thread = 31;
static int failures;
static bool asked_real;		/* of the last call */
static ucontext_t here;
static struct debug_object objects[64];
static char names[64][4096];
static size_t object_len;

long add_all(long a, int b, unsigned char c, long d, long e, long f, long g,
	     long h);
double scale(double by, int n);
const char *name_of(const struct pair *p);
struct pair make_pair(int n);
void count(void);

__attribute__((noinline)) long
add_all(long a, int b, unsigned char c, long d, long e, long f, long g, long h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

__attribute__((noinline)) double
scale(double by, int n)
{
	return by * n;
}

__attribute__((noinline)) const char *
name_of(const struct pair *p)
{
	return p->left == 1 ? "one" : "another";
}

__attribute__((noinline)) struct pair
make_pair(int n)
{
	return (struct pair){ n, n };
}

__attribute__((noinline)) void
count(void)
{
	counter++;
}

/* ---- the target: we ourselves ---- */

static int
read_self(void *arg, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = { buf, n }, from = { (void *)addr, n };

	(void)arg;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)n ?
		0 : fail(FAIL_GENERAL, "not readable");
}

static int
write_self(void *arg, uint64_t addr, const void *buf, size_t n)
{
	(void)arg;
	memcpy((void *)addr, buf, n);
	return 0;
}

static int
registers(void *arg, struct debug_regs *out)
{
	(void)arg;
	memset(out, 0, sizeof *out);
#ifdef __x86_64__
	static const int order[] = {
		REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP,
		REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
		REG_R14, REG_R15, REG_RIP,
	};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		out->general.reg[i] =
			(uint64_t)here.uc_mcontext.gregs[order[i]];
#endif
	out->extra_known = true;
	out->thread_pointer = (uint64_t)__builtin_thread_pointer();
	return 0;
}

static int
add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct debug_object *o = &objects[object_len];
	char *name = names[object_len];

	(void)size;
	(void)arg;
	if (object_len == ARRAY_LEN(objects) || strstr(info->dlpi_name, "vdso"))
		return 0;
	snprintf(name, sizeof names[0], "%s", info->dlpi_name);
	if (!*name && readlink("/proc/self/exe", name, sizeof names[0] - 1) < 0)
		return 1;
	*o = (struct debug_object){
		.path = name, .shown = name, .prefix = "",
		.bias = info->dlpi_addr, .start = UINT64_MAX,
	};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint64_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		if (at < o->start)
			o->start = at;
		if (at + ph->p_memsz > o->end)
			o->end = at + ph->p_memsz;
	}
	object_len++;
	return 0;
}

static const struct debug_object *
list(void *arg, size_t *n)
{
	(void)arg;
	*n = object_len;
	return objects;
}

typedef long eight(long, long, long, long, long, long, long, long);
typedef double reals(double, double, double, double, double, double, double,
		     double);

/* As the machine would: integers and floats go to registers of their own. */
static int
call_self(void *arg, struct debug_call *c)
{
	long words[8] = {0};
	double real[8];

	(void)arg;
	asked_real = c->real;
	for (size_t i = 0; i < c->int_count && i < 8; i++)
		words[i] = (long)c->ints[i];
	for (size_t i = 0; i < c->stack_count && i + c->int_count < 8; i++)
		words[c->int_count + i] = (long)c->stack[i];
	memcpy(real, c->floats, sizeof real);
	if (c->float_count) {
		double (*f)(double, int) = (double (*)(double, int))c->function;
		const double got = f(real[0], (int)words[0]);

		memcpy(c->float_result, &got, sizeof got);
		return 0;
	}
	c->result[0] = (uint64_t)((eight *)c->function)(words[0], words[1],
		words[2], words[3], words[4], words[5], words[6], words[7]);
	return 0;
}

static const struct debug_target target = {
	.read = read_self, .registers = registers, .objects = list,
	.write = write_self, .call = call_self,
};

/* ---- checks ---- */

static void
expect(struct debug *d, const char *expression, const char *wanted)
{
	struct str out = {0};
	const int status = debug_print(d, expression, 0, &out);
	const char *got = status < 0 ? fail_last()->reason : str_text(&out);
	size_t n = strlen(got);

	if (n && got[n - 1] == '\n')
		n--;
	if (strlen(wanted) != n || strncmp(got, wanted, n) != 0) {
		printf("print %s: '%.*s', not '%s'\n", expression, (int)n, got,
		       wanted);
		failures++;
	}
	str_fini(&out);
}

static void
check(bool good, const char *what)
{
	if (good)
		return;
	printf("wrong: %s\n", what);
	failures++;
}

static void
check_assignments(struct debug *d)
{
	expect(d, "counter = 5", "5");
	check(counter == 5, "counter was assigned to");
	expect(d, "counter += 2", "7");
	check(counter == 7, "counter was added to");
	check(debug_assign(d, "both.right", "counter * 2") == 0 &&
	      both.right == 14, "a member was assigned to");
	expect(d, "bits.high = 9", "9");
	expect(d, "bits.low = 7", "7");
	check(bits.high == 9 && bits.low == 7, "bit-fields were assigned to");
	expect(d, "ratio = 3", "3");
	check(ratio == 3.0, "a float was assigned to");
	expect(d, "of_thread = 32", "32");
	check(of_thread == 32, "a variable of the thread was assigned to");
	expect(d, "$mine = both.right + 1", "15");
	expect(d, "$mine * 2", "30");
	expect(d, "count = (char)1", "Left operand of assignment is not an "
	       "lvalue.");
	expect(d, "1 = 2", "Left operand of assignment is not an lvalue.");
	expect(d, "sizeof(counter = 9)", "4");
	check(counter == 7, "sizeof does nothing");
	expect(d, "0 && (counter = 9)", "0");
	expect(d, "1 || (counter = 9)", "1");
	expect(d, "1 ? 2 : (counter = 9)", "2");
	check(counter == 7, "what is not reached is not done");
}

static void
check_calls(struct debug *d)
{
	expect(d, "add_all(1, 2, 3, 4, 5, 6, 7, 8)", "204");
	expect(d, "add_all(counter, -1, 258, 0, 0, 0, 0, 0)", "11");
	expect(d, "scale(1.5, 4)", "6");
	check(asked_real, "it is said that a floating result is wanted");
	expect(d, "scale(counter, 2) + 1", "15");
	expect(d, "name_of(&both) == text", "0");
	check(!asked_real, "or that it is not");
	expect(d, "*name_of(&both) == 'o'", "1");
	expect(d, "count()", "void");
	check(counter == 8, "a function was called once");
	expect(d, "sizeof(add_all(1, 2, 3, 4, 5, 6, 7, 8))", "8");
	expect(d, "add_all(1)", "Too few arguments in function call.");
	expect(d, "count(1)", "Too many arguments in function call.");
	expect(d, "make_pair(1)", "{left = 1, right = 1}");
	expect(d, "counter(1)",
	       "Cannot perform a call on a non-function type");
}

static void
check_hostile(struct debug *d)
{
	enum { DEEP = 100000 };
	struct str out = {0}, nest = {0};

	for (int i = 0; i < DEEP; i++)
		str_add(&nest, "(");
	check(debug_print(d, str_text(&nest), 0, &out) < 0, "brackets");
	str_clear(&nest);
	for (int i = 0; i < DEEP; i++)
		str_add(&nest, "-");
	str_add(&nest, "1");
	check(debug_print(d, str_text(&nest), 0, &out) < 0, "signs");
	str_clear(&nest);
	str_add(&nest, "1");
	for (int i = 0; i < DEEP; i++)
		str_add(&nest, "+1");
	(void)debug_print(d, str_text(&nest), 0, &out);
	str_clear(&nest);
	str_add(&nest, "sizeof(int");
	for (int i = 0; i < DEEP; i++)
		str_add(&nest, "[1]");
	str_add(&nest, ")");
	check(debug_print(d, str_text(&nest), 0, &out) < 0, "dimensions");
	check(debug_print(d, "counter", 'q', &out) < 0, "a format");
	check(debug_whatis(d, "nosuch && 1", &out) < 0, "what there is not");
	str_fini(&nest);
	str_fini(&out);
	expect(d, "*(int *)16", "Cannot access memory at address 0x10");
	expect(d, "counter@100000000",
	       "value requires 400000000 bytes, which is more than "
	       "max-value-size");
	expect(d, "(char)counter@0", "Invalid number of repetitions.");
	expect(d, "1 / 0", "Division by zero");
	expect(d, "99999999999999999999", "Numeric constant too large.");
	expect(d, "18446744073709551615", "18446744073709551615");
	expect(d, "(unsigned long)1e19", "10000000000000000000");
	expect(d, "(int)1e60", "no integer is so large");
	expect(d, "(-9223372036854775807 - 1) / -1", "-9223372036854775808");
	expect(d, "(-2147483647 - 1) % -1", "0");
	expect(d, "1 << 40", "0");
	expect(d, "-1 >> 40", "-1");
	expect(d, "(__int128)1 << 100", "1267650600228229401496703205376");
	expect(d, "\"open", "A syntax error in expression, near `\"open'.");
	expect(d, "", "an expression is missing");
	expect(d, "*(char *)-1", "Cannot access memory at address "
	       "0xffffffffffffffff");
}

int
main(void)
{
	struct debug *d;
	bool truth = false;
	int64_t number = 0;
	uint64_t addr, size;

#ifndef __x86_64__
	printf("registers of another machine\n");
	return 77;
#endif
	if (getcontext(&here) < 0 || dl_iterate_phdr(add_object, NULL) != 0)
		return 99;
	d = debug_new(&target, NULL);
	expect(d, "counter", "1");
	expect(d, "of_thread", "31");
	check_assignments(d);
	check_calls(d);
	check_hostile(d);
	check(debug_truth(d, "counter == 8", &truth) == 0 && truth, "truth");
	check(debug_number(d, "counter * 2L", &number) == 0 && number == 16,
	      "number");
	check(debug_address(d, "both", &addr, &size) == 0 &&
	      addr == (uintptr_t)&both && size == sizeof both, "address");
	check(debug_address(d, "count", &addr, &size) == 0 &&
	      addr == (uintptr_t)count, "address of a function");
	debug_free(d);
	printf("%d failures\n", failures);
	return failures != 0;
}
