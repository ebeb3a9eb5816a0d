/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S1
 *
 * The length of a call, read backwards from its return address: for every
 * call instruction in libc (or in the files named as arguments) it must be
 * what objdump says, or "ambiguous", and that only for one in a hundred. Then
 * each encoding by hand, since no one binary has them all.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "base.h"

enum { CONTEXT = 16 };

static int failures;

/* The bytes that end at the current instruction's end. */
struct context {
	unsigned char bytes[CONTEXT];
	size_t n;
	uint64_t next;		/* address after them */
};

struct count {
	unsigned long calls, ambiguous, wrong;
};

static void
append(struct context *c, unsigned char byte)
{
	if (c->n == CONTEXT)
		memmove(c->bytes, c->bytes + 1, --c->n);
	c->bytes[c->n++] = byte;
}

static bool
is_call(const char *text)
{
	const char *at = strstr(text, "call");

	/* not syscall, not an operand <foo_call+0x10>: a word before any < */
	return at && (at == text || at[-1] == ' ') &&
	       (at[4] == ' ' || at[4] == 'q') &&
	       (!strchr(text, '<') || at < strchr(text, '<'));
}

/* `  addr:\tbytes \tmnemonic`; objdump -w keeps each on one line. */
static void
take_line(char *line, struct context *c, struct count *count)
{
	char *bytes = strchr(line, '\t');
	char *text = bytes ? strchr(bytes + 1, '\t') : NULL;
	const uint64_t addr = strtoull(line, NULL, 16);
	int length = 0;

	if (!text)
		return;
	*text++ = '\0';
	if (addr != c->next)
		c->n = 0;
	for (char *byte = bytes + 1; *byte && *byte != ' '; byte += 3) {
		append(c, (unsigned char)strtoul(byte, NULL, 16));
		length++;
	}
	c->next = addr + (uint64_t)length;
	if (!is_call(text))
		return;

	const int found = arch.call_length(c->bytes, c->n);

	count->calls++;
	count->ambiguous += found == 0;
	if (found != 0 && found != length && count->wrong++ < 10)
		printf("%llx: length %d, decoded %d: %s",
		       (unsigned long long)addr, length, found, text);
}

static int
check_file(const char *path)
{
	struct context c = { .n = 0 };
	struct count count = { 0 };
	char command[600], line[4096];
	FILE *dump;

	snprintf(command, sizeof command, "objdump -d -w '%s' 2>/dev/null",
		 path);
	dump = popen(command, "r");
	while (dump && fgets(line, sizeof line, dump))
		take_line(line, &c, &count);
	if (!dump || pclose(dump) != 0 || count.calls == 0)
		return -1;
	printf("%s: %lu calls, %lu ambiguous (%.3f %%), %lu wrong\n", path,
	       count.calls, count.ambiguous,
	       100.0 * count.ambiguous / count.calls, count.wrong);
	if (count.wrong || count.ambiguous * 100 > count.calls)
		failures++;
	return 0;
}

struct encoding {
	const char *name;
	unsigned char bytes[12];
	int size, want;
};

/* Each stands after two nops; 0 is "ambiguous or no call". */
static const struct encoding encodings[] = {
	{ "call rel32", { 0xe8, 0x10, 0x20, 0x00, 0x00 }, 5, 5 },
	{ "call rel32 back", { 0xe8, 0x10, 0x20, 0xff, 0xff }, 5, 5 },
	{ "call *%rax", { 0xff, 0xd0 }, 2, 2 },
	{ "call *%r8", { 0x41, 0xff, 0xd0 }, 3, 3 },
	{ "call *%r12", { 0x41, 0xff, 0xd4 }, 3, 3 },
	{ "call *%r13", { 0x41, 0xff, 0xd5 }, 3, 3 },
	{ "call *(%rax)", { 0xff, 0x10 }, 2, 2 },
	{ "call *(%r12)", { 0x41, 0xff, 0x14, 0x24 }, 4, 4 },
	{ "call *8(%rbx)", { 0xff, 0x53, 0x08 }, 3, 3 },
	{ "call *8(%r12)", { 0x41, 0xff, 0x54, 0x24, 0x08 }, 5, 5 },
	{ "call *8(%rsp,%rax,8)", { 0xff, 0x54, 0xc4, 0x08 }, 4, 4 },
	{ "call *0x148(%rax)", { 0xff, 0x90, 0x48, 0x01, 0, 0 }, 6, 6 },
	{ "call *0x148(%r13,%rax,8)",
	  { 0x41, 0xff, 0x94, 0xc5, 0x48, 0x01, 0, 0 }, 8, 8 },
	{ "call *(,%rax,8)", { 0xff, 0x14, 0xc5, 0x40, 0x30, 0, 0 }, 7, 7 },
	{ "call *(%rbx,%r8,8)", { 0x42, 0xff, 0x14, 0xc3 }, 4, 4 },
	{ "call *x(%rip)", { 0xff, 0x15, 0x10, 0x20, 0, 0 }, 6, 6 },
	{ "notrack call *%rax", { 0x3e, 0xff, 0xd0 }, 3, 0 },
	{ "notrack call *%r8", { 0x3e, 0x41, 0xff, 0xd0 }, 4, 0 },
	{ "addr32 call rel32", { 0x67, 0xe8, 0x10, 0x20, 0, 0 }, 6, 0 },
	{ "TLS: data16 data16 rex.W call",
	  { 0x66, 0x66, 0x48, 0xe8, 0x10, 0x20, 0, 0 }, 8, 8 },
	{ "TLS: data16 rex.W call *x(%rip)",
	  { 0x66, 0x48, 0xff, 0x15, 0x10, 0x20, 0, 0 }, 8, 8 },
	{ "call *%rsp is no code", { 0xff, 0xd4 }, 2, 0 },
	{ "jmp *%rax", { 0xff, 0xe0 }, 2, 0 },
	{ "jmp rel32", { 0xe9, 0x10, 0x20, 0, 0 }, 5, 0 },
	{ "ret", { 0xc3 }, 1, 0 },
	{ "call rel32 or call *1(%rax)", { 0xe8, 0x10, 0xff, 0x50, 0x01 }, 5, 0 },
	{ "too far for a direct call", { 0xe8, 0x10, 0x20, 0xff, 0xd0 }, 5, 2 },
};

static void
check_encodings(void)
{
	for (size_t i = 0; i < ARRAY_LEN(encodings); i++) {
		const struct encoding *e = &encodings[i];
		unsigned char code[CONTEXT] = { 0x90, 0x90 };

		memcpy(code + 2, e->bytes, (size_t)e->size);

		const int got = arch.call_length(code, (size_t)e->size + 2);

		if (got != e->want) {
			printf("%s: %d, not %d\n", e->name, got, e->want);
			failures++;
		}
		/* fewer bytes than the instruction: never read before them */
		for (int n = 0; n < e->size; n++)
			(void)arch.call_length(code + 2 + e->size - n,
					       (size_t)n);
	}
}

static void
check_in_call(uint64_t pc, uint64_t rcx, uint64_t r11, bool want)
{
	struct arch_regs regs = {0};

	regs.reg[arch.reg_pc] = pc;
	regs.reg[2] = rcx;
	regs.reg[11] = r11;
	if (arch.in_call(&regs) != want) {
		printf("in_call: pc %#llx, rcx %#llx, r11 %#llx: not %d\n",
		       (unsigned long long)pc, (unsigned long long)rcx,
		       (unsigned long long)r11, want);
		failures++;
	}
}

/* A system call leaves where it returns to, and the flags. */
static void
check_calls(void)
{
	check_in_call(0x401000, 0x401000, 0x246, true);
	check_in_call(0x401000, 0x401000, 0x10a46, true);
	check_in_call(0x401003, 0x401000, 0x246, false);
	check_in_call(0x401000, 0x401000, 0x46, false);
	check_in_call(0x401000, 0x401000, 0x401000, false);
}

int
main(int argc, char **argv)
{
	Dl_info libc;

	if (strcmp(arch.name, "x86_64") != 0) {
		puts("the encodings here are x86-64's");
		return 77;
	}
	check_encodings();
	check_calls();
	for (int i = 1; i < argc; i++)
		if (check_file(argv[i]) < 0)
			failures++;
	if (argc == 1 && (!dladdr((void *)(uintptr_t)qsort, &libc) ||
			  check_file(libc.dli_fname) < 0)) {
		puts("no objdump here: libc's calls are not checked");
		return failures ? 1 : 77;
	}
	return failures ? 1 : 0;
}
