/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay [-m N] FILE-OR-DIRECTORY...: feed a harness what is in the files,
 * without a fuzzer, and N damaged ones of each: always the same ones. Says how
 * many files there were.
 */
#include <dirent.h>

#include "fuzz.h"

static unsigned count, damaged;

static uint32_t
any(uint32_t *state, size_t below)
{
	*state = *state * 1664525 + 1013904223;
	return below ? (uint32_t)((*state >> 8) % below) : 0;
}

/* One to eight bytes set, cleared, changed or copied; or the rest is lost. */
static size_t
damage(unsigned char *data, size_t size, uint32_t *state)
{
	unsigned left = 1 + any(state, 8);

	while (size && left--) {
		const size_t at = any(state, size), from = any(state, size);
		const size_t most = size - (at > from ? at : from);

		switch (any(state, 9)) {
		case 0: data[at] = 0xff; break;
		case 1: data[at] = 0; break;
		case 2: data[at]++; break;
		case 3: data[at] ^= 0x80; break;
		case 4: memmove(data + at, data + from, most); break;
		case 5: memset(data + at, 0xff, most < 8 ? most : 8); break;
		case 6: data[at] = (unsigned char)any(state, 256); break;
		case 7: memmove(data + at, data + from, most < 8 ? most : 8);
			break;
		default: return at;
		}
	}
	return size;
}

static void
feed(const unsigned char *data, size_t size)
{
	uint32_t state = (uint32_t)size;
	unsigned char *copy = xmalloc(size + 1);
	unsigned i;

	(void)LLVMFuzzerTestOneInput(data, size);
	for (i = 0; i < damaged; i++) {
		memcpy(copy, data, size);
		(void)LLVMFuzzerTestOneInput(copy, damage(copy, size, &state));
	}
	free(copy);
}

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
		feed((const unsigned char *)data, size);
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
	int i = 1;

	if (argc > 2 && strcmp(argv[1], "-m") == 0) {
		damaged = (unsigned)atoi(argv[2]);
		i = 3;
	}
	for (; i < argc; i++) {
		char *path = realpath(argv[i], NULL);

		if (!path)
			fuzz_broken(argv[i]);
		replay(path);
		free(path);
	}
	printf("%u inputs\n", count);
	return count ? 0 : 99;
}
