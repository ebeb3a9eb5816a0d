/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files of an experiment are not what was written into them: those that
 * a reader stumbled over, and those whose length or checksum is not the one
 * that our writer wrote down when it closed the experiment. gprofng writes
 * down neither: of its files only the content tells.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "sums.h"

static void
mark_damaged(const struct experiment_reader *rd, const char *name)
{
	for (size_t i = 0; i < rd->damaged->len; i++)
		if (strcmp(rd->damaged->items[i], name) == 0)
			return;
	vec_push(rd->damaged, str_tamed(name));
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

void
experiment_note_damage(const struct experiment_reader *rd, const char *name,
		       const char *what)
{
	reader_damage(rd, name, "%s", what);
}

bool
reader_must_have(const struct experiment_reader *rd)
{
	const char *by = experiment_property(rd, "collector");

	return by && str_starts(by, "sonde") && !rd->exited && !rd->recording;
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

/* NULs behind the end, which file systems leave after a crash, are no records
 * for anybody. */
static bool
may_be_longer(const struct experiment_reader *rd, const char *name,
	      uint64_t size)
{
	enum { NULS_MAX = 1 << 20 };	/* one may be made without end */
	static const unsigned char zeros[4096];
	const uint64_t most = size + NULS_MAX;
	unsigned char buf[sizeof zeros];
	ssize_t n = -1;

	const int fd = file_open_plain(rd->dir_fd, name);

	for (; fd >= 0 && size < most; size += (uint64_t)n) {
		n = pread(fd, buf, sizeof buf, (off_t)size);
		if (n <= 0 || memcmp(buf, zeros, (size_t)n) != 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	return n == 0;
}

/* Behind the size that the log has by its own word: that word itself, the exit,
 * and NULs or newlines. */
static bool
log_ends_there(const struct experiment_reader *rd, uint64_t size)
{
	enum { WORDS_MAX = 4096 };
	char text[WORDS_MAX + 1];
	const int fd = file_open_plain(rd->dir_fd, "log.xml");
	ssize_t n = fd < 0 ? -1 : pread(fd, text, WORDS_MAX, (off_t)size);
	const char *at = text;
	unsigned tags = 0;

	if (fd >= 0)
		close(fd);
	if (n < 0 || (n == WORDS_MAX &&
		      !may_be_longer(rd, "log.xml", size + WORDS_MAX)))
		return false;
	while (n > 0 && (text[n - 1] == '\n' || !text[n - 1]))
		n--;
	text[n] = '\0';
	while ((at = strchr(at, '<')))
		tags += *at++ == '<';
	return !n || (tags <= 2 && text[0] == '<' && text[n - 1] == '>');
}

/* What of an experiment is not a file of the length that it had. */
static bool
has_size(const struct experiment_reader *rd, const char *name, uint64_t size)
{
	struct stat st;
	const bool there = fstatat(rd->dir_fd, name, &st,
				   AT_SYMLINK_NOFOLLOW) == 0;

	if (there && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= size &&
	    ((uint64_t)st.st_size == size || (strcmp(name, "log.xml") == 0 ?
	     log_ends_there(rd, size) : may_be_longer(rd, name, size))))
		return true;
	if (is_warned_of(rd, name))
		mark_damaged(rd, name);
	else if (!there)
		reader_damage(rd, name, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		reader_damage(rd, name, "it is not a file");
	else if ((uint64_t)st.st_size < size)
		reader_damage(rd, name, "it is cut: %llu of %llu bytes are "
			      "there", (unsigned long long)st.st_size,
			      (unsigned long long)size);
	else
		reader_damage(rd, name, "it is %llu bytes longer than when it "
			      "was written",
			      (unsigned long long)st.st_size - size);
	return false;
}

/* The sum is 16 digits; another word never equals it. */
static void
check_sum(const struct experiment_reader *rd, const char *name, uint64_t size,
	  const char *sum)
{
	struct checksum is = { 0 };
	char text[24];
	const int fd = file_open_plain(rd->dir_fd, name);
	const int r = fd < 0 || file_is_hollow(fd) ? -1 :
		checksum_file(&is, fd, size);

	if (fd >= 0)
		close(fd);
	(void)snprintf(text, sizeof text, "%016llx",
		       (unsigned long long)checksum_end(&is));
	if (r == 0 && strcmp(text, sum) == 0)
		return;
	if (is_warned_of(rd, name))
		mark_damaged(rd, name);
	else
		reader_damage(rd, name, "its bytes are not those that were "
			      "written; what it says may be wrong");
}

static void
check_file(const struct experiment_reader *rd, const char *name,
	   const struct experiment_log_event *ev)
{
	const uint64_t size = xml_number(ev->attr(ev, "size"));
	const char *sum = ev->attr(ev, "xxh64");

	if (has_size(rd, name, size) && sum)
		check_sum(rd, name, size, sum);
}

/* Our writer says at the end what its files are, last of its log. */
void
reader_check_files(const struct experiment_reader *rd)
{
	const struct experiment_log_event *last = NULL;

	for (size_t i = 0; i < rd->event_count && !rd->recording; i++) {
		const struct experiment_log_event *ev = &rd->events[i];
		const char *name = strcmp(ev->kind, "sonde_file") ? NULL :
			ev->attr(ev, "name");

		if (!name || strchr(name, '/'))
			continue;
		last = ev;
		if (!said_again(rd, i, name))
			check_file(rd, name, ev);
	}
	if (!rd->recording)
		sums_check_there(rd);
	if (last && experiment_finished(rd) && last->attr(last, "xxh64") &&
	    strcmp(last->attr(last, "name"), "log.xml") != 0)
		reader_damage(rd, "log.xml", "what it says about itself is "
			      "missing");
}
