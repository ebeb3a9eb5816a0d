/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files of an experiment are not what was written into them: those that
 * a reader stumbled over, and those shorter than our writer said at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reader.h"

static void
mark_damaged(const struct experiment_reader *rd, const char *name)
{
	if (rd->recording)
		return;
	for (size_t i = 0; i < rd->damaged->len; i++)
		if (strcmp(rd->damaged->items[i], name) == 0)
			return;
	vec_push(rd->damaged, xstrdup(name));
}

void
reader_damage(const struct experiment_reader *rd, const char *name,
	      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = xvasprintf(fmt, ap);
	va_end(ap);
	reader_warn(rd, "%s: %s", name, text);
	free(text);
	mark_damaged(rd, name);
}

static bool
is_warned_of(const struct experiment_reader *rd, const char *name)
{
	const size_t n = strlen(name);

	for (size_t i = 0; i < rd->warnings->len; i++)
		if (strncmp(rd->warnings->items[i], name, n) == 0 &&
		    ((const char *)rd->warnings->items[i])[n] == ':')
			return true;
	return false;
}

/* The last word of the writer on each of its files is what holds. */
static bool
said_again(const struct experiment_reader *rd, size_t at, const char *name)
{
	for (size_t i = at + 1; i < rd->event_count; i++) {
		const struct experiment_log_event *ev = &rd->events[i];
		const char *other = strcmp(ev->kind, "sonde_file") ? NULL :
			ev->attr(ev, "name");

		if (other && strcmp(name, other) == 0)
			return true;
	}
	return false;
}

static void
check_size(const struct experiment_reader *rd, const char *name, uint64_t size)
{
	struct stat st;
	const bool there = fstatat(rd->dir_fd, name, &st,
				   AT_SYMLINK_NOFOLLOW) == 0;

	if (there && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= size)
		return;
	if (is_warned_of(rd, name))
		mark_damaged(rd, name);
	else if (!there)
		reader_damage(rd, name, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		reader_damage(rd, name, "it is not a file");
	else
		reader_damage(rd, name, "it is cut: %llu of %llu bytes are "
			      "there", (unsigned long long)st.st_size,
			      (unsigned long long)size);
}

/* Our writer says at the end how long its files are. */
void
reader_check_sizes(const struct experiment_reader *rd)
{
	for (size_t i = 0; i < rd->event_count && !rd->recording; i++) {
		const struct experiment_log_event *ev = &rd->events[i];
		const char *name = strcmp(ev->kind, "sonde_file") ? NULL :
			ev->attr(ev, "name");

		if (name && !strchr(name, '/') && !said_again(rd, i, name))
			check_size(rd, name, xml_number(ev->attr(ev, "size")));
	}
}
