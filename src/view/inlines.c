/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether inlined functions are frames. The profile is read again for it: it
 * is a matter of what stacks are made of, not of what is shown of them.
 */
#include "private.h"

#include <string.h>

int
view_inlines(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const bool before = v->inlines;

	if (n == 1) {
		fprintf(out, "inlines %s%s\n", v->inlines ? "on" : "off",
			v->inlines && v->mode == MODE_MACHINE ?
			", but not in viewmode machine" : "");
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	if (strcmp(words[1], "on") && strcmp(words[1], "off")) {
		fail(FAIL_USAGE, "inlines: %s is neither on nor off",
		     words[1]);
		return fail_remedy("inlines on");
	}
	v->inlines = strcmp(words[1], "on") == 0;
	if (viewer_reload(v) == 0)
		return 0;
	v->inlines = before;
	return -1;
}
