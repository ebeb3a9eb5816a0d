/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How wide the columns of a table are as text, and their broken headings.
 */
#ifndef VIEW_LAYOUT_H
#define VIEW_LAYOUT_H

#include "report.h"

enum { LINES = 3, PERCENT_WIDTH = 6 };

struct layout {			/* of one column */
	size_t value_width, width;
	size_t most;		/* of a name on a terminal; 0: any */
	bool is_source;		/* no names, but text of a file */
	bool left_out;		/* the terminal has no room for it */
	char *lines[LINES];
};

/* One for each column; so many of the rows are shown. */
struct layout *layout_new(const struct table *t, size_t rows);
void layout_free(struct layout *lay, const struct table *t);
/* As text has it: a zero has its point where the others have it; snprintf's
 * size rules. */
int layout_value(char *buf, size_t size, const struct column *col,
		 const struct cell *cell);

#endif
