/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is mapped where, from the text of /proc/PID/maps alone. The tracer
 * process uses this file: it reads no ELF file and believes nothing.
 *
 * A text is taken whole or not at all: one line that makes no sense means
 * the read was torn, and the caller reads again. Until then the old list
 * stays.
 *
 * The kernel writes a newline in a path as \012 and leaves a backslash
 * alone, so a path with a backslash and three octal digits is ambiguous: it
 * is decoded. In the text of target_maps a backslash is \134, so that there is
 * no doubt.
 */
#include "base.h"
#include "symbol.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

size_t
module_path_length(const char *path, size_t len)
{
	static const char mark[] = " (deleted)";
	const size_t n = sizeof mark - 1;

	return len > n && *path == '/' &&
		memcmp(path + len - n, mark, n) == 0 ? len - n : len;
}

static int
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* One number and the character behind it; false when either is not there. */
static bool
take_number(const char **at, unsigned base, char end, uint64_t *out)
{
	const char *p = *at;
	uint64_t value = 0;

	for (; (unsigned)digit_value(*p) < base; p++) {
		if (value > (UINT64_MAX - (base - 1)) / base)
			return false;
		value = value * base + (unsigned)digit_value(*p);
	}
	if (p == *at || *p != end)
		return false;
	*at = p + 1;
	*out = value;
	return true;
}

static bool
take_letter(const char **at, char set, unsigned bit, unsigned *prot)
{
	const char c = **at;

	if (c != set && c != '-')
		return false;
	if (c == set)
		*prot |= bit;
	++*at;
	return true;
}

static bool
take_prot(const char **at, unsigned *prot)
{
	*prot = 0;
	if (!take_letter(at, 'r', MODULE_READ, prot) ||
	    !take_letter(at, 'w', MODULE_WRITE, prot) ||
	    !take_letter(at, 'x', MODULE_EXEC, prot))
		return false;
	if ((*at)[0] != 'p' && (*at)[0] != 's')
		return false;
	if ((*at)[1] != ' ')
		return false;
	*at += 2;
	return true;
}

static bool
is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static char *
decode_path(const char *p, size_t n)
{
	char *path = xmalloc(n + 1);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		const bool escape = p[i] == '\\' && n - i >= 4 &&
			p[i + 1] >= '0' && p[i + 1] <= '3' &&
			is_octal(p[i + 2]) && is_octal(p[i + 3]) &&
			memcmp(p + i + 1, "000", 3) != 0;

		if (!escape) {
			path[len++] = p[i];
			continue;
		}
		path[len++] = (char)((p[i + 1] - '0') << 6 |
				     (p[i + 2] - '0') << 3 | (p[i + 3] - '0'));
		i += 3;
	}
	path[len] = '\0';
	return path;
}

static bool
parse_line(const char *line, size_t n, struct module *mod)
{
	const char *p = line;
	uint64_t major, minor;

	if (!take_number(&p, 16, '-', &mod->start) ||
	    !take_number(&p, 16, ' ', &mod->end) ||
	    !take_prot(&p, &mod->prot) ||
	    !take_number(&p, 16, ' ', &mod->offset) ||
	    !take_number(&p, 16, ':', &major) ||
	    !take_number(&p, 16, ' ', &minor) ||
	    major > UINT32_MAX || minor > UINT32_MAX ||
	    mod->start >= mod->end)
		return false;
	/* a line without a path may or may not have a blank at its end */
	if (!take_number(&p, 10, ' ', &mod->inode) &&
	    !take_number(&p, 10, '\n', &mod->inode))
		return false;
	mod->device = makedev((unsigned)major, (unsigned)minor);

	const char *end = line + n;

	while (p < end && *p == ' ')
		p++;
	if (p > end)
		p = end;

	const size_t len = module_path_length(p, (size_t)(end - p));

	mod->deleted = len < (size_t)(end - p);
	mod->path = decode_path(p, len);
	return true;
}

static int
by_start(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The kernel sorts; other sources of the same text may not. */
static void
sort_modules(struct modules *mods)
{
	for (size_t i = 1; i < mods->len; i++) {
		if (mods->items[i - 1].start <= mods->items[i].start)
			continue;
		qsort(mods->items, mods->len, sizeof *mods->items, by_start);
		return;
	}
}

int
modules_parse(struct modules *mods, const char *maps_text)
{
	struct modules fresh = {0};

	for (const char *line = maps_text; *line; ) {
		const char *end = strchr(line, '\n');
		struct module mod = {0};

		if (!end || !parse_line(line, (size_t)(end - line), &mod)) {
			modules_fini(&fresh);
			return fail(FAIL_GENERAL,
				    "memory map: line makes no sense: %.*s",
				    (int)strnlen(line, end ?
						 (size_t)(end - line) : 80),
				    line);
		}
		fresh.items = xgrow(fresh.items, &fresh.cap, fresh.len + 1,
				    sizeof *fresh.items);
		fresh.items[fresh.len++] = mod;
		line = end + 1;
	}
	sort_modules(&fresh);
	modules_fini(mods);
	*mods = fresh;
	return 0;
}

void
modules_fini(struct modules *mods)
{
	for (size_t i = 0; i < mods->len; i++)
		free(mods->items[i].path);
	free(mods->items);
	*mods = (struct modules){0};
}

const struct module *
modules_find(const struct modules *mods, uint64_t addr)
{
	size_t low = 0, high = mods->len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (mods->items[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || addr >= mods->items[low - 1].end)
		return NULL;
	return &mods->items[low - 1];
}
