/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one failure of this process: kind, reason, remedy. Rooms record, the
 * shell prints. A later failure replaces an earlier one; fail_in adds context
 * on the way up.
 */
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
	enum fail_kind kind;
	char *reason, *remedy;
} last;

static void
set(enum fail_kind kind, char *reason)
{
	free(last.reason);
	free(last.remedy);
	last.kind = kind;
	last.reason = reason;
	last.remedy = NULL;
}

static enum fail_kind
kind_of_errno(int error)
{
	switch (error) {
	case ESRCH:
	case ENOENT:
		return FAIL_MISSING;
	case EPERM:
	case EACCES:
		return FAIL_DENIED;
	default:
		return FAIL_GENERAL;
	}
}

int
fail(enum fail_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *reason = xvasprintf(fmt, ap);
	va_end(ap);
	set(kind, reason);
	return -1;
}

int
fail_errno(const char *fmt, ...)
{
	const int error = errno;
	va_list ap;

	va_start(ap, fmt);
	char *what = xvasprintf(fmt, ap);
	va_end(ap);
	set(kind_of_errno(error), xasprintf("%s: %s", what, strerror(error)));
	free(what);
	errno = error;
	return -1;
}

int
fail_in(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *words = xvasprintf(fmt, ap);
	va_end(ap);
	char *reason = xasprintf("%s: %s", words, fail_last()->reason);
	free(words);
	free(last.reason);
	last.reason = reason;
	if (last.kind == FAIL_NONE)
		last.kind = FAIL_GENERAL;
	return -1;
}

int
fail_remedy(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(last.remedy);
	last.remedy = xvasprintf(fmt, ap);
	va_end(ap);
	return -1;
}

const struct failure *
fail_last(void)
{
	static struct failure view;

	view.kind = last.kind;
	view.reason = last.reason ? last.reason : "no failure was recorded";
	view.remedy = last.remedy ? last.remedy : "";
	return &view;
}

void
fail_clear(void)
{
	set(FAIL_NONE, NULL);
}
