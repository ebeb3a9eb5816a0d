/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names: of the next experiment, and of files in archives/.
 *
 * An archived file is called after the file and a hash of its directory, so
 * that two of one name can lie side by side. The hash is a CRC-64 in eleven
 * letters of six bits each, the lowest first.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "experiment.h"

enum { HASH_LETTERS = 11, NAME_LONGEST = 255 };

static uint64_t
crc64(const char *data, size_t n)
{
	const uint64_t polynomial = 0x807;
	uint64_t crc = 0;

	for (size_t i = 0; i < n; i++) {
		crc ^= (uint64_t)(unsigned char)data[i] << 56;
		for (int bit = 0; bit < 8; bit++)
			crc = crc << 1 ^ (crc >> 63 ? polynomial : 0);
	}
	return crc;
}

static void
add_hash(struct str *out, const char *data, size_t n)
{
	static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
	uint64_t crc = crc64(data, n);

	str_add(out, "_");
	for (int i = 0; i < HASH_LETTERS; i++, crc >>= 6)
		str_addn(out, &letters[crc & 63], 1);
}

char *
experiment_archived_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const size_t len = strlen(base), room = NAME_LONGEST -
		(HASH_LETTERS + 1);
	struct str out = { 0 };

	/* too long for two hashes and itself: the second tells it apart */
	str_addn(&out, base, len <= room ? len : room - (HASH_LETTERS + 1));
	if (slash)
		add_hash(&out, path, (size_t)(base - path));
	else
		add_hash(&out, "./", 2);
	if (len > room)
		add_hash(&out, base, len);
	return str_take(&out);
}

/* N of `STEM.N.er`; 0 when the name is another. */
static long long
number_in(const char *name, const char *stem)
{
	const size_t stem_len = strlen(stem), len = strlen(name);
	long long n = 0;

	if (!str_starts(name, stem) || name[stem_len] != '.' ||
	    !str_ends(name, ".er") || len < stem_len + strlen(".N.er"))
		return 0;

	char *digits = xstrndup(name + stem_len + 1,
				len - stem_len - strlen("..er"));

	if (!str_number(digits, 1, INT32_MAX - 1, &n))
		n = 0;
	free(digits);
	return n;
}

char *
experiment_next_name(const char *dir, const char *stem)
{
	DIR *list = opendir(*dir ? dir : ".");
	const struct dirent *ent;
	long long highest = 0;

	/* a directory that cannot be listed: creating will say why */
	while (list && (ent = readdir(list))) {
		const long long n = number_in(ent->d_name, stem);

		if (n > highest)
			highest = n;
	}
	if (list)
		closedir(list);
	return xasprintf("%s.%lld.er", stem, highest + 1);
}
