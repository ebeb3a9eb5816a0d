/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * archives/: map.xml names objects, objects are found, judged by their
 * build-id and copied, and the copies read for names. Up to the first zero
 * byte the fuzzer's bytes are map.xml, from there on the object /lib/l.so
 * below a root of its own.
 */
#include "fuzz-experiment.h"

#include <fcntl.h>
#include <unistd.h>

#define ROOT "root"

static void
forget_copies(void)
{
	char *path = xasprintf("%s/" FUZZ_EXPERIMENT "/archives", fuzz_dir);

	(void)nftw(path, fuzz_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(path);
}

static void
archive_from(const char *root, enum archive_mode mode)
{
	const struct experiment_archiving what = {
		.dir_fd = open(FUZZ_EXPERIMENT, O_RDONLY | O_DIRECTORY |
			       O_CLOEXEC),
		.path = FUZZ_EXPERIMENT, .root = root,
		.owner = getuid(), .group = getgid(),
	};

	if (what.dir_fd < 0)
		fuzz_broken(FUZZ_EXPERIMENT);
	(void)experiment_archive(&what, mode);
	close(what.dir_fd);
}

static void
archive(void)
{
	archive_from(ROOT, ARCHIVE_OFF);
	archive_from(ROOT, ARCHIVE_ON);
	archive_from(ROOT, ARCHIVE_COPY);
	archive_from("/proc/self/root", ARCHIVE_ON);
	fail_clear();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = memchr(data, 0, size);
	const size_t n = zero ? (size_t)(zero - data) : size;

	if (fuzz_enter()) {
		fuzz_make_experiment();
		if (mkdir(ROOT, 0700) < 0 || mkdir(ROOT "/lib", 0700) < 0)
			fuzz_broken(ROOT);
	}
	fuzz_file(FUZZ_EXPERIMENT "/map.xml", data, n);
	if (zero)
		fuzz_file(ROOT "/lib/l.so", zero + 1, size - n - 1);
	archive();
	fuzz_view(FUZZ_EXPERIMENT);
	forget_copies();
	return 0;
}
