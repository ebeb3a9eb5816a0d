/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What takes long says so on the terminal, in a line that is gone when it is
 * done. Nothing of it ever reaches a file.
 */
#include "private.h"

#include <string.h>

void
viewer_set_progress(struct viewer *v, FILE *terminal)
{
	v->progress = terminal;
}

void
progress_tell(void *arg, const char *line)
{
	struct viewer *v = arg;
	const size_t n = line ? strlen(line) : 0;

	if (!v->progress || (!line && !v->progress_len))
		return;
	fprintf(v->progress, "\r%s%*s\r", line ? line : "",
		(int)(v->progress_len > n ? v->progress_len - n : 0), "");
	fflush(v->progress);
	v->progress_len = n;
}
