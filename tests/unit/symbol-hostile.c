/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF files made to do harm: an object with bytes changed at random, in its
 * headers, its tables and everywhere, and cut at every length. Every question
 * the room knows is asked; each batch runs in a process of its own, and none
 * may end by a signal. What an answer says is bounded: no function lies
 * outside of itself.
 *
 * mission: M1
 */
#include "base.h"
#include "symbol.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCHES = 48, PER_BATCH = 60, DEADLINE = 120 };

static const char program[] =
	"int twin(int);\n"
	"static int __attribute__((noinline)) hidden(int x)\n"
	"{ return twin(x) * 3; }\n"
	"int twin(int x) { return x > 3 ? hidden(x - 1) : x; }\n"
	"int alias(int) __attribute__((alias(\"twin\")));\n"
	"int main(int argc, char **argv)\n"
	"{ (void)argv; return twin(argc) + hidden(argc); }\n";

static char dir[] = "/tmp/symbol-hostile.XXXXXX";
static char *original;
static size_t original_size;

static bool
visit(void *arg, const struct symbol *sym)
{
	size_t *n = arg;

	*n += strlen(sym->name);
	return true;
}

static void
bounded(const struct symbol *sym, uint64_t vaddr)
{
	if (sym->start <= vaddr && vaddr - sym->start < sym->size && sym->name)
		return;
	printf("wrong: %#llx is not in %s %#llx+%#llx\n",
	       (unsigned long long)vaddr, sym->name,
	       (unsigned long long)sym->start, (unsigned long long)sym->size);
	_exit(1);
}

static size_t
inlined_at(struct symfile *sf, uint64_t vaddr)
{
	struct symfile_inlined in[8];
	const size_t found = symfile_inlines(sf, vaddr, in, ARRAY_LEN(in));
	uint64_t entry = 0;
	size_t n = 0;

	for (size_t i = 0; i < found; i++)
		n += strlen(in[i].name) + (in[i].file ? strlen(in[i].file) : 0);
	return n + symfile_entry(sf, vaddr, &entry) + (entry & 1);
}

static void
ask_everything(struct symfile *sf)
{
	struct symbol sym;
	const char *file;
	size_t n = 0;
	int line;

	for (uint64_t vaddr = 0; vaddr < 0x5000; vaddr += 5) {
		if (symfile_find(sf, vaddr, &sym)) {
			bounded(&sym, vaddr);
			n += strlen(sym.name);
			n += *symfile_aliases(sf, sym.start) != NULL;
		}
		if (vaddr % 25 == 0 && symfile_line(sf, vaddr, &file, &line))
			n += strlen(file);
		if (vaddr % 25 == 0)
			n += inlined_at(sf, vaddr);
		n += symfile_vaddr(sf, vaddr) != vaddr;
	}
	(void)symfile_named(sf, "twin", 0, &sym);
	(void)symfile_named(sf, "<static>@0x1139", 0, &sym);
	symfile_each(sf, visit, &n);
	n += strlen(symfile_build_id(sf));
	(void)symfile_trouble(sf);
	(void)symfile_find(sf, UINT64_MAX, &sym);
	if (n == 0xdeadbeef)		/* the answers are looked at */
		printf("never\n");
}

static void
ask(const char *image, size_t size, const char *path)
{
	struct symfile *sf = symfile_memory(image, size, "image");

	ask_everything(sf);
	symfile_free(sf);
	if (!path)
		return;

	FILE *out = fopen(path, "w");

	if (!out || fwrite(image, 1, size, out) != size || fclose(out) != 0)
		_exit(99);
	sf = symfile_open(path, path, "");
	ask_everything(sf);
	symfile_free(sf);
}

/* Bytes that are more telling than random ones. */
static char
evil_byte(unsigned *seed)
{
	static const unsigned char evil[] = { 0, 1, 0x7f, 0x80, 0xff, 0xfe };
	const int r = rand_r(seed);

	return (char)(r % 3 ? evil[(size_t)(r / 3) % sizeof evil] : r >> 8);
}

/* A place to change: often in the ELF header, the section table, or one of
 * the sections behind the first few, seldom just anywhere. */
static size_t
place(unsigned *seed)
{
	const Elf64_Ehdr *ehdr = (const void *)original;
	const size_t r = (size_t)rand_r(seed);
	const Elf64_Shdr *sh = (const void *)(original + ehdr->e_shoff);
	const Elf64_Shdr *some = &sh[r / 8 % ehdr->e_shnum];

	switch (r % 8) {
	case 0:
		return r / 8 % sizeof *ehdr;
	case 1:
		return ehdr->e_phoff + r / 8 %
			(ehdr->e_phnum * sizeof(Elf64_Phdr));
	case 2:
	case 3:
		return ehdr->e_shoff + r / 8 % (ehdr->e_shnum * sizeof *sh);
	default:
		if (some->sh_type != SHT_NOBITS && some->sh_size > 0)
			return some->sh_offset +
				(size_t)rand_r(seed) % some->sh_size;
		return r / 8 % original_size;
	}
}

static void
batch(unsigned seed)
{
	char *image = xmalloc(original_size);
	char *path = xasprintf("%s/%u", dir, seed);

	for (int i = 0; i < PER_BATCH; i++) {
		memcpy(image, original, original_size);
		for (int n = 1 + rand_r(&seed) % 12; n > 0; n--)
			image[place(&seed) % original_size] =
				evil_byte(&seed);
		ask(image, original_size, i % 4 ? NULL : path);
	}
	free(path);
	free(image);
}

static void
cuts(unsigned part)
{
	for (size_t n = part; n < original_size; n += 97 * 8)
		ask(original, n, NULL);
}

/* Run it apart; false when it did not come back well. */
static bool
apart(void (*work)(unsigned), unsigned arg, const char *what)
{
	const struct rlimit memory = { UINT64_C(4) << 30, UINT64_C(4) << 30 };
	int status;

	fflush(stdout);

	const pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(99);
	}
	if (pid == 0) {
#ifndef __SANITIZE_ADDRESS__
		(void)setrlimit(RLIMIT_AS, &memory);
#else
		(void)memory;
#endif
		(void)alarm(DEADLINE);
		work(arg);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) == pid && status == 0)
		return true;
	printf("wrong: %s %u ended with status %#x\n", what, arg, status);
	return false;
}

static bool
make_original(void)
{
	char *path = xasprintf("%s/p.c", dir);
	char *command = xasprintf("cd %s && cc -O2 -g -gz=none p.c -o p"
				  " >log 2>&1", dir);
	FILE *out = fopen(path, "w");

	if (!out || fputs(program, out) < 0 || fclose(out) != 0)
		exit(99);

	const bool well = system(command) == 0;

	free(path);
	path = xasprintf("%s/p", dir);
	if (well)
		original = file_read(path, &original_size);
	free(path);
	free(command);
	return original != NULL;
}

static void
clean_up(void)
{
	char *command = xasprintf("rm -rf %s", dir);

	if (system(command) != 0)
		printf("%s was left behind\n", dir);
	free(command);
}

int
main(void)
{
	int failures = 0;

	unsetenv("DEBUGINFOD_URLS");
	if (!mkdtemp(dir) || atexit(clean_up) != 0) {
		perror("scratch directory");
		return 99;
	}
	if (!make_original()) {
		printf("skip: no C compiler\n");
		return 77;
	}
	for (unsigned i = 0; i < 8; i++)
		failures += !apart(cuts, i * 97, "cut");
	for (unsigned i = 1; i <= BATCHES; i++)
		failures += !apart(batch, i, "batch");
	free(original);
	return failures ? 1 : 0;
}
