/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions by names that are not whole: Shape::area of geo::Shape::area() const,
 * twice of int geo::twice<int>(int).
 */
#include "symfile.h"

#include <stdlib.h>
#include <string.h>

/* geo::twice of geo::twice<int>; the name, cut. */
static void
cut_arguments(char *name)
{
	size_t n = strlen(name);
	int depth = 0;

	if (!n || name[n - 1] != '>' || strstr(name, "operator"))
		return;
	do {
		n--;
		depth += (name[n] == '>') - (name[n] == '<');
	} while (n > 0 && depth > 0);
	name[n] = '\0';
}

bool
name_ends_so(const char *linkage, const char *written)
{
	char *name = name_display(linkage, NAME_SHORT);
	const size_t m = strlen(written);
	size_t n;
	bool ends;

	if (!strchr(written, '<'))
		cut_arguments(name);
	n = strlen(name);
	/* or behind the type that it returns, as templates have it */
	ends = n >= m && strcmp(name + n - m, written) == 0 &&
		(n == m || name[n - m - 1] == ' ' ||
		 (n > m + 2 && name[n - m - 1] == ':' &&
		  name[n - m - 2] == ':'));
	free(name);
	return ends;
}

struct search {
	struct symfile *sf;
	const char *written;	/* with its file, perhaps */
	const char *name, *last;	/* without; behind its last :: */
	struct symbol *found;
	bool any;
};

static bool
take(void *arg, const struct symbol *sym)
{
	struct search *s = arg;

	if (sym->is_plt || !strstr(sym->name, s->last) ||
	    !name_ends_so(sym->name, s->name) ||
	    !symfile_written_here(s->sf, sym->start, s->written))
		return true;
	if (!s->any || sym->start < s->found->start)
		*s->found = *sym;
	s->any = true;
	return true;
}

bool
symfile_ending(struct symfile *sf, const char *written, struct symbol *out)
{
	const char *name = symfile_written_name(written);
	const char *colon = strrchr(name, ':');
	struct search s = { .sf = sf, .written = written, .name = name,
			    .found = out, .last = colon ? colon + 1 : name };

	if (*s.last)
		symfile_each(sf, take, &s);
	return s.any;
}
