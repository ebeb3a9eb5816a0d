/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the rows of index objects are called.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *
program_of(const struct viewer *v, uint64_t experiment)
{
	const char *command = experiment - 1 <
		profile_experiment_count(v->prof) ?
		experiment_property(profile_experiment(v->prof,
						       experiment - 1),
				    "command") : NULL;

	return command ? command : "";
}

/* The first word of the command line, without directories. */
static char *
program_name(const struct viewer *v, uint64_t experiment)
{
	const char *command = program_of(v, experiment);
	char *word = xstrndup(command, strcspn(command, " "));
	char *name = xstrdup(path_base(word));

	free(word);
	return name;
}

static const char *
pid_of(const struct viewer *v, uint64_t experiment)
{
	const char *pid = experiment - 1 < profile_experiment_count(v->prof) ?
		experiment_property(profile_experiment(v->prof,
						       experiment - 1),
				    "pid") : NULL;

	return pid ? pid : "?";
}

/* With the thread's own number and name, where they are known. */
static void
name_thread(const struct viewer *v, uint64_t index, struct str *out)
{
	const uint32_t process = (uint32_t)(index >> 32);
	const uint32_t ordinal = (uint32_t)index;
	const struct thread_cost *threads;
	const size_t n = profile_threads(v->prof, &threads);

	str_addf(out, "Process %" PRIu32 ", Thread %" PRIu32, process,
		 ordinal);
	for (size_t i = 0; i < n; i++) {
		if (threads[i].experiment + 1 != process ||
		    threads[i].ordinal != ordinal)
			continue;
		str_addf(out, ", tid %" PRIu64, threads[i].tid);
		if (threads[i].name && *threads[i].name)
			str_addf(out, " (%s)", threads[i].name);
	}
}

static void
name_cpu(const struct viewer *v, uint64_t index, struct str *out)
{
	(void)v;
	str_addf(out, "CPU %" PRIu64, index);
}

static void
name_sample(const struct viewer *v, uint64_t index, struct str *out)
{
	(void)v;
	str_addf(out, "Sample %" PRIu64, index);
}

static void
name_gcevent(const struct viewer *v, uint64_t index, struct str *out)
{
	(void)v;
	if (index)
		str_addf(out, "GCEvent %" PRIu64, index);
	else
		str_add(out, "Not in any GCEvent");
}

static void
name_second(const struct viewer *v, uint64_t index, struct str *out)
{
	(void)v;
	str_addf(out, "Second of execution %" PRIu64, index);
}

static void
name_process(const struct viewer *v, uint64_t index, struct str *out)
{
	char *program = program_name(v, index);

	str_addf(out, "%s, Process %3" PRIu64 ", PID %s", program, index,
		 pid_of(v, index));
	free(program);
}

static void
name_experiment(const struct viewer *v, uint64_t index, struct str *out)
{
	const uint64_t group = index >> 60;
	const uint64_t experiment = index >> 32 & 0xfffffff;
	char *program = program_name(v, experiment);

	str_addf(out, "Base Experiment %" PRIu64 ", Process %" PRIu64
		 ", PID %s, %s", group, experiment, pid_of(v, experiment),
		 program);
	free(program);
}

static void
add_size(struct str *out, uint64_t bytes, const char *unit)
{
	static const char *const units[] = { "", "KB", "MB", "GB", "TB" };
	size_t i = 0;

	for (; bytes >= 1024 && i + 1 < ARRAY_LEN(units); i++)
		bytes /= 1024;
	str_addf(out, "%*" PRIu64 "%s", i ? 3 : 5, bytes, i ? units[i] : unit);
}

/* The largest of a step of four. */
static void
name_size(const struct viewer *v, uint64_t index, struct str *out)
{
	(void)v;
	if (index <= 1) {
		str_add(out, index ? "    1 Byte" : "    0 Bytes");
		return;
	}
	if (index & 1) {
		str_add(out, "    n >   1PB");
		return;
	}
	add_size(out, index / 4, "");
	str_add(out, " < n <= ");
	add_size(out, index, " Bytes");
}

static void
add_time(struct str *out, uint64_t ns, int width)
{
	static const char *const units[] = { "us", "ms", "s" };
	uint64_t n = ns / 1000;
	size_t i = 0;

	for (; n >= 1000 && i + 1 < ARRAY_LEN(units); i++)
		n /= 1000;
	str_addf(out, "%*" PRIu64 "%s", width - (int)strlen(units[i]), n,
		 units[i]);
}

/* The longest of a step of ten. */
static void
name_duration(const struct viewer *v, uint64_t index, struct str *out)
{
	const int width = 5;

	(void)v;
	if (!index) {
		str_add(out, "   0s");
		return;
	}
	if (index % 10) {
		str_add(out, "n > 10000s");
		return;
	}
	if (index == 1000)
		str_add(out, "   0s");
	else
		add_time(out, index / 10, width);
	str_add(out, " < n <= ");
	add_time(out, index, width);
}

static void (*const names[INDEX_TYPES])(const struct viewer *v,
					uint64_t index, struct str *out) = {
	name_thread, name_cpu, name_sample, name_gcevent, name_second,
	name_process, name_experiment, name_size, name_duration,
};

char *
index_name(const struct viewer *v, const struct profile_index_type *type,
	 uint64_t index)
{
	const size_t i = (size_t)(type - v->index_types);
	struct str name = {0};

	if (index == UINT64_MAX)
		return xstrdup("<Unknown>");
	if (i < INDEX_TYPES)
		names[i](v, index, &name);
	else
		str_addf(&name, "%s 0x%016" PRIx64 " (%" PRIu64 ")",
			 type->name, index, index);
	return str_take(&name);
}

/* What the row is where it is compared with those of others. */
char *
index_key(const struct viewer *v, const struct profile_index_type *type,
	  uint64_t index)
{
	switch (type - v->index_types) {
	case 0:
		return xasprintf("Process %" PRIu64 ", Thread %" PRIu64,
				 index >> 32, index & UINT32_MAX);
	case 5:
		return xasprintf("Process %" PRIu64, index);
	default:
		return NULL;
	}
}
