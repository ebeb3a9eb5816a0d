/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks as pprof reads them: profile.proto of perftools.profiles, in gzip.
 * Each metric is a value of each sample; a function is a location, since what
 * is left of a stack here is its functions. Numbers below are those of the
 * fields in profile.proto.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6,
	PROFILE_TIME = 9, PROFILE_DURATION = 10, PROFILE_DEFAULT = 14,
	TYPE_TYPE = 1, TYPE_UNIT = 2,
	SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2,
	MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3,
};

struct encoder {
	struct viewer *v;
	struct str out;
	struct str strings;	/* fields of the string table */
	struct map string_of;	/* hash -> index + 1 */
	struct map mapping_of;	/* object -> id */
	uint64_t strings_len;
};

/* ---- protobuf ------------------------------------------------------- */

static void
put_varint(struct str *s, uint64_t value)
{
	do {
		const char byte = (char)((value & 0x7f) |
					 (value > 0x7f ? 0x80 : 0));

		str_addn(s, &byte, 1);
		value >>= 7;
	} while (value);
}

static void
put_number(struct str *s, unsigned field, uint64_t value)
{
	put_varint(s, field << 3);
	put_varint(s, value);
}

static void
put_bytes(struct str *s, unsigned field, const char *data, size_t n)
{
	put_varint(s, field << 3 | 2);
	put_varint(s, n);
	str_addn(s, data, n);
}

/* Frees the message. */
static void
put_message(struct str *s, unsigned field, struct str *message)
{
	put_bytes(s, field, str_text(message), message->len);
	str_fini(message);
}

/* Two texts of one hash would be one: 64 bits of it do not meet. */
static uint64_t
string(struct encoder *e, const char *text)
{
	char *utf8 = str_utf8(text);	/* readers refuse anything else */
	const size_t n = strlen(utf8);
	uint64_t *slot = map_slot_of(&e->string_of, hash_bytes(utf8, n, 0));

	if (!*slot) {
		put_bytes(&e->strings, PROFILE_STRING, utf8, n);
		*slot = ++e->strings_len;
	}
	free(utf8);
	return *slot - 1;
}

/* ---- the parts ------------------------------------------------------ */

static void
put_type(struct encoder *e, const struct metric *m)
{
	struct str type = {0};

	put_number(&type, TYPE_TYPE, string(e, m->name));
	put_number(&type, TYPE_UNIT, string(e, m->is_time ? "nanoseconds" :
					       metric_unit(m)));
	put_message(&e->out, PROFILE_SAMPLE_TYPE, &type);
}

static void
put_sample(struct encoder *e, const struct gathered *g,
	   const struct gathered_stack *s)
{
	struct str sample = {0}, list = {0};

	for (uint32_t f = s->len; f-- > 0;)
		put_varint(&list, g->frames[s->first + f] + 1);
	put_message(&sample, SAMPLE_LOCATIONS, &list);
	for (size_t i = 0; i < g->slots_len; i++)
		put_varint(&list, s->weights[g->slots[i]]);
	put_message(&sample, SAMPLE_VALUES, &list);
	put_message(&e->out, PROFILE_SAMPLE, &sample);
}

static uint64_t
mapping(struct encoder *e, const struct profile_object *obj)
{
	uint64_t *slot = map_slot_of(&e->mapping_of, (uintptr_t)obj);
	struct str message = {0};

	if (*slot)
		return *slot;
	*slot = e->mapping_of.len;
	put_number(&message, MAPPING_ID, *slot);
	put_number(&message, MAPPING_FILE,
		   string(e, obj->is_file ? obj->path : obj->name));
	put_number(&message, MAPPING_HAS_FUNCTIONS, 1);

	const uint64_t id = *slot;

	put_message(&e->out, PROFILE_MAPPING, &message);
	return id;
}

static void
put_function(struct encoder *e, uint32_t id)
{
	const struct profile_function *fn = profile_function(e->v->prof, id);
	struct str function = {0}, location = {0}, line = {0};

	put_number(&function, FUNCTION_ID, id + 1);
	put_number(&function, FUNCTION_NAME, string(e, viewer_name(e->v, id)));
	put_number(&function, FUNCTION_SYSTEM_NAME, string(e, fn->linkage));
	put_message(&e->out, PROFILE_FUNCTION, &function);
	put_number(&line, LINE_FUNCTION, id + 1);
	put_number(&location, LOCATION_ID, id + 1);
	put_number(&location, LOCATION_MAPPING, mapping(e, fn->object));
	put_message(&location, LOCATION_LINE, &line);
	put_message(&e->out, PROFILE_LOCATION, &location);
}

/* The first mapping is the program, to pprof. */
static void
put_program(struct encoder *e, const struct gathered *g)
{
	for (size_t i = 0; i < g->frames_len; i++) {
		const struct profile_function *fn =
			profile_function(e->v->prof, g->frames[i]);

		if (!strcmp(fn->linkage, "main")) {
			(void)mapping(e, fn->object);
			return;
		}
	}
}

static void
put_functions(struct encoder *e, const struct gathered *g)
{
	const size_t count = profile_function_count(e->v->prof);
	bool *known = xcalloc(count + 1, sizeof *known);

	put_program(e, g);
	for (size_t i = 0; i < g->frames_len; i++) {
		if (!known[g->frames[i]])
			put_function(e, g->frames[i]);
		known[g->frames[i]] = true;
	}
	free(known);
}

static void
put_times(struct encoder *e)
{
	const struct profile *prof = e->v->prof;
	uint64_t duration = 0;

	put_number(&e->out, PROFILE_TIME, UINT64_C(1000000000) * (uint64_t)
		   experiment_wall_start(profile_experiment(prof, 0)));
	for (size_t i = 0; i < profile_experiment_count(prof); i++)
		duration += experiment_duration_ns(profile_experiment(prof,
								      i));
	put_number(&e->out, PROFILE_DURATION, duration);
}

static void
encode(struct encoder *e, const struct gathered *g)
{
	const struct metric *first = profile_metric(
		e->v->prof, e->v->metrics[g->slots[0]]);

	(void)string(e, "");		/* the first one must be that */
	for (size_t i = 0; i < g->slots_len; i++)
		put_type(e, profile_metric(e->v->prof,
					   e->v->metrics[g->slots[i]]));
	for (size_t i = 0; i < g->len; i++)
		put_sample(e, g, &g->items[i]);
	put_functions(e, g);
	put_times(e);
	put_number(&e->out, PROFILE_DEFAULT, string(e, first->name));
	str_addn(&e->out, str_text(&e->strings), e->strings.len);
}

/* ---- gzip ----------------------------------------------------------- */

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 };

static int
write_gzip(const struct str *data, FILE *out)
{
	z_stream z = { .next_in = (Bytef *)str_text(data),
		       .avail_in = (uInt)data->len };
	unsigned char buf[1 << 14];
	int state = Z_OK;

	if (data->len > UINT32_MAX)
		return fail(FAIL_GENERAL, "the profile has more than 4 GiB");
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		die("the compressor");
	while (state == Z_OK) {
		z.next_out = buf;
		z.avail_out = sizeof buf;
		state = deflate(&z, Z_FINISH);
		fwrite(buf, 1, sizeof buf - z.avail_out, out);
	}
	deflateEnd(&z);
	return state == Z_STREAM_END ? 0 :
		fail(FAIL_GENERAL, "the profile could not be compressed");
}

static void
encoder_fini(struct encoder *e)
{
	str_fini(&e->out);
	str_fini(&e->strings);
	map_fini(&e->string_of);
	map_fini(&e->mapping_of);
}

int
pprof_write(struct viewer *v, FILE *out)
{
	struct encoder e = { .v = v };
	struct gathered g;
	int rc;

	if (isatty(fileno(out))) {
		fail(FAIL_USAGE, "format pprof is no text for a terminal");
		return fail_remedy("sonde report EXP.er --format pprof "
				   ">profile.pb.gz");
	}
	rc = gathered_init(&g, v);
	if (rc == 0) {
		encode(&e, &g);
		rc = write_gzip(&e.out, out);
	}
	gathered_fini(&g);
	encoder_fini(&e);
	return rc;
}
