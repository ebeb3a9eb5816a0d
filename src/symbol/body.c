/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that nobody wrote: bodies that the compiler took out of a function
 * for OpenMP, and those of Fortran functions with several entries. They are
 * named after the function and the line they come from. What kind of region it
 * is stands only in the source; where that cannot be read, it is not said.
 */
#include "symfile.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	PLACES_MAX = 512,	/* looked at for a body's first line */
	REGION_MAX = 400,	/* lines from a directive to its body */
};

/* ---- from line ------------------------------------------------------ */

/* The smallest line of the file that the function begins in; 0: none. */
static int
first_line(struct symfile *sf, uint64_t start, const char **file)
{
	struct symbol sym;
	int first;

	if (!symfile_find(sf, start, &sym) ||
	    !symfile_line(sf, start, file, &first))
		return 0;
	for (uint64_t at = 1; at < sym.size && at < PLACES_MAX; at++) {
		struct symfile_inlined in;
		const char *other;
		int line;

		if (symfile_line(sf, start + at, &other, &line) &&
		    line < first && strcmp(other, *file) == 0 &&
		    symfile_inlines(sf, start + at, &in, 1) == 0)
			first = line;
	}
	return first;
}

/* ---- the directive -------------------------------------------------- */

static const char *
skip_blanks(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

/* Behind `#pragma omp` or `!$omp`, NULL: the line is none. */
static const char *
directive(const char *line)
{
	line = skip_blanks(line);
	if (strncasecmp(line, "!$omp", 5) == 0 ||
	    strncasecmp(line, "c$omp", 5) == 0)
		return skip_blanks(line + 5);
	if (*line != '#')
		return NULL;
	line = skip_blanks(line + 1);
	if (!str_starts(line, "pragma"))
		return NULL;
	line = skip_blanks(line + strlen("pragma"));
	return str_starts(line, "omp") ? skip_blanks(line + 3) : NULL;
}

/* The length of a word that names what is done; 0: it is a clause. */
static size_t
directive_word(const char *text)
{
	static const char *const words[] = {
		"parallel", "for", "do", "sections", "task", "taskloop",
		"target", "teams", "distribute", "loop", "simd", "workshare",
		"masked", "master",
	};
	size_t n = 0;

	while (isalpha((unsigned char)text[n]))
		n++;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == n && text[n] != '(' &&
		    strncasecmp(words[i], text, n) == 0)
			return n;
	return 0;
}

/* "parallel for" of a directive that makes a body; NULL: it makes none. */
static char *
region_kind(const char *text)
{
	struct str out = {0};
	size_t n;

	if (strncasecmp(text, "parallel", 8) && strncasecmp(text, "ta", 2) &&
	    strncasecmp(text, "teams", 5))
		return NULL;
	while ((n = directive_word(text)) > 0) {
		str_add(&out, out.len ? " " : "");
		for (size_t i = 0; i < n; i++) {
			const char c = (char)tolower((unsigned char)text[i]);

			str_addn(&out, &c, 1);
		}
		text = skip_blanks(text + n);
	}
	return out.data ? str_take(&out) : NULL;
}

static char *
kind_in(const char *text, size_t n)
{
	char *line = xstrndup(text, n);
	const char *words = directive(line);
	char *kind = words ? region_kind(words) : NULL;

	free(line);
	return kind;
}

/*
 * The directive that a body of the line *line comes from: the last one up to
 * it; *line becomes its own. NULL: there is none.
 */
static char *
find_region(const char *text, int *line)
{
	char *found = NULL;
	int at = 1, found_at = 0;

	while (*text && at <= *line) {
		const size_t n = strcspn(text, "\n");
		char *kind = kind_in(text, n);

		if (kind) {
			free(found);
			found = kind;
			found_at = at;
		}
		text += n + (text[n] == '\n');
		at++;
	}
	if (found && *line - found_at > REGION_MAX) {
		free(found);
		return NULL;
	}
	*line = found ? found_at : *line;
	return found;
}

/* The text of a source; NULL when it is younger than what was made of it. */
static char *
source_text(const struct symfile *sf, const char *path)
{
	struct stat made, source;

	if (stat(sf->path, &made) < 0 || stat(path, &source) < 0 ||
	    source.st_mtime > made.st_mtime)
		return NULL;
	return file_read_plain(AT_FDCWD, path, NULL);
}

/* ---- names ---------------------------------------------------------- */

static void
add_name(struct str *out, const char *name, size_t n, enum name_form form)
{
	char *linkage = xstrndup(name, n);
	char *text = name_display(linkage, form);

	str_add(out, text);
	free(text);
	free(linkage);
}

/* host: whose region it is; what the name says, else (clang) its line. */
static void
add_region(struct str *out, struct symfile *sf, uint64_t start, char *host,
	   enum name_form form)
{
	const char *file, *whose = host;
	int line = first_line(sf, start, &file);
	char *text = line ? source_text(sf, file) : NULL;
	char *kind = text ? find_region(text, &line) : NULL;

	if (!*host && line)
		whose = lines_enclosing(sf, start, file, line);
	if (whose && *whose) {
		add_name(out, whose, strlen(whose), form);
		str_add(out, " -- ");
	}
	str_addf(out, "OMP %s%sregion", kind ? kind : "", kind ? " " : "");
	if (line)
		str_addf(out, " from line %d", line);
	free(kind);
	free(text);
}

/* The length of the name of whom it was taken out; false: not of OpenMP. */
static bool
is_region(const char *linkage, size_t *host)
{
	static const char *const marks[] = {
		"._omp_fn.", ".omp_outlined", ".omp_task_entry",
	};

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		const char *at = strstr(linkage, marks[i]);

		if (at) {
			*host = (size_t)(at - linkage);
			return true;
		}
	}
	return false;
}

/* Behind `master.0.`, by which gfortran names what its entries share. */
static const char *
entries_of(const char *linkage)
{
	static const char mark[] = "master.";
	const char *at = linkage + sizeof mark - 1;

	if (!str_starts(linkage, mark) || !isdigit((unsigned char)*at))
		return NULL;
	while (isdigit((unsigned char)*at))
		at++;
	return at[0] == '.' && at[1] ? at + 1 : NULL;
}

char *
symfile_display(struct symfile *sf, const char *linkage, uint64_t start,
		enum name_form form)
{
	const char *shared = entries_of(linkage);
	struct str out = {0};
	size_t host;

	if (form == NAME_MANGLED || (!shared && !is_region(linkage, &host)))
		return name_display(linkage, form);
	if (shared) {
		add_name(&out, shared, strlen(shared), form);
		str_add(&out, " -- body of its entries");
	} else {
		char *name = xstrndup(linkage, host);

		add_region(&out, sf, start, name, form);
		free(name);
	}
	str_add(&out, " [");
	add_name(&out, linkage, strlen(linkage), NAME_MANGLED);
	str_add(&out, "]");
	return str_take(&out);
}
