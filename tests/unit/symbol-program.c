/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A small program is compiled here in many ways and must read the same in
 * all of them: whole, stripped (static functions named after their unwind
 * entries, as nm knows them from the whole one), with a separate debug file
 * by link and by build-id and under another root, with mini debug data, from
 * debuginfod. Lines are compared with addr2line. What cannot be read says why.
 *
 * mission: M1 M2 M3 M4 M6
 */
#include "base.h"
#include "symbol.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source_a[] =
	"#include <stdio.h>\n"
	"static int __attribute__((noinline, noclone))\n"
	"twin(int x)\n{\n\treturn x * 3 + printf(\"a%d\", x);\n}\n"
	"static int __attribute__((noinline, noclone))\n"
	"hidden(int x)\n{\n\tint y = twin(x);\n\treturn y * y + 1;\n}\n"
	"int m_real(int x)\n{\n\treturn hidden(x) + twin(x + 1);\n}\n"
	"int z_alias(int) __attribute__((alias(\"m_real\")));\n"
	"int a_alias(int) __attribute__((weak, alias(\"m_real\")));\n"
	"static int zz_local(int) __attribute__((alias(\"m_real\"), used));\n"
	"static int plus(int x) { return x + 1; }\n"
	"static int (*choose(void))(int) { return plus; }\n"
	"int chosen(int) __attribute__((ifunc(\"choose\")));\n"
	"int other(int);\n"
	"extern char bare[], bare_two[], framed[];\n"
	"int main(int argc, char **argv)\n{\n\t(void)argv;\n"
	"\treturn z_alias(argc) + other(argc) + chosen(argc) +\n"
	"\t\tbare[0] + bare_two[0] + framed[0];\n}\n";
static const char source_b[] =
	"#include <stdlib.h>\n"
	"#include \"in.h\"\n"
	"static int __attribute__((noinline, noclone))\n"
	"twin(int x)\n{\n\treturn inlined(x) * 7 + rand();\n}\n"
	"int other(int x)\n{\n\tif (x > 90)\n\t\tabort();\n"
	"\treturn twin(x) + twin(x ^ 3);\n}\n";
static const char source_in[] =
	"static inline int inlined(int x)\n{\n\tint i, n = rand();\n"
	"\tfor (i = 0; i < x; i++)\n\t\tn ^= i * x;\n\treturn n;\n}\n";
/* labels without type and size, with labels inside, without unwind entry */
static const char source_s[] =
	"\t.text\n\t.globl bare, bare_two, framed\n"
	"bare:\n\tnop\n\tnop\nbare_inner:\n\tnop\n\tnop\n"
	"bare_two:\n\tnop\n\tnop\n\tnop\n\tnop\n"
	"\t.type framed, %function\n"
	"framed:\n\t.cfi_startproc\n\tnop\n\tnop\n\tnop\n\tnop\n"
	"\t.cfi_endproc\n"
	"\t.section .note.GNU-stack,\"\",%progbits\n";

static char dir[] = "/tmp/symbol-program.XXXXXX";
static int failures;

static void
check(bool truth, const char *what)
{
	if (truth)
		return;
	printf("wrong: %s\n", what);
	failures++;
}

static bool
try_run(const char *command)
{
	char *all = xasprintf("cd %s && { %s; } >>out.log 2>&1", dir, command);
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

	char *log = xasprintf("cat %s/out.log", dir);

	(void)!system(log);	/* helps whoever reads the failure */
	free(log);
	exit(99);
}

static void
write_file(const char *name, const char *text, size_t n)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *out = fopen(path, "w");

	if (!out || fwrite(text, 1, n, out) != n || fclose(out) != 0) {
		perror(path);
		exit(99);
	}
	free(path);
}

static void
write_sources(void)
{
	run("mkdir sub inc");
	write_file("sub/a.c", source_a, sizeof source_a - 1);
	write_file("b.c", source_b, sizeof source_b - 1);
	write_file("inc/in.h", source_in, sizeof source_in - 1);
	write_file("s.s", source_s, sizeof source_s - 1);
}

static struct symfile *
open_in(const char *name, const char *root)
{
	char *path = xasprintf("%s/%s", dir, name);
	char *prefix = *root ? xasprintf("%s/%s", dir, root) : xstrdup("");
	struct symfile *sf = symfile_open(path, path, prefix);

	free(prefix);
	free(path);
	return sf;
}

static FILE *
output_of(const char *command)
{
	char *all = xasprintf("cd %s && %s", dir, command);
	FILE *in = popen(all, "r");

	free(all);
	if (!in)
		exit(99);
	return in;
}

/* The nth address nm gives to a name in the whole program; 0: none. */
static uint64_t
nm_address(const char *name, unsigned n)
{
	char *command = xasprintf("nm -n whole | grep ' %s$'", name);
	FILE *in = output_of(command);
	unsigned long long addr = 0;
	char line[256];

	do {
		addr = 0;
		if (!fgets(line, sizeof line, in))
			break;
		(void)sscanf(line, "%llx", &addr);	/* 0 is none */
	} while (n-- > 0);
	(void)pclose(in);
	free(command);
	return addr;
}

static void
named_at(struct symfile *sf, const char *wanted, unsigned n, const char *shown)
{
	const uint64_t addr = nm_address(wanted, n);
	struct symbol sym = { .name = "nothing" };

	if (addr && symfile_find(sf, addr, &sym) &&
	    strcmp(sym.name, shown) == 0 && sym.start == addr)
		return;
	printf("wrong: %s at %#llx is %s from %#llx, not %s\n", wanted,
	       (unsigned long long)addr, sym.name,
	       (unsigned long long)sym.start, shown);
	failures++;
}

static void
labels(struct symfile *sf)
{
	struct symbol sym;
	const uint64_t bare = nm_address("bare", 0);

	named_at(sf, "bare", 0, "bare");
	named_at(sf, "bare_two", 0, "bare_two");
	named_at(sf, "framed", 0, "framed");
	check(symfile_find(sf, bare + 3, &sym) && sym.start == bare &&
	      sym.size == 4, "a label inside is no function");
	check(symfile_find(sf, nm_address("framed", 0), &sym) &&
	      sym.size == 4, "a function without size ends with its entry");
	check(symfile_find(sf, nm_address("_start", 0), &sym) &&
	      strcmp(sym.name, "_start") == 0, "_start");
}

static void
all_names(struct symfile *sf)
{
	struct symbol sym, second;

	named_at(sf, "m_real", 0, "z_alias");
	named_at(sf, "hidden", 0, "hidden");
	named_at(sf, "twin", 0, "twin");
	named_at(sf, "twin", 1, "twin");
	named_at(sf, "plus", 0, "plus");
	named_at(sf, "chosen", 0, "chosen [resolver]");
	labels(sf);
	check(symfile_named(sf, "twin", 0, &sym) &&
	      symfile_named(sf, "twin", 1, &second) &&
	      sym.start < second.start, "two functions of one name");
	check(!symfile_named(sf, "twin", 2, &sym), "a third one");
	check(symfile_named(sf, "a_alias", 0, &sym) &&
	      strcmp(sym.name, "a_alias") == 0 &&
	      sym.start == nm_address("m_real", 0), "found by an alias");
	check(!symfile_named(sf, "nowhere", 0, &sym), "no such name");
	check(!symfile_find(sf, 1, &sym), "the ELF header is no function");
}

static void
aliases(struct symfile *sf)
{
	const char *const *names =
		symfile_aliases(sf, nm_address("m_real", 0));
	static const char *const truth[] = {
		"z_alias", "m_real", "a_alias", "zz_local", NULL,
	};

	for (size_t i = 0; i < ARRAY_LEN(truth); i++) {
		check(names[i] ? truth[i] && !strcmp(names[i], truth[i]) :
		      !truth[i], "the aliases of m_real");
		if (!names[i] || !truth[i])
			break;
	}
	check(!*symfile_aliases(sf, 3), "aliases of nothing");
}

static bool
count(void *arg, const struct symbol *sym)
{
	size_t *n = arg;

	check(!sym->is_static && !sym->is_plt && *sym->name, "each name");
	return ++*n != 5;
}

static void
whole_program(void)
{
	struct symfile *sf = open_in("whole", "");
	size_t n = 0;

	all_names(sf);
	aliases(sf);
	symfile_each(sf, count, &n);
	check(n == 5, "a visit that is stopped");
	symfile_each(sf, count, &n);
	check(n > 15, "a visit that is not");
	check(symfile_source(sf) == SYMFILE_SYMTAB, "source: .symtab");
	check(!symfile_trouble(sf), "no trouble");
	symfile_free(sf);
}

/* Every stub section readelf knows is one function that is_plt. */
static void
stubs(const char *name)
{
	struct symfile *sf = open_in(name, "");
	char *command = xasprintf("readelf -SW %s | sed -n"
				  " 's/.* \\.plt[a-z.]* *[A-Z]* *//p'", name);
	FILE *in = output_of(command);
	unsigned long long addr, size;
	char line[256];
	int n = 0;

	for (; fgets(line, sizeof line, in); n++) {
		struct symbol sym;

		check(sscanf(line, "%llx %*x %llx", &addr, &size) == 2 &&
		      symfile_find(sf, addr, &sym) && sym.is_plt &&
		      symfile_find(sf, addr + size - 1, &sym) && sym.is_plt &&
		      sym.start == addr && sym.size == size, "a stub");
	}
	check(n > 0, "no stubs to look at");
	(void)pclose(in);
	free(command);
	symfile_free(sf);
}

static void
static_at(struct symfile *sf, const char *wanted, unsigned n)
{
	char name[64];
	struct symbol sym;

	snprintf(name, sizeof name, "<static>@0x%llx",
		 (unsigned long long)nm_address(wanted, n));
	named_at(sf, wanted, n, name);
	check(symfile_named(sf, name, 0, &sym) && sym.is_static &&
	      sym.start == nm_address(wanted, n), "a <static> by its name");
}

/* Between the end of a function and the start of the next: no function. */
static void
padding(struct symfile *sf)
{
	FILE *in = output_of("nm -nS whole | grep -i ' t '");
	unsigned long long addr, size, end = 0;
	char line[256], name[256];
	struct symbol sym;
	int n = 0;

	while (fgets(line, sizeof line, in)) {
		if (sscanf(line, "%llx %llx %*c %255s", &addr, &size, name)
		    != 3) {
			end = 0;
			continue;
		}
		if (end && addr > end && addr - end < 16) {
			check(!symfile_find(sf, addr - 1, &sym), "padding");
			n++;
		}
		end = addr + size;
	}
	check(n > 0, "no padding to look at");
	(void)pclose(in);
}

/* Code of assembly that nothing is known about: one stretch, from the end of
 * the function before. */
static void
gap(struct symfile *sf)
{
	struct symbol at, behind;
	const uint64_t bare = nm_address("bare", 0);
	char name[64];

	check(symfile_gap(sf, bare, &at) && at.is_static && at.start <= bare &&
	      at.start > bare - 16, "where the gap begins");
	check(symfile_gap(sf, nm_address("bare_two", 0) + 3, &behind) &&
	      behind.start == at.start && behind.size == at.size &&
	      at.start + at.size == nm_address("framed", 0), "one gap");
	snprintf(name, sizeof name, "<static>@0x%llx",
		 (unsigned long long)at.start);
	check(strcmp(at.name, name) == 0, "the name of a gap");
	check(!symfile_gap(sf, nm_address("hidden", 0), &at), "no gap");
	check(!symfile_gap(sf, 1, &at), "a gap in the ELF header");
}

static void
stripped_program(void)
{
	run("strip -o bare_bones whole");

	struct symfile *sf = open_in("bare_bones", "");

	static_at(sf, "hidden", 0);
	static_at(sf, "twin", 0);
	static_at(sf, "twin", 1);
	static_at(sf, "plus", 0);
	static_at(sf, "framed", 0);
	padding(sf);
	gap(sf);
	check(symfile_source(sf) == SYMFILE_NONE ||
	      symfile_source(sf) == SYMFILE_DYNSYM, "source: next to nothing");
	check(symfile_trouble(sf) &&
	      strstr(symfile_trouble(sf), "no full symbols") &&
	      strstr(symfile_trouble(sf), "DEBUGINFOD_URLS"),
	      "trouble says what to do");
	symfile_free(sf);

	/* exported names stay, the static ones between them do not */
	run("strip -o exported_bones exported");
	run("mv whole kept && cp exported whole");
	sf = open_in("exported_bones", "");
	named_at(sf, "m_real", 0, "z_alias");
	named_at(sf, "other", 0, "other");
	static_at(sf, "hidden", 0);
	static_at(sf, "twin", 1);
	check(symfile_source(sf) == SYMFILE_DYNSYM, "source: .dynsym");
	symfile_free(sf);
	run("mv kept whole");
}

/* ---- lines -------------------------------------------------------------- */

/* "FILE:LINE..." of addr2line; false for its "??". */
static bool
parse_place(char *text, int *line)
{
	char *blank = strchr(text, ' ');

	if (blank)
		*blank = '\0';

	char *colon = strrchr(text, ':');

	if (!colon || text[0] == '?')
		return false;
	*line = atoi(colon + 1);
	*colon = '\0';
	return *line > 0;
}

static char *
real_path(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : xstrdup(path);
}

static bool
same_place(struct symfile *sf, uint64_t addr, char *text)
{
	const char *file = "";
	int line = 0, truth = 0;
	const bool is = symfile_line(sf, addr, &file, &line);

	text[strcspn(text, "\n")] = '\0';
	if (!parse_place(text, &truth))
		return !is;
	if (!is || file[0] != '/')
		return false;

	char *a = real_path(file), *b = real_path(text);
	const bool same = strcmp(a, b) == 0 && line == truth;

	free(a);
	free(b);
	return same;
}

/*
 * Every third byte of .text, against the addr2line of binutils, which shares
 * no code with libdw. (That of elfutils 0.188 knows nothing where a compiler
 * writes no .debug_aranges.)
 */
static void
compare_lines(const char *name)
{
	char *command = xasprintf(
		"readelf -SW %s | sed -n 's/.* \\.text *PROGBITS *//p' |"
		" while read a o s r; do for i in $(seq 0 3 $((0x$s)));"
		" do printf '0x%%x\\n' $((0x$a + i)); done; done >addresses;"
		" addr2line -e %s <addresses | paste addresses -", name, name);
	FILE *in = output_of(command);
	struct symfile *sf = open_in(name, "");
	char *line = NULL;
	size_t cap = 0;
	int n = 0, differ = 0, known = 0;

	while (getline(&line, &cap, in) > 0) {
		char *tab = strchr(line, '\t');

		if (!tab)
			continue;
		n++;
		known += tab[1] != '?';
		if (same_place(sf, strtoull(line, NULL, 16), tab + 1))
			continue;
		if (differ++ < 5)
			printf("differs: %s %s\n", name, line);
	}
	printf("%s: %d of %d places known, %d differ\n", name, known, n,
	       differ);
	check(n > 50 && known > 30, "enough places to compare");
	check(differ == 0, "lines as addr2line has them");
	(void)pclose(in);
	free(line);
	free(command);
	symfile_free(sf);
}

static void
lines_of(const char *how, const char *name)
{
	char *command = xasprintf("%s -O2 -Iinc sub/a.c b.c s.s -o %s", how,
				  name);

	if (try_run(command))
		compare_lines(name);
	else
		printf("cannot compile: %s\n", command);
	free(command);
}

/* ---- debug information elsewhere ---------------------------------------- */

static void
read_as(const char *name, const char *root, enum symfile_source source,
	const char *what)
{
	struct symbol_server *server = symbol_server_new(NULL, NULL);
	struct symfile *sf = open_in(name, root);
	const char *file;
	int line;

	symfile_ask(sf, server);
	if (symfile_source(sf) != source) {
		printf("wrong: %s: source %d, not %d\n", what,
		       symfile_source(sf), source);
		failures++;
	} else if (source == SYMFILE_DEBUGFILE ||
		   source == SYMFILE_DEBUGINFOD) {
		all_names(sf);
		check(symfile_line(sf, nm_address("hidden", 0), &file,
				   &line) && line >= 7 && line <= 10 &&
		      str_ends(file, "/sub/a.c"), what);
	}
	symfile_free(sf);
	symbol_server_free(server);
}

static void
by_link(void)
{
	run("cc -O2 -g -Wl,--build-id=none -Iinc sub/a.c b.c s.s -o whole");
	run("mkdir -p l/.debug && objcopy --only-keep-debug whole l/p.debug");
	run("strip -o l/p whole && objcopy --add-gnu-debuglink=l/p.debug l/p");
	read_as("l/p", "", SYMFILE_DEBUGFILE, "link, same directory");
	run("mv l/p.debug l/.debug/p.debug");
	read_as("l/p", "", SYMFILE_DEBUGFILE, "link, .debug");
	run("mkdir -p root$PWD/l && cp l/.debug/p.debug root$PWD/l/");
	run("printf x >>l/.debug/p.debug");
	read_as("l/p", "", SYMFILE_NONE, "link, wrong checksum");
	read_as("l/p", "root", SYMFILE_DEBUGFILE, "link, under a root");
	run("mkdir -p g/usr/lib/debug$PWD/l &&"
	    " mv root$PWD/l/p.debug g/usr/lib/debug$PWD/l/");
	read_as("l/p", "g", SYMFILE_DEBUGFILE, "link, global directory");
}

static void
by_build_id(void)
{
	run("cc -O2 -g -Wl,--build-id=0xabcdef0123456789 -Iinc sub/a.c b.c s.s"
	    " -o whole");
	run("objcopy --only-keep-debug whole i.debug && strip -o i whole");
	run("mkdir -p r/usr/lib/debug/.build-id/ab &&"
	    " cp i.debug r/usr/lib/debug/.build-id/ab/cdef0123456789.debug");
	read_as("i", "r", SYMFILE_DEBUGFILE, "build-id, under a root");

	struct symfile *sf = open_in("i", "");

	check(strcmp(symfile_build_id(sf), "abcdef0123456789") == 0,
	      "the build-id");
	symfile_free(sf);
	run("cc -O2 -g -Wl,--build-id=0xabcdef0123456780 -Iinc sub/a.c b.c s.s"
	    " -o another && objcopy --only-keep-debug another"
	    " r/usr/lib/debug/.build-id/ab/cdef0123456789.debug");
	read_as("i", "r", SYMFILE_NONE, "another build's debug file");
}

/* The client reads file: addresses as well, so no server is needed. */
static void
by_debuginfod(void)
{
	char *urls = xasprintf("file://%s/srv", dir);
	char *cache = xasprintf("%s/cache", dir);
	void *client = dlopen("libdebuginfod.so.1", RTLD_LAZY);

	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	read_as("i", "", SYMFILE_NONE, "debuginfod, not asked for");
	check(access(cache, F_OK) != 0, "debuginfod was asked");
	if (client) {
		run("mkdir -p srv/buildid/abcdef0123456789 && cp i.debug"
		    " srv/buildid/abcdef0123456789/debuginfo");
		setenv("DEBUGINFOD_URLS", urls, 1);
		read_as("i", "", SYMFILE_DEBUGINFOD, "debuginfod");
		dlclose(client);
	} else {
		printf("no debuginfod client: not tried\n");
	}
	unsetenv("DEBUGINFOD_URLS");
	free(urls);
	free(cache);
}

static void
by_mini(void)
{
	if (!try_run("command -v xz")) {
		printf("no xz: mini debug data not tried\n");
		return;
	}
	run("nm whole --format=posix --defined-only |"
	    " awk '$2 ~ /[Tt]/ { print $1 }' >keep");
	run("objcopy --only-keep-debug whole m.debug &&"
	    " objcopy -S --keep-symbols=keep m.debug mini && xz -k mini &&"
	    " strip -o m whole &&"
	    " objcopy --add-section .gnu_debugdata=mini.xz m");

	struct symfile *sf = open_in("m", "");

	check(symfile_source(sf) == SYMFILE_MINIDEBUG, "source: mini");
	named_at(sf, "hidden", 0, "hidden");
	named_at(sf, "twin", 1, "twin");
	check(!symfile_trouble(sf), "mini debug data is no trouble");
	symfile_free(sf);
	run("head -c 100 mini.xz >torn.xz && strip -o t whole &&"
	    " objcopy --add-section .gnu_debugdata=torn.xz t");
	read_as("t", "", SYMFILE_NONE, "torn mini debug data");
}

/* ---- other compilers and languages -------------------------------------- */

static void
cxx_names(void)
{
	static const char text[] =
		"namespace ns { struct S { int __attribute__((noipa))"
		" f(int x) { return x * y; } int y; };\n"
		"int __attribute__((noipa)) f(int x) { return x + 1; }\n"
		"int __attribute__((noipa)) f(long x) { return x + 2; } }\n"
		"int main(int c, char **) { ns::S s{c}; return s.f(c) +"
		" ns::f(c) + ns::f(long(c)); }\n";
	struct symbol sym, second;

	write_file("x.cc", text, sizeof text - 1);
	if (!try_run("c++ -O2 -g x.cc -o x")) {
		printf("no C++ compiler: not tried\n");
		return;
	}

	struct symfile *sf = open_in("x", "");

	check(symfile_named(sf, "ns::f(long)", 0, &sym) &&
	      strcmp(sym.name, "_ZN2ns1fEl") == 0, "C++ long name");
	check(symfile_named(sf, "ns::f", 0, &sym) &&
	      symfile_named(sf, "ns::f", 1, &second) &&
	      sym.start != second.start, "C++ short name, overloaded");
	check(!symfile_named(sf, "ns::f", 2, &sym), "C++ third overload");
	check(symfile_named(sf, "ns::S::f", 0, &sym), "C++ member");
	check(symfile_named(sf, "_ZN2ns1fEi", 0, &sym), "C++ linkage name");
	symfile_free(sf);
}

/* ---- what cannot be read ------------------------------------------------ */

static void
says(const char *name, const char *why)
{
	struct symfile *sf = open_in(name, "");
	const char *trouble = symfile_trouble(sf), *file;
	struct symbol sym;
	int line;

	if (!trouble || !strstr(trouble, why) || !strstr(trouble, name) ||
	    strchr(trouble, '\n')) {
		printf("wrong: trouble of %s: %s, not %s\n", name,
		       trouble ? trouble : "none", why);
		failures++;
	}
	(void)symfile_find(sf, 0x1000, &sym);
	(void)symfile_line(sf, 0x1000, &file, &line);
	check(*symfile_build_id(sf) || symfile_vaddr(sf, 7) == 7, name);
	symfile_free(sf);
}

static void
unreadable(void)
{
	says("absent", "No such file");
	says("b.c", "not an ELF file");
	says("sub", "not a regular file");
	run("mkfifo fifo && : >empty");
	says("fifo", "not a regular file");
	says("empty", "not an ELF file");
	run("cp whole narrow &&"
	    " printf '\\001' | dd of=narrow bs=1 seek=4 conv=notrunc");
	says("narrow", "32-bit");
	run("head -c 6000 whole >short");
	says("short", "truncated");
	run("head -c 30 whole >shorter");
	says("shorter", "ELF file");
	run("cc -c b.c -Iinc -o b.o");
	says("b.o", "neither a program nor a shared library");
}

/* A file that shrinks while it is open is a failed read, not a signal. */
static void
shrinking(void)
{
	char *path = xasprintf("%s/shrinks", dir);
	const char *file;
	struct symbol sym;
	int line;

	for (int when = 0; when < 3; when++) {
		run("cp whole shrinks");

		struct symfile *sf = symfile_open(path, path, "");
		const uint64_t at = nm_address("hidden", 0);

		if (when > 0)
			check(symfile_find(sf, at, &sym), "before it shrinks");
		if (when > 1)
			check(symfile_line(sf, at, &file, &line), "its line");
		if (truncate(path, 100) < 0)
			exit(99);
		check(symfile_find(sf, at, &sym) == (when > 0),
		      "after it has shrunk");
		check(symfile_line(sf, at, &file, &line) == (when > 1),
		      "the line after it has shrunk");
		(void)symfile_named(sf, "twin", 0, &sym);
		(void)symfile_trouble(sf);
		symfile_free(sf);
	}
	free(path);
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
	unsetenv("DEBUGINFOD_URLS");
	if (!mkdtemp(dir) || atexit(clean_up) != 0) {
		perror("scratch directory");
		return 99;
	}
	if (!try_run("for t in cc nm strip objcopy readelf addr2line; do"
		     " command -v $t; done")) {
		printf("skip: needs cc and binutils\n");
		return 77;
	}
	write_sources();
	run("cc -O2 -g -Iinc sub/a.c b.c s.s -o whole");
	run("cc -O2 -g -rdynamic -Iinc sub/a.c b.c s.s -o exported");
	whole_program();
	stubs("whole");
	stubs("exported");
	stripped_program();
	lines_of("cc -gdwarf-5", "d5");
	lines_of("cc -gdwarf-4", "d4");
	lines_of("cc -gdwarf-5 -gz", "dz");
	lines_of("cc -gdwarf-4 -gz=zlib-gnu", "dg");
	lines_of("clang -gdwarf-5", "dc");
	unreadable();
	shrinking();
	by_link();
	by_build_id();
	by_debuginfod();
	by_mini();
	cxx_names();
	return failures ? 1 : 0;
}
