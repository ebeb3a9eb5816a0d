/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The viewer: a profile and what the user chose to see of it. Choices outlive
 * the profile; a choice the new experiment has no data for is left out.
 */
#include "private.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOT_PERCENT = 75 };

struct viewer *
viewer_new(void)
{
	struct viewer *v = xcalloc(1, sizeof *v);

	specs_default(v);
	paths_init(&v->paths_of_source);
	v->source_shows = SHOW_INLINES | SHOW_FLAGS;
	v->disasm_shows = SHOW_INLINES | SHOW_FLAGS | SHOW_SOURCE;
	v->source_threshold = v->disasm_threshold = HOT_PERCENT;
	index_types_init(v);
	return v;
}

void
viewer_free(struct viewer *v)
{
	if (!v)
		return;
	viewer_forget_names(v);
	compare_close(v);
	profile_free(v->prof);
	symbol_server_free(v->server);
	vec_free_items(&v->paths);
	specs_fini(&v->columns);
	free(v->dmetrics);
	free(v->dsort);
	free(v->descendants);
	fragment_free(v);
	rules_fini(&v->rules);
	paths_fini(&v->paths_of_source);
	vec_free_items(&v->later);
	map_fini(&v->noted);
	selection_forget(v);
	index_types_free(v);
	free(v->filter);
	free(v->expected);
	free(v);
}

/* ---- loading -------------------------------------------------------- */

/* As the settings say; a part of the whole is numbered as in it. */
static struct profile *
open_profile(struct viewer *v, const char *const *paths, size_t n,
	     size_t first_group)
{
	char *filter = v->expected ? xstrdup(v->expected) : viewer_filter(v);
	const struct profile_options options = {
		.keep_linker = v->mode == MODE_MACHINE,
		.keep_parts = v->mode == MODE_MACHINE,
		.inlines = v->inlines && v->mode != MODE_MACHINE,
		.rules = v->rules.items, .rules_len = v->rules.len,
		.server = v->server,
		.filter = filter, .objects = v->index_types,
		.objects_len = v->index_types_len,
		.form = v->form, .soname = v->soname,
		.groups_before = first_group,
		.experiments_before = first_group ?
			profile_experiments_until(v->prof, first_group) : 0,
		.descendants = v->descendants,
	};
	struct profile *prof = viewer_read(v, paths, n, &options);

	free(filter);
	return prof;
}

struct profile *
viewer_open_group(struct viewer *v, size_t group)
{
	const char *path = v->paths.items[group];

	return open_profile(v, &path, 1, group);
}

static int
adopt(struct viewer *v, struct profile *prof)
{
	if (!prof)
		return -1;

	struct profile *old = v->prof;

	viewer_forget_names(v);
	compare_close(v);
	v->prof = prof;
	v->slots = profile_metrics(prof, v->metrics);
	specs_rebind(v, old);
	profile_free(old);
	if (v->default_columns)
		specs_default(v);
	return 0;
}

static bool
same_paths(const struct viewer *v, const char *const *paths, size_t n)
{
	if (v->paths.len != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(v->paths.items[i], paths[i]))
			return false;
	return true;
}

int
viewer_load(struct viewer *v, const char *const *paths, size_t n)
{
	struct symbol_server *before = v->server;

	/* servers that were given up are asked again */
	v->server = symbol_server_new(progress_tell, v);
	if (!same_paths(v, paths, n))
		selection_forget(v);	/* it is by number of experiment */
	if (adopt(v, open_profile(v, paths, n, 0)) < 0) {
		symbol_server_free(v->server);
		v->server = before;
		if (fail_last()->kind == FAIL_MISSING)
			suggest_experiments(paths, n);
		return -1;
	}
	symbol_server_free(before);

	struct vec copy = {0};

	/* the caller may hand our own paths back */
	for (size_t i = 0; i < n; i++)
		vec_push(&copy, xstrdup(paths[i]));
	vec_free_items(&v->paths);
	v->paths = copy;
	return 0;
}

int
viewer_reload(struct viewer *v)
{
	free(v->expected);
	v->expected = NULL;
	return v->prof ? adopt(v, open_profile(v, (const char *const *)
					       v->paths.items,
					       v->paths.len, 0)) : 0;
}

int
viewer_refresh(struct viewer *v)
{
	if (viewer_check(v) < 0)
		return -1;
	return profile_grown(v->prof) ? viewer_reload(v) : 0;
}

bool
viewer_loaded(const struct viewer *v)
{
	return v->prof != NULL;
}

int
viewer_check(const struct viewer *v)
{
	if (v->prof)
		return 0;
	fail(FAIL_USAGE, "no experiment is open");
	return fail_remedy("name one, as in: sonde report test.1.er");
}

int
viewer_slot(const struct viewer *v, int metric)
{
	for (size_t i = 0; i < v->slots; i++)
		if (v->metrics[i] == metric)
			return (int)i;
	return -1;
}

/* ---- settings ------------------------------------------------------- */

void
viewer_set_color(struct viewer *v, bool on)
{
	v->color = on;
}

void
viewer_set_width(struct viewer *v, size_t columns)
{
	v->width = columns;
}

/* ---- notes ---------------------------------------------------------- */

static void
write_note(const struct viewer *v, const char *line, FILE *err)
{
	char *one = str_tamed(line);
	char *text = xasprintf("note: %s\n", one);

	free(one);
	if (v->width && isatty(fileno(err)))
		text_wrap(text, v->width, err);
	else
		fputs(text, err);
	free(text);
}

static void
note(struct viewer *v, const char *line, FILE *err)
{
	uint64_t *slot = map_slot_of(&v->noted,
				     hash_bytes(line, strlen(line), 0));

	if (!*slot)
		write_note(v, line, err);
	*slot = 1;
}

void
viewer_note(struct viewer *v, char *line)
{
	vec_push(&v->later, str_tame(line));
}

/* An object matters from 1 % of any metric on. */
static bool
matters(const struct viewer *v, const struct object_cost *obj)
{
	const struct cost total = profile_total(v->prof);

	for (size_t s = 0; s < v->slots; s++)
		if (obj->cost.incl[s] &&
		    obj->cost.incl[s] >= total.incl[s] / 100)
			return true;
	return false;
}

static bool
any_trouble(const struct viewer *v)
{
	const size_t n = profile_object_count(v->prof);

	for (size_t i = 0; i < n; i++) {
		const struct profile_object *obj =
			profile_object_at(v->prof, i);

		if (obj && obj->trouble)
			return true;
	}
	return false;
}

static void
note_objects(struct viewer *v, FILE *err)
{
	const struct object_cost *objects;
	const struct function_cost *functions;
	size_t n;

	if (!any_trouble(v))
		return;
	n = profile_objects(v->prof, &objects);
	for (size_t i = 0; i < n; i++)
		if (objects[i].object->trouble && matters(v, &objects[i]))
			note(v, objects[i].object->trouble, err);
	n = profile_functions(v->prof, &functions);
	for (size_t i = 0; i < n; i++) {
		const struct profile_function *fn =
			profile_function(v->prof, functions[i].function);

		if (fn->is_static && fn->object->trouble)
			note(v, fn->object->trouble, err);
	}
}

/* Records whose stacks are not there count in <Total>, and nowhere else. */
static void
note_missing(struct viewer *v, FILE *err)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct stack_ends ends = profile_stack_ends(v->prof, e);

		if (!ends.missing)
			continue;

		char *line = xasprintf("%s: of %" PRIu64 " records %" PRIu64
			" have no stack in data.frameinfo: they count in "
			"<Total> alone", experiment_reader_path(
				profile_experiment(v->prof, e)),
			ends.complete + ends.truncated + ends.failed +
			ends.artificial + ends.missing, ends.missing);

		note(v, line, err);
		free(line);
	}
}

static bool
is_empty(const struct viewer *v)
{
	const struct cost total = profile_total(v->prof);

	for (size_t s = 0; s < v->slots; s++)
		if (total.incl[s])
			return false;
	return true;
}

/* Of several experiments it is said which. */
static void
note_warnings(struct viewer *v, const struct experiment_reader *rd, FILE *err)
{
	const bool one = profile_experiment_count(v->prof) == 1;

	for (size_t i = 0; i < experiment_warning_count(rd); i++) {
		const char *text = experiment_warning(rd, i);
		char *line = one ? xstrdup(text) :
			xasprintf("%s: %s", experiment_reader_path(rd), text);

		note(v, line, err);
		free(line);
	}
}

void
viewer_notes(struct viewer *v, FILE *err)
{
	if (!v->prof)
		return;
	for (size_t i = 0; i < v->later.len; i++)
		note(v, v->later.items[i], err);
	vec_free_items(&v->later);
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct experiment_reader *rd =
			profile_experiment(v->prof, e);

		note_warnings(v, rd, err);
	}
	if (v->slots)
		note_missing(v, err);
	/* views that show no function need no symbols */
	if (!v->slots || !v->names)
		return;
	if (v->server && symbol_server_trouble(v->server))
		note(v, symbol_server_trouble(v->server), err);
	note_objects(v, err);
	if (is_empty(v) && (v->filter || v->selections.len))
		note(v, "the filter or a selection keeps nothing: filters 1; "
		     "thread_select all", err);
	else if (is_empty(v))
		note(v, "no time was recorded: did the process run? "
		     "sonde report -header tells", err);
}

bool
viewer_damaged(const struct viewer *v)
{
	for (size_t e = 0; v->prof && e < profile_experiment_count(v->prof);
	     e++)
		if (experiment_damaged_count(profile_experiment(v->prof, e)))
			return true;
	return false;
}

bool
viewer_untraced(const struct viewer *v)
{
	return v->untraced;
}

void
viewer_each_function(struct viewer *v,
		     bool (*visit)(void *arg, const char *name), void *arg)
{
	if (!v->prof)
		return;

	const size_t n = profile_function_count(v->prof);

	for (uint32_t i = 0; i < n; i++)
		if (!visit(arg, viewer_name(v, i)))
			return;
}
