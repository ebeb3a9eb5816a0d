/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The libraries this program runs with, and Python's where it is, against
 * readelf: each exported function is found at its address under the name the
 * alias rule gives (computed here anew), with all its aliases; each unwind
 * entry belongs to a function; file offsets become addresses. The vDSO too.
 * Ends with the cost of a look-up.
 *
 * mission: M1 M2 M4 M14
 */
#include "base.h"
#include "symbol.h"

#include <elf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct entry {
	uint64_t addr, size;
	char *name;
};

static struct entry *entries;
static size_t entry_len, entry_cap;
static int failures;

static void
wrong(const char *file, uint64_t addr, const char *is, const char *truth)
{
	printf("wrong: %s %#llx: is %s, not %s\n", file,
	       (unsigned long long)addr, is, truth);
	failures++;
}

static void
forget_entries(void)
{
	for (size_t i = 0; i < entry_len; i++)
		free(entries[i].name);
	entry_len = 0;
}

static int
by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* `Num: Value Size Type Bind Vis Ndx Name`, as readelf prints them. */
static void
parse_symbol(char *line)
{
	char value[32], size[32], type[32], bind[32], ndx[32], name[4096];

	if (sscanf(line, " %*[0-9]: %31s %31s %31s %31s %*s %31s %4095s",
		   value, size, type, bind, ndx, name) != 6)
		return;
	if (strcmp(ndx, "UND") == 0 || strcmp(ndx, "ABS") == 0 ||
	    strcmp(bind, "LOCAL") == 0 ||
	    (strcmp(type, "FUNC") != 0 && strcmp(type, "IFUNC") != 0))
		return;

	char *at = strchr(name + 1, '@');

	if (at)
		*at = '\0';
	entries = xgrow(entries, &entry_cap, entry_len + 1, sizeof *entries);
	entries[entry_len++] = (struct entry){
		.addr = strtoull(value, NULL, 16),
		.size = strtoull(size, NULL, 0),
		.name = xasprintf("%s%s", name, strcmp(type, "IFUNC") == 0 ?
				  " [resolver]" : ""),
	};
}

static FILE *
readelf(const char *options, const char *file)
{
	char *command = xasprintf("readelf -W %s '%s' 2>/dev/null", options,
				  file);
	FILE *in = popen(command, "r");

	free(command);
	if (!in) {
		perror("readelf");
		exit(99);
	}
	return in;
}

static void
read_symbols(const char *file)
{
	FILE *in = readelf("--dyn-syms", file);
	char *line = NULL;
	size_t cap = 0;

	forget_entries();
	while (getline(&line, &cap, in) > 0)
		parse_symbol(line);
	free(line);
	(void)pclose(in);	/* no symbols are counted as a failure below */
	if (entry_len > 0)
		qsort(entries, entry_len, sizeof *entries, by_address);
}

static bool
is_alias(struct symfile *sf, uint64_t start, const char *name)
{
	const char *const *at = symfile_aliases(sf, start);

	while (*at && strcmp(*at, name) != 0)
		at++;
	return *at != NULL;
}

static bool
is_resolver(const struct entry *e)
{
	return str_ends(e->name, " [resolver]");
}

/* The name of entries[i..end): resolvers say more than what they resolve. */
static const char *
expected_name(size_t i, size_t end)
{
	const char *best = NULL, *resolver = NULL;

	for (; i < end; i++)
		if (is_resolver(&entries[i]))
			resolver = entries[i].name;
		else
			best = entries[i].name;
	return resolver ? resolver : best;
}

static void
check_symbols(struct symfile *sf, const char *file)
{
	for (size_t i = 0, end; i < entry_len; i = end) {
		const struct entry *e = &entries[i];
		struct symbol sym;

		for (end = i + 1; end < entry_len &&
		     entries[end].addr == e->addr; end++)
			;

		const char *truth = expected_name(i, end);

		if (!symfile_find(sf, e->addr, &sym)) {
			wrong(file, e->addr, "nothing", truth);
			continue;
		}
		if (strcmp(sym.name, truth) != 0 || sym.start != e->addr ||
		    sym.is_static || sym.is_plt)
			wrong(file, e->addr, sym.name, truth);
		if (strcmp(symfile_aliases(sf, e->addr)[0], sym.name) != 0)
			wrong(file, e->addr, "another first alias", sym.name);
		for (size_t k = i; k < end; k++)
			if (!is_alias(sf, e->addr, entries[k].name))
				wrong(file, e->addr, "no alias",
				      entries[k].name);
		if (e->size > 0 && (!symfile_find(sf, e->addr + e->size - 1,
						  &sym) ||
				    (end < entry_len && entries[end].addr >=
				     e->addr + e->size && sym.is_static)))
			wrong(file, e->addr + e->size - 1, "nothing", truth);
	}
}

/* `... FDE cie=... pc=START..END`; returns how many are nameless. */
static size_t
check_unwind_entries(struct symfile *sf, const char *file)
{
	FILE *in = readelf("--debug-dump=frames", file);
	char *line = NULL, name[64];
	size_t cap = 0, nameless = 0;

	while (getline(&line, &cap, in) > 0) {
		const char *pc = strstr(line, " pc=");
		unsigned long long start, end;
		struct symbol sym;

		if (!strstr(line, " FDE ") || !pc ||
		    sscanf(pc, " pc=%llx..%llx", &start, &end) != 2 ||
		    end <= start)
			continue;
		if (!symfile_find(sf, start, &sym) ||
		    !symfile_find(sf, end - 1, &sym) ||
		    !symfile_find(sf, start, &sym)) {
			wrong(file, start, "nothing", "an unwind entry");
			continue;
		}
		if (!sym.is_static)
			continue;
		nameless++;
		snprintf(name, sizeof name, "<static>@0x%llx", start);
		if (strcmp(sym.name, name) != 0 || sym.start != start ||
		    sym.size != end - start)
			wrong(file, start, sym.name, name);
	}
	free(line);
	(void)pclose(in);
	return nameless;
}

/* Each PT_LOAD of readelf: its first and last byte, and one behind. */
static void
check_offsets(struct symfile *sf, const char *file)
{
	FILE *in = readelf("-l", file);
	unsigned long long offset, vaddr, size;
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, in) > 0) {
		if (sscanf(line, " LOAD %llx %llx %*x %llx", &offset, &vaddr,
			   &size) != 3 || size == 0)
			continue;
		if (symfile_vaddr(sf, offset) != vaddr ||
		    symfile_vaddr(sf, offset + size - 1) != vaddr + size - 1)
			wrong(file, offset, "another address", "by segment");
	}
	if (symfile_vaddr(sf, UINT64_C(1) << 60) != UINT64_C(1) << 60)
		wrong(file, 0, "another address", "the offset itself");
	free(line);
	(void)pclose(in);
}

/* The lowest descriptor that is free. */
static int
free_descriptor(void)
{
	const int fd = dup(STDOUT_FILENO);

	close(fd);
	return fd;
}

static void
check_file(const char *file)
{
	const int before = free_descriptor();
	struct symfile *sf = symfile_open(file, file, "");

	/* hundreds of them are open at once */
	if (symfile_source(sf) == SYMFILE_DYNSYM &&
	    free_descriptor() != before)
		wrong(file, 0, "held open", "closed");
	read_symbols(file);
	check_symbols(sf, file);
	check_offsets(sf, file);

	const size_t nameless = check_unwind_entries(sf, file);

	printf("%s: %zu exported names, %zu nameless functions, source %d\n",
	       file, entry_len, nameless, symfile_source(sf));
	if (entry_len == 0)
		wrong(file, 0, "no symbols", "some");
	if ((symfile_trouble(sf) != NULL) !=
	    (symfile_source(sf) == SYMFILE_DYNSYM))
		wrong(file, 0, "another word on trouble", "only if stripped");
	symfile_free(sf);
}

static void
check_python(void)
{
	glob_t found;

	if (glob("/usr/lib/*/libpython3*.so.1.0", 0, NULL, &found) == 0 &&
	    found.gl_pathc > 0)
		check_file(found.gl_pathv[0]);
	else
		printf("no libpython: not checked\n");
	globfree(&found);
}

static void
check_own_libraries(void)
{
	char *text = file_read("/proc/self/maps", NULL);
	struct modules mods = {0};

	if (!text || modules_parse(&mods, text) < 0) {
		printf("own maps: %s\n", fail_last()->reason);
		exit(99);
	}
	/* whoever opens files for us is there from the first one on */
	symfile_free(symfile_open("/proc/self/exe", "/proc/self/exe", ""));
	for (size_t i = 0; i < mods.len; i++)
		if (mods.items[i].prot & MODULE_EXEC &&
		    strstr(mods.items[i].path, ".so"))
			check_file(mods.items[i].path);
	modules_fini(&mods);
	free(text);
}

static void
check_vdso(void)
{
	const unsigned char *image =
		(const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	struct symbol sym;

	if (!image) {
		printf("no vDSO: not checked\n");
		return;
	}

	/* what ends last is the section table */
	const Elf64_Ehdr *ehdr = (const void *)image;
	const size_t size = ehdr->e_shoff +
		(size_t)ehdr->e_shnum * ehdr->e_shentsize;
	struct symfile *sf = symfile_memory(image, size, "[vdso]");

	if (!symfile_named(sf, "__vdso_clock_gettime", 0, &sym) &&
	    !symfile_named(sf, "__kernel_clock_gettime", 0, &sym))
		wrong("[vdso]", 0, "nothing", "clock_gettime");
	else if (!symfile_find(sf, sym.start + sym.size / 2, &sym) ||
		 !strstr(sym.name, "clock_gettime"))
		wrong("[vdso]", sym.start, sym.name, "clock_gettime");
	if (symfile_trouble(sf))
		wrong("[vdso]", 0, symfile_trouble(sf), "no trouble");
	if (strlen(symfile_build_id(sf)) < 16)
		wrong("[vdso]", 0, symfile_build_id(sf), "a build-id");
	symfile_free(sf);
	for (size_t n = 0; n < size; n += 37) {	/* none may kill us */
		sf = symfile_memory(image, n, "[vdso]");
		(void)symfile_find(sf, 0x800, &sym);
		symfile_free(sf);
	}
}

/* Generous bounds: this finds a forgotten index, not a slow machine. */
static void
check_speed(void)
{
	enum { ROUNDS = 1000000 };
	struct modules mods = {0};
	char *text = file_read("/proc/self/maps", NULL);
	unsigned seed = 1;
	size_t found = 0;
	struct symbol sym;

	if (!text || modules_parse(&mods, text) < 0)
		exit(99);

	const struct module *mod = modules_find(&mods, (uintptr_t)&strtol);
	const uint64_t t0 = now_ns();
	struct symfile *sf = symfile_open(mod->path, mod->path, "");

	(void)symfile_find(sf, 0, &sym);

	const uint64_t t1 = now_ns();

	for (int i = 0; i < ROUNDS; i++)
		found += symfile_find(sf, mod->offset + (uint64_t)
				      rand_r(&seed) % (mod->end - mod->start),
				      &sym);

	const uint64_t t2 = now_ns();

	printf("%s: %.1f ms to load, %.0f ns a look-up, %zu of %d found\n",
	       mod->path, (double)(t1 - t0) / 1e6,
	       (double)(t2 - t1) / ROUNDS, found, ROUNDS);
	if (found < ROUNDS / 2 || t1 - t0 > 1000000000 ||
	    t2 - t1 > (uint64_t)ROUNDS * 5000)
		wrong(mod->path, 0, "slow or empty", "quick");
	symfile_free(sf);
	modules_fini(&mods);
	free(text);
}

int
main(void)
{
	if (system("command -v readelf >/dev/null") != 0) {
		printf("skip: no readelf to compare with\n");
		return 77;
	}
	check_own_libraries();
	check_python();
	check_vdso();
	check_speed();
	forget_entries();
	free(entries);
	return failures ? 1 : 0;
}
