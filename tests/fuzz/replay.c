/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay FILE-OR-DIRECTORY...: feed a harness what is in the files, without a
 * fuzzer. Says how many there were.
 */
#include <dirent.h>

#include "fuzz.h"

static unsigned count;

static void
replay(const char *path)
{
	char *name, *data;
	struct dirent *e;
	DIR *dir = opendir(path);
	size_t size;

	if (!dir) {
		data = file_read(path, &size);
		if (!data)
			fuzz_broken(path);
		(void)LLVMFuzzerTestOneInput((const uint8_t *)data, size);
		free(data);
		count++;
		return;
	}
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		name = xasprintf("%s/%s", path, e->d_name);
		replay(name);
		free(name);
	}
	closedir(dir);
}

int
main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		char *path = realpath(argv[i], NULL);

		if (!path)
			fuzz_broken(argv[i]);
		replay(path);
		free(path);
	}
	printf("%u inputs\n", count);
	return count ? 0 : 99;
}
