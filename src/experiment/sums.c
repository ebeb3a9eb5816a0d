/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * archives/xxh64: what the copies were when they were made, a line each, as
 * `xxh64sum` prints and `xxh64sum -c` reads: names with a backslash or a
 * newline have these as \\ and \n, and a backslash before the line. Copies of
 * gprofng have no such line: nobody can say whether they changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "sums.h"

enum { LINES_MAX = 10000 };	/* of copies that are looked for */

static const char sums_name[] = "xxh64";

/* "HEX  NAME\n" */
static char *
line_of(const struct checksum *sum, const char *name)
{
	const bool odd = strpbrk(name, "\\\n\r");
	struct str out = { 0 };

	str_addf(&out, "%s%016llx  ", odd ? "\\" : "",
		 (unsigned long long)checksum_end(sum));
	for (; *name; name++)
		if (*name == '\\')
			str_add(&out, "\\\\");
		else if (*name == '\n' || *name == '\r')
			str_add(&out, *name == '\n' ? "\\n" : "\\r");
		else
			str_addf(&out, "%c", *name);
	str_add(&out, "\n");
	return str_take(&out);
}

int
sums_add(int dir_fd, const char *name, const struct checksum *sum)
{
	const int fd = openat(dir_fd, sums_name, O_WRONLY | O_CREAT |
			      O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
			      O_NOCTTY, 0666);
	char *line = line_of(sum, name);
	int r = fd < 0 ? -1 : write_all(fd, line, strlen(line));

	if (fd >= 0 && close(fd) < 0)
		r = -1;
	free(line);
	return r;
}

/* The line of a name, up to its sum; NULL: there is none. The last one holds:
 * a copy may have been made again. */
static const char *
find_line(const char *text, const char *name)
{
	const struct checksum none = { 0 };
	char *line = line_of(&none, name);
	const size_t mark = line[0] == '\\';
	const char *tail = line + mark + 16, *found = NULL;
	const size_t n = strlen(tail);

	for (const char *at = text; *at; at++) {
		const char *end = strchr(at, '\n');

		if (!end)
			break;
		if ((size_t)(end + 1 - at) == mark + 16 + n &&
		    (at[0] == '\\') == (mark == 1) &&
		    memcmp(at + mark + 16, tail, n) == 0)
			found = at + mark;
		at = end;
	}
	free(line);
	return found;
}

static bool
is_as_said(int dir_fd, const char *name, const char *said)
{
	struct checksum sum = { 0 };
	const int fd = file_open_plain(dir_fd, name);
	const off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	char text[24];
	const bool read = size >= 0 &&
		!file_is_hollow(fd) &&
		checksum_file(&sum, fd, (uint64_t)size) == 0;

	if (fd >= 0)
		close(fd);
	(void)snprintf(text, sizeof text, "%016llx",
		       (unsigned long long)checksum_end(&sum));
	return read && memcmp(text, said, 16) == 0;
}

/* The name of a line, up to its end; the caller frees it. NULL: it is no line
 * of ours. */
static char *
name_of(const char *line, const char *end)
{
	const size_t mark = *line == '\\';
	struct str name = { 0 };

	if ((size_t)(end - line) <= mark + 18 ||
	    strspn(line + mark, "0123456789abcdef") != 16 ||
	    strncmp(line + mark + 16, "  ", 2) != 0)
		return NULL;
	for (line += mark + 18; line < end; line++)
		if (*line != '\\' || !mark || line + 1 == end)
			str_addn(&name, line, 1);
		else if (*++line == 'n' || *line == 'r')
			str_add(&name, *line == 'n' ? "\n" : "\r");
		else
			str_addn(&name, line, 1);
	return str_take(&name);
}

static void
check_there(const struct experiment_reader *rd, int dir_fd, const char *name)
{
	char *file = xasprintf("archives/%s", name);
	struct stat st;

	if (strchr(name, '/') || fstatat(dir_fd, name, &st,
					 AT_SYMLINK_NOFOLLOW) < 0)
		reader_damage(rd, file, "the copy of a load object is missing");
	else if (!S_ISREG(st.st_mode))
		reader_damage(rd, file, "it is not a file");
	free(file);
}

void
sums_check_there(const struct experiment_reader *rd)
{
	const int fd = openat(rd->dir_fd, "archives", O_RDONLY | O_DIRECTORY |
			      O_NOFOLLOW | O_CLOEXEC);
	char *text = fd < 0 ? NULL : file_read_plain(fd, sums_name, NULL);
	const char *at = text, *end;
	unsigned lines = 0;

	for (; at && (end = strchr(at, '\n')) && lines < LINES_MAX; lines++) {
		char *name = name_of(at, end);

		if (name)
			check_there(rd, fd, name);
		free(name);
		at = end + 1;
	}
	free(text);
	if (fd >= 0)
		close(fd);
}

bool
experiment_archived_sound(const struct experiment_reader *rd,
			  const char *founder, const char *path)
{
	char *dir = xasprintf("%s/archives", founder);
	char *name = experiment_archived_name(path);
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			    O_CLOEXEC);
	char *text = fd < 0 ? NULL : file_read_plain(fd, sums_name, NULL);
	const char *said = text ? find_line(text, name) : NULL;
	const bool sound = !said || is_as_said(fd, name, said);

	if (!sound) {
		char *file = xasprintf("archives/%s", name);

		reader_damage(rd, file, "the copy of %s is not what was "
			      "copied, and is not used", path);
		free(file);
	}
	if (fd >= 0)
		close(fd);
	free(text);
	free(name);
	free(dir);
	return sound;
}
