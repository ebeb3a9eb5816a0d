/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a command or a statement writes may go elsewhere: > FILE, | PROGRAM;
 * what `read` in it reads comes from < FILE.
 */
#include "private.h"

#include <stdlib.h>

static void
put_back(struct shell *sh, FILE *old)
{
	sh->out = old ? old : sh->main_out;	/* it may be another by now */
}

int
output_begin(struct shell *sh, const struct words *w, struct output *o)
{
	*o = (struct output){ .old = sh->out == sh->main_out ? NULL : sh->out,
			      .old_in = sh->read_from, .path = w->out,
			      .old_piped = sh->piped };
	if (w->pipe && pipe_begin(sh, w->pipe, &o->piped) < 0)
		return -1;
	if (w->in && !(o->in = fopen(w->in, "re")))
		fail_errno("open %s", w->in);
	else
		o->is_open = !w->out ||
			(o->file = file_out(w->out, w->append)) != NULL;
	if (!o->is_open) {
		(void)output_end(sh, o, FAILED);
		return -1;
	}
	if (o->file || o->piped.file)
		sh->out = o->file ? o->file : o->piped.file;
	if (o->piped.file)
		sh->piped = o->piped.file;
	if (o->in)
		sh->read_from = o->in;
	return 0;
}

enum result
output_end(struct shell *sh, struct output *o, enum result r)
{
	put_back(sh, o->old);
	sh->read_from = o->old_in;
	sh->piped = o->old_piped;
	if (o->in)
		(void)fclose(o->in);
	if (o->file) {
		const bool bad = ferror(o->file);

		if ((fclose(o->file) != 0 || bad) &&
		    (r == DONE || r == ANSWERED)) {
			fail_errno("write %s", o->path);
			r = FAILED;
		}
	}
	return o->piped.file ? pipe_end(sh, &o->piped, r) : r;
}

bool
output_is_read(const struct shell *sh)
{
	return sh->out != sh->piped || pipe_has_reader(sh->piped);
}
