/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which source file a person means: by its name or the end of its path, as the
 * file where a function begins, or, as f"x.h", as another file that a
 * function has code from.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct files {
	const char *word;
	struct vec paths;		/* const char *; views, distinct */
	struct subject *subjects;	/* one for each */
	size_t cap;
	bool exact;
};

/* `b/c.c` is an end of /a/b/c.c, `c.c` too. */
static bool
is_end_of(const char *path, const char *word)
{
	const size_t n = strlen(path), len = strlen(word);

	return len && n > len && str_ends(path, word) &&
	       path[n - len - 1] == '/';
}

static void
offer(struct files *f, const char *path, const struct subject *subject)
{
	const bool exact = strcmp(path, f->word) == 0;

	if (!exact && (f->exact || !is_end_of(path, f->word)))
		return;
	if (exact && !f->exact) {
		f->paths.len = 0;
		f->exact = true;
	}
	for (size_t i = 0; i < f->paths.len; i++)
		if (!strcmp(f->paths.items[i], path))
			return;
	f->subjects = xgrow(f->subjects, &f->cap, f->paths.len + 1,
			    sizeof *f->subjects);
	f->subjects[f->paths.len] = *subject;
	vec_push(&f->paths, (void *)(uintptr_t)path);
}

static struct subject
subject_of(struct viewer *v, uint32_t function, const char *file)
{
	const struct profile_function *fn = profile_function(v->prof,
							     function);
	const struct profile_object *obj = fn->object;

	return (struct subject){
		.file = file, .object = obj,
		.unit = obj->symbols ? symfile_unit_at(obj->symbols,
						       fn->start) : 0,
	};
}

/* Files with cost first: they are the ones that are asked for. */
static void
offer_costly(struct viewer *v, struct files *f)
{
	const struct line_cost *lines;
	const size_t n = profile_lines(v->prof, &lines);
	const char *last = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!lines[i].file || lines[i].file == last)
			continue;
		last = lines[i].file;
		if (strcmp(last, f->word) && !is_end_of(last, f->word))
			continue;

		const struct subject s = subject_of(v, lines[i].function,
						    last);

		offer(f, last, &s);
	}
}

static void
offer_units(struct viewer *v, struct files *f)
{
	const struct object_cost *objects;
	const size_t n = profile_objects(v->prof, &objects);

	for (size_t i = 0; i < n; i++) {
		struct symfile *sf = objects[i].object->symbols;
		const size_t units = sf ? symfile_units(sf) : 0;

		for (size_t unit = 1; unit <= units; unit++) {
			const char *file = symfile_unit_file(sf, unit);
			const struct subject s = { file, objects[i].object,
						   unit };

			if (file)
				offer(f, file, &s);
		}
	}
}

static int
refuse_files(const struct files *f, const char *command)
{
	fail(FAIL_USAGE, "%s: %zu source files are named %s:", command,
	     f->paths.len, f->word);
	for (size_t i = 0; i < f->paths.len; i++)
		(void)fail_choice("%5zu  %s", i + 1,
				  (const char *)f->paths.items[i]);
	return fail_remedy("add the number of one, as in: %s %s 1", command,
			   f->word);
}

static int
pick_file(const struct files *f, size_t n, const char *const *words,
	  struct subject *out)
{
	long long number = 1;

	if (n < 3 && f->paths.len > 1)
		return refuse_files(f, words[0]);
	if (n > 2 && !str_number(words[2], 1, (long long)f->paths.len,
				 &number)) {
		fail(FAIL_USAGE, "%s: %s is not the number of a source file "
		     "named %s", words[0], words[2], words[1]);
		return fail_remedy("%s %s 1", words[0], words[1]);
	}
	*out = f->subjects[number - 1];
	return 0;
}

/* 1: there is no such file. */
static int
find_file(struct viewer *v, size_t n, const char *const *words,
	  struct subject *out)
{
	struct files f = { .word = words[1] };

	offer_costly(v, &f);
	offer_units(v, &f);

	const int rc = f.paths.len ? pick_file(&f, n, words, out) : 1;

	vec_fini(&f.paths);
	free(f.subjects);
	return rc;
}

/* ---- functions ------------------------------------------------------ */

/* What else may be done about a function without lines. */
static int
refuse_lineless(struct viewer *v, const char *command, uint32_t function)
{
	const struct profile_function *fn = profile_function(v->prof,
							     function);
	const char *name = viewer_name(v, function);

	fail(FAIL_UNSUITABLE, "%s: no source is known of %s in %s", command,
	     name, fn->object->path);
	if (fn->object->trouble)
		return fail_remedy("%s", fn->object->trouble);
	if (!fn->object->symbols || !fn->start)
		return fail_remedy("`csingle '%s'` shows who called it", name);
	return fail_remedy("build it with -g, or install its debug symbols "
			   "(or set DEBUGINFOD_URLS); disasm '%s' shows its "
			   "instructions", name);
}

static int
home_of(struct viewer *v, const char *command, uint32_t function,
	struct subject *out)
{
	const struct profile_function *fn = profile_function(v->prof,
							     function);
	const char *file = fn->file;
	int line;

	if (!fn->object->symbols || (fn->is_inlined ? !file : !fn->start ||
	    !symfile_declared(fn->object->symbols, fn->start, &file, &line)))
		return refuse_lineless(v, command, function);
	*out = subject_of(v, function, file);
	return 0;
}

struct context {
	const char *word, *file;
};

static bool
find_context(void *arg, const struct symfile_row *row)
{
	struct context *c = arg;

	if (row->file && (!strcmp(row->file, c->word) ||
			  is_end_of(row->file, c->word)))
		c->file = row->file;
	return !c->file;
}

/* f"x.h": words[1] is f. */
static int
find_in_context(struct viewer *v, size_t n, const char *const *words,
		const char *file, struct subject *out)
{
	struct context c = { file, NULL };
	uint32_t function;

	if (viewer_choose(v, n, words, &function) < 0 ||
	    home_of(v, words[0], function, out) < 0)
		return -1;
	symfile_unit_rows(out->object->symbols, out->unit, find_context, &c);
	if (!c.file) {
		fail(FAIL_USAGE, "%s: what %s was compiled from has no code "
		     "of a file %s", words[0], words[1], file);
		return fail_remedy("%s %s", words[0], words[1]);
	}
	out->file = c.file;
	return 0;
}

/* The shell takes quotes away: workx.h may have been work"x.h". */
static int
find_unquoted(struct viewer *v, size_t n, const char *const *words,
	      struct subject *out)
{
	const char *all = words[1];
	int rc = -1;

	for (size_t i = strlen(all) - 1; i > 0 && rc < 0; i--) {
		char *name = xstrndup(all, i);
		const char *parts[] = { words[0], name, words[n - 1] };

		if (viewer_matches(v, name))
			rc = find_in_context(v, n, parts, all + i, out);
		free(name);
	}
	return rc;
}

static int
find_quoted(struct viewer *v, size_t n, const char *const *words,
	    const char *quote, struct subject *out)
{
	char *name = xstrndup(words[1], (size_t)(quote - words[1]));
	char *file = xstrndup(quote + 1, strcspn(quote + 1, "\""));
	const char *parts[] = { words[0], name, words[n - 1] };
	const int rc = find_in_context(v, n, parts, file, out);

	free(file);
	free(name);
	return rc;
}

int
subject_choose(struct viewer *v, size_t n, const char *const *words,
	       struct subject *out)
{
	uint32_t function;

	if (n < 2 || n > 3)
		return words_check(n, words, n < 2 ? 2 : 3);
	if (viewer_check(v) < 0)
		return -1;

	const char *quote = strchr(words[1], '"');
	const bool looks_like_file = strpbrk(words[1], "./");
	int rc = 1;

	if (quote)
		return find_quoted(v, n, words, quote, out);
	if (looks_like_file)
		rc = find_file(v, n, words, out);
	if (rc <= 0)
		return rc;
	if (viewer_matches(v, words[1]))
		return viewer_choose(v, n, words, &function) < 0 ? -1 :
			home_of(v, words[0], function, out);
	if (!looks_like_file)
		rc = find_file(v, n, words, out);
	if (rc <= 0 || (*words[1] && find_unquoted(v, n, words, out) == 0))
		return rc < 0 ? -1 : 0;
	fail(FAIL_USAGE, "%s: there is no function and no source file of that "
	     "name: %s", words[0], words[1]);
	return fail_remedy("`functions` lists the functions that have cost, "
			   "`lines` the lines with their files");
}
