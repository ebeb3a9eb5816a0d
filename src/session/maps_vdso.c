/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The vDSO has no file: its functions are written as dynamic functions.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct vdso_visit {
	struct experiment *exp;
	struct symfile *sf;
	uint64_t time_ns, bias;
};

static bool
write_vdso_function(void *arg, const struct symbol *sym)
{
	const struct vdso_visit *v = arg;
	struct symbol chosen;

	/* of several names at one address readers want one, and the same */
	if (sym->size && symfile_find(v->sf, sym->start, &chosen) &&
	    strcmp(chosen.name, sym->name) == 0)
		experiment_function(v->exp, v->time_ns,
				    v->bias + sym->start, sym->size, sym->name);
	return true;
}

void
maps_tell_vdso(struct experiment *exp, struct target *t, uint64_t time_ns,
	       const struct module *mod)
{
	const size_t size = mod->end - mod->start;
	unsigned char *image = xmalloc(size);

	if (target_read(t, mod->start, image, size) == 0) {
		struct symfile *sf = symfile_memory(image, size, "[vdso]");
		struct vdso_visit v = { exp, sf, time_ns, mod->start };

		symfile_each(sf, write_vdso_function, &v);
		symfile_free(sf);
	}
	free(image);
}
