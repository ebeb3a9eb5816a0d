/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory map: our own, read back by address, and texts with every oddity
 * a path can have, whole and torn.
 *
 * mission: S3 M1
 */
#include "base.h"
#include "symbol.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures;

static void
check(bool truth, const char *what)
{
	if (truth)
		return;
	printf("wrong: %s\n", what);
	failures++;
}

static const char odd_text[] =
	"00400000-00401000 r-xp 00001000 fe:02 77                      /a b\n"
	"00500000-00501000 rw-s 00000000 00:01 9 /x\\040y\\012z (deleted)\n"
	"00600000-00601000 ---p 00000000 00:00 0\n"
	"00700000-00701000 rw-p 00000000 00:00 0 \n"
	"00800000-00801000 rw-p 00000000 00:00 0          [stack]\n"
	"00900000-00901000 r-xp 00000000 00:00 0          [vdso]\n"
	"00a00000-00a01000 rw-p 00000000 00:00 0 [anon: a (deleted)]\n"
	"00b00000-00b01000 r--p 00000000 00:01 5 /memfd:(deleted) (deleted)\n"
	"00c00000-00c01000 r--p 00000000 00:01 5 /back\\slash\\9 \n"
	"00d00000-00d01000 r--p 00000000 00:01 5 /nul\\000\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

static const struct {
	uint64_t addr;
	const char *path;
	unsigned prot;
	bool deleted;
} odd_truth[] = {
	{ 0x400000, "/a b", MODULE_READ | MODULE_EXEC, false },
	{ 0x500fff, "/x y\nz", MODULE_READ | MODULE_WRITE, true },
	{ 0x600000, "", 0, false },
	{ 0x700000, "", MODULE_READ | MODULE_WRITE, false },
	{ 0x800000, "[stack]", MODULE_READ | MODULE_WRITE, false },
	{ 0x900000, "[vdso]", MODULE_READ | MODULE_EXEC, false },
	{ 0xa00000, "[anon: a (deleted)]", MODULE_READ | MODULE_WRITE, false },
	{ 0xb00000, "/memfd:(deleted)", MODULE_READ, true },
	{ 0xc00000, "/back\\slash\\9 ", MODULE_READ, false },
	{ 0xd00000, "/nul\\000", MODULE_READ, false },
	{ 0xffffffffff600000, "[vsyscall]", MODULE_EXEC, false },
};

static void
odd_paths(void)
{
	struct modules mods = {0};

	check(modules_parse(&mods, odd_text) == 0, "odd text is refused");
	check(mods.len == ARRAY_LEN(odd_truth), "number of odd modules");
	for (size_t i = 0; i < ARRAY_LEN(odd_truth); i++) {
		const struct module *mod =
			modules_find(&mods, odd_truth[i].addr);

		if (!mod || strcmp(mod->path, odd_truth[i].path) != 0 ||
		    mod->prot != odd_truth[i].prot ||
		    mod->deleted != odd_truth[i].deleted) {
			printf("wrong: module of %s: %s\n", odd_truth[i].path,
			       mod ? mod->path : "none");
			failures++;
		}
	}
	check(!modules_find(&mods, 0x3fffff), "before the first");
	check(!modules_find(&mods, 0x401000), "an end is exclusive");
	check(!modules_find(&mods, UINT64_MAX), "behind the last");

	const struct module *first = modules_find(&mods, 0x400000);

	check(first && first->offset == 0x1000 && first->inode == 77 &&
	      first->device == 0xfe02, "offset, device and inode");
	modules_fini(&mods);
}

/*
 * Every prefix of a good text that is not a whole number of lines is torn,
 * and a torn text leaves what was known before.
 */
static void
torn_lines(void)
{
	struct modules mods = {0};

	check(modules_parse(&mods, odd_text) == 0, "odd text is refused");
	for (size_t n = 1; n < sizeof odd_text - 1; n++) {
		const bool whole = odd_text[n - 1] == '\n';
		char *part = xstrndup(odd_text, n);
		struct modules some = {0};

		check((modules_parse(&some, part) == 0) == whole,
		      "a torn line passes or a whole one does not");
		modules_fini(&some);
		if (!whole)
			check(modules_parse(&mods, part) < 0, "torn twice");
		free(part);
	}
	check(mods.len == ARRAY_LEN(odd_truth), "a torn text lost the list");
	check(modules_parse(&mods, "") == 0 && mods.len == 0, "empty text");
	modules_fini(&mods);
	modules_fini(&mods);
}

static void
nonsense(void)
{
	static const char *const texts[] = {
		"\n",
		"hello\n",
		"2000-1000 r-xp 0 0:0 0\n",
		"1000-1000 r-xp 0 0:0 0\n",
		"1000-2000 rwxq 0 0:0 0\n",
		"1000-2000 xwrp 0 0:0 0\n",
		"1000-2000 r-xp 0 0:0 zero\n",
		"1000-2000 r-xp 0 0:0\n",
		"1000-2000 r-xp\n",
		"-2000 r-xp 0 0:0 0\n",
		"1000-20000000000000000 r-xp 0 0:0 0\n",
		"1000-2000 r-xp 0 0:0 99999999999999999999 /a\n",
		"1000-2000 r-xp 0 999999999:0 0 /a\n",
	};
	struct modules mods = {0};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (modules_parse(&mods, texts[i]) < 0)
			continue;
		printf("wrong: accepted: %s", texts[i]);
		failures++;
	}
	modules_fini(&mods);
}

static void
unsorted(void)
{
	struct modules mods = {0};

	check(modules_parse(&mods, "3000-4000 r-xp 0 0:0 0 /c\n"
			    "1000-2000 r-xp 0 0:0 0 /a\n") == 0, "unsorted");

	const struct module *mod = modules_find(&mods, 0x1000);

	check(mod && strcmp(mod->path, "/a") == 0, "sorted by start");
	modules_fini(&mods);
}

/* A file whose name has a newline and a blank, mapped here, then removed. */
static void
own_map(void)
{
	char *path = xasprintf("/tmp/symbol-modules %d\n.tmp", (int)getpid());
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || ftruncate(fd, 4096) < 0 || fstat(fd, &st) < 0) {
		perror("scratch file");
		exit(99);
	}

	void *mem = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	for (int deleted = 0; deleted < 2; deleted++) {
		char *text = file_read("/proc/self/maps", NULL);
		struct modules mods = {0};

		check(text && modules_parse(&mods, text) == 0, "own maps");

		const struct module *mod =
			modules_find(&mods, (uintptr_t)mem + 100);

		check(mod && strcmp(mod->path, path) == 0, "own path");
		check(mod && mod->deleted == (deleted == 1), "own deletion");
		check(mod && mod->inode == st.st_ino &&
		      mod->device == st.st_dev, "own inode");
		mod = modules_find(&mods, (uintptr_t)own_map);
		check(mod && (mod->prot & MODULE_EXEC), "own text");
		mod = modules_find(&mods, (uintptr_t)&st);
		check(mod && strcmp(mod->path, "[stack]") == 0, "own stack");
		modules_fini(&mods);
		free(text);
		(void)unlink(path);	/* the second round finds it gone */
	}
	munmap(mem, 4096);
	close(fd);
	free(path);
}

int
main(void)
{
	odd_paths();
	torn_lines();
	nonsense();
	unsorted();
	own_map();
	return failures ? 1 : 0;
}
