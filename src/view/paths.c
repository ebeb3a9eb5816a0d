/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where source files are. Debug information names them as they were when the
 * program was built, maybe on another machine. In this order: that name; with
 * its beginning mapped (pathmap); below the directories of the search path
 * (setpath, addpath), with as much of the name as fits there; the copy in the
 * experiment's archives. Every place is remembered, to say where it was not.
 */
#include "foreign.h"
#include "private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SOURCE_MAX = 256 << 20 };	/* no source is larger */

static const char usual_path[] = "$expts:.";

void
paths_fini(struct source_paths *p)
{
	vec_free_items(&p->search);
	vec_free_items(&p->maps);
}

/* Directories parted by colons, behind those that are there. */
static void
add_directories(struct source_paths *p, const char *list)
{
	while (*list) {
		const size_t n = strcspn(list, ":");

		if (n)
			vec_push(&p->search, xstrndup(list, n));
		list += n + (list[n] == ':');
	}
}

void
paths_init(struct source_paths *p)
{
	add_directories(p, usual_path);
}

/* ---- looking -------------------------------------------------------- */

struct look {
	const struct viewer *v;
	const char *recorded;
	struct found_source *found;
};

static bool
is_readable(const char *path)
{
	struct stat st;

	return foreign_stat(AT_FDCWD, path, &st, 0) == 0 &&
	       S_ISREG(st.st_mode) &&
	       st.st_size <= SOURCE_MAX;
}

/* Takes path. */
static bool
try(struct look *l, char *path)
{
	if (is_readable(path)) {
		l->found->path = path;
		return true;
	}
	str_addf(&l->found->looked, "%s%s", l->found->looked.len ? ", " : "",
		 path);
	free(path);
	return false;
}

static bool
try_maps(struct look *l)
{
	const struct vec *maps = &l->v->paths_of_source.maps;

	for (size_t i = 0; i + 1 < maps->len; i += 2) {
		const char *from = maps->items[i], *to = maps->items[i + 1];
		const size_t n = strlen(from);

		if (strncmp(l->recorded, from, n) == 0 &&
		    (!l->recorded[n] || l->recorded[n] == '/' ||
		     (n && from[n - 1] == '/')) &&
		    try(l, xasprintf("%s%s%s", to, n && from[n - 1] == '/' &&
				     !str_ends(to, "/") ? "/" : "",
				     l->recorded + n)))
			return true;
	}
	return false;
}

/* DIR/a/b/c.c, then DIR/b/c.c and DIR/c.c. */
static bool
try_below(struct look *l, const char *dir)
{
	const char *tail = l->recorded;

	while (*tail == '/')
		tail++;
	for (;;) {
		char *path = xasprintf("%s/%s", dir, tail);
		const char *slash = strchr(tail, '/');

		if (is_readable(path) || !slash)
			return try(l, path);
		free(path);
		tail = slash + 1;
	}
}

static bool
try_experiments(struct look *l)
{
	for (size_t i = 0; i < profile_experiment_count(l->v->prof); i++)
		if (try_below(l, experiment_reader_path(
				profile_experiment(l->v->prof, i))))
			return true;
	return false;
}

static bool
try_search(struct look *l)
{
	const struct vec *dirs = &l->v->paths_of_source.search;

	for (size_t i = 0; i < dirs->len; i++)
		if (strcmp(dirs->items[i], "$expts") == 0 ?
		    try_experiments(l) : try_below(l, dirs->items[i]))
			return true;
	return false;
}

/* The directory that has archives/: descendants have none of their own. */
static char *
founder_of(const char *path)
{
	const char *end = strstr(path, ".er/_");

	return end ? xstrndup(path, (size_t)(end - path) + 3) : xstrdup(path);
}

static bool
try_archives(struct look *l)
{
	char *name = experiment_archived_name(l->recorded);
	bool done = false;

	for (size_t i = 0; i < profile_experiment_count(l->v->prof) && !done;
	     i++) {
		char *dir = founder_of(experiment_reader_path(
			profile_experiment(l->v->prof, i)));
		char *path = xasprintf("%s/archives/%s", dir, name);
		struct stat st;

		/* whoever made it may have planted links */
		done = foreign_stat(AT_FDCWD, path, &st,
				    AT_SYMLINK_NOFOLLOW) == 0 &&
		       S_ISREG(st.st_mode) &&
		       try(l, xstrdup(path));
		l->found->archived = done;
		free(path);
		free(dir);
	}
	free(name);
	return done;
}

/* A file that was changed when the program ran already shows other lines. */
static void
check_age(const struct viewer *v, struct found_source *f)
{
	struct stat st;

	if (f->archived || foreign_stat(AT_FDCWD, f->path, &st, 0) < 0)
		return;
	for (size_t i = 0; i < profile_experiment_count(v->prof); i++) {
		const time_t start = experiment_wall_start(
			profile_experiment(v->prof, i));

		f->newer |= start && st.st_mtime > start;
	}
}

bool
source_find(const struct viewer *v, const char *recorded,
	    struct found_source *f)
{
	struct look l = { v, recorded, f };

	*f = (struct found_source){0};
	if (!try(&l, xstrdup(recorded)) && !try_maps(&l) && !try_search(&l) &&
	    !try_archives(&l))
		return false;
	check_age(v, f);
	return true;
}

void
found_source_fini(struct found_source *f)
{
	free(f->path);
	str_fini(&f->looked);
}

/* ---- settings ------------------------------------------------------- */

static void
show_search(const struct viewer *v, FILE *out)
{
	const struct vec *dirs = &v->paths_of_source.search;

	fputs("search path:\n", out);
	for (size_t i = 0; i < dirs->len; i++)
		fprintf(out, "\t%s\n", (const char *)dirs->items[i]);
}

int
view_setpath(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		show_search(v, out);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	vec_free_items(&v->paths_of_source.search);
	add_directories(&v->paths_of_source, words[1]);
	return 0;
}

int
view_addpath(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		show_search(v, out);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	add_directories(&v->paths_of_source, words[1]);
	return 0;
}

int
view_pathmap(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct vec *maps = &v->paths_of_source.maps;

	if (n > 1) {
		if (words_check(n, words, 3) < 0)
			return fail_remedy("pathmap /where/it/was /where/it/is");
		vec_push(maps, xstrdup(words[1]));
		vec_push(maps, xstrdup(words[2]));
		return 0;
	}
	if (!maps->len)
		fputs("no path is mapped\n", out);
	for (size_t i = 0; i + 1 < maps->len; i += 2)
		fprintf(out, "pathmap %s %s\n", (const char *)maps->items[i],
			(const char *)maps->items[i + 1]);
	return 0;
}
