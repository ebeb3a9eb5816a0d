/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * data.frameinfo: stacks and their links, of a program of 64 bits and of one
 * of 32.
 */
#include "fuzz-experiment.h"

#define NARROW "narrow.er"

/* The other's log, saying 32. */
static void
make_narrow(void)
{
	static const char wide[] = "wsize=\"64\"";
	size_t size;
	char *log = file_read_at(AT_FDCWD, FUZZ_EXPERIMENT "/log.xml", &size);
	char *at = log ? strstr(log, wide) : NULL;

	if (!at || mkdir(NARROW, 0700) < 0)
		fuzz_broken(NARROW);
	memcpy(at + strlen("wsize=\""), "32", 2);
	fuzz_file(NARROW "/log.xml", log, size);
	free(log);
}

static void
read_narrow(const uint8_t *data, size_t size)
{
	struct experiment_reader *rd;

	fuzz_file(NARROW "/data.frameinfo", data, size);
	fuzz_file(NARROW "/profile", data, size);
	rd = experiment_open(NARROW);
	if (rd)
		fuzz_read(rd);
	experiment_reader_free(rd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_enter()) {
		fuzz_make_experiment();
		make_narrow();
	}
	fuzz_experiment("data.frameinfo", data, size);
	read_narrow(data, size);
	fail_clear();
	return 0;
}
