/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks as speedscope reads them (its file format of type "sampled"): one
 * profile per metric, that of the sorted column first, with exact weights.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

static const char *
unit(const struct metric *m)
{
	if (m->is_time)
		return "nanoseconds";
	return !strcmp(metric_unit(m), "bytes") ? "bytes" : "none";
}

/* Every function that some stack has gets a number: number[id] - 1. */
static void
put_frames(struct json *j, struct viewer *v, const struct gathered *g,
	   uint32_t *numbers)
{
	uint32_t next = 0;

	json_begin(j, "frames", '[');
	for (size_t i = 0; i < g->frames_len; i++) {
		const uint32_t id = g->frames[i];
		const struct profile_function *fn;

		if (numbers[id])
			continue;
		numbers[id] = ++next;
		fn = profile_function(v->prof, id);
		json_begin(j, NULL, '{');
		json_text(j, "name", viewer_name(v, id));
		if (fn->object->is_file)
			json_text(j, "file", fn->object->path);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void
put_profile(struct json *j, struct viewer *v, const struct gathered *g,
	    int slot, const uint32_t *numbers)
{
	const struct metric *m = profile_metric(v->prof, v->metrics[slot]);

	json_begin(j, NULL, '{');
	json_text(j, "type", "sampled");
	json_text(j, "name", m->title);
	json_text(j, "unit", unit(m));
	json_unsigned(j, "startValue", 0);
	json_unsigned(j, "endValue", g->totals[slot]);
	json_begin(j, "samples", '[');
	for (size_t i = 0; i < g->len; i++) {
		const struct gathered_stack *s = &g->items[i];

		if (!s->weights[slot])
			continue;
		json_begin(j, NULL, '[');
		for (uint32_t f = 0; f < s->len; f++)
			json_unsigned(j, NULL,
				      numbers[g->frames[s->first + f]] - 1);
		json_end(j, ']');
	}
	json_end(j, ']');
	json_begin(j, "weights", '[');
	for (size_t i = 0; i < g->len; i++)
		if (g->items[i].weights[slot])
			json_unsigned(j, NULL, g->items[i].weights[slot]);
	json_end(j, ']');
	json_end(j, '}');
}

static char *
file_name(const struct viewer *v)
{
	struct str names = {0};

	for (size_t i = 0; i < v->paths.len; i++)
		str_addf(&names, "%s%s", i ? ", " : "",
			 path_base(v->paths.items[i]));
	return str_take(&names);
}

int
speedscope_write(struct viewer *v, FILE *out)
{
	struct json j = { .out = out };
	struct gathered g;

	if (gathered_init(&g, v) < 0) {
		gathered_fini(&g);
		return -1;
	}

	uint32_t *numbers = xcalloc(profile_function_count(v->prof) + 1,
				    sizeof *numbers);
	char *name = file_name(v);

	json_begin(&j, NULL, '{');
	json_text(&j, "$schema",
		  "https://www.speedscope.app/file-format-schema.json");
	json_text(&j, "name", name);
	json_text(&j, "exporter", "sonde");
	json_unsigned(&j, "activeProfileIndex", 0);
	json_begin(&j, "shared", '{');
	put_frames(&j, v, &g, numbers);
	json_end(&j, '}');
	json_begin(&j, "profiles", '[');
	for (size_t i = 0; i < g.slots_len; i++)
		put_profile(&j, v, &g, g.slots[i], numbers);
	json_end(&j, ']');
	json_end(&j, '}');
	free(name);
	free(numbers);
	gathered_fini(&g);
	return 0;
}
