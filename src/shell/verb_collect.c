/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * collect: the option letters of collect(1), one row each. What is not built
 * yet is refused by its letter before anything is touched. The rest is turned
 * into the words of `record`, so that both record the same way.
 */
#include "config.h"
#include "private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct collect {
	struct shell *sh;
	struct vec words;	/* of record */
	struct str notes;
	const char *pid, *log, *name;
	bool dry_run, version;
};

static void
add_words(struct collect *c, const char *option, const char *value)
{
	vec_push(&c->words, xstrdup(option));
	vec_push(&c->words, xstrdup(value));
}

/* ---- one function per letter --------------------------------------------- */

static int
opt_profile(struct collect *c, const char *value)
{
	if (strcmp(value, "off") == 0) {
		c->sh->settings.profile = false;
		return 0;
	}
	return shell_interval(c->sh, value);
}

static int
opt_sample(struct collect *c, const char *value)
{
	long long seconds = 1;

	if (strcmp(value, "off") == 0)
		seconds = 0;
	else if (strcmp(value, "on") != 0 &&
		 !str_number(value, 1, 86400, &seconds))
		return fail(FAIL_USAGE, "collect: -S takes on, off or "
			    "seconds, not '%s'", value);
	c->sh->settings.sample_period_ns = (uint64_t)seconds * 1000000000;
	return 0;
}

/* -t: a bare number is seconds, m is minutes here too */
static int
opt_time(struct collect *c, const char *value)
{
	uint64_t ns;

	if (strchr(value, '-')) {
		fail(FAIL_USAGE, "collect: -t %s: a start is not built yet",
		     value);
		return fail_remedy("-t DURATION records from the start on");
	}
	if (settings_duration(value, &ns) < 0)
		return -1;
	add_words(c, "-d", value);
	return 0;
}

static int
opt_output(struct collect *c, const char *value)
{
	c->name = value;
	return 0;
}

/* stem.N.er -> its number's place and value; false for other names. */
static bool
numbered(const char *name, size_t *stem_len, long long *number)
{
	const size_t len = strlen(name);
	size_t start = len - (len > 3 ? 3 : len);
	char *digits;

	while (start > 0 && strchr("0123456789", name[start - 1]))
		start--;
	digits = len > 3 ? xstrndup(name + start, len - 3 - start) : NULL;

	const bool is = digits && start > 1 && name[start - 1] == '.' &&
		str_number(digits, 0, 1 << 30, number);

	*stem_len = start;
	free(digits);
	return is;
}

/* As in collect(1): stem.N.er goes on to the next free number, and says so. */
static void
add_name(struct collect *c)
{
	char *name = xstrdup(c->name);
	long long number;
	size_t stem;

	if (str_ends(name, ".er") && numbered(name, &stem, &number)) {
		while (target_name_is_taken(c->sh, name)) {
			free(name);
			name = xasprintf("%.*s%lld.er", (int)stem, c->name,
					 ++number);
		}
		if (strcmp(name, c->name) != 0)
			shell_note(c->sh, "collect: %s exists already: %s is "
				   "used", c->name, name);
	}
	free(c->sh->settings.experiment);	/* for a dry run to show */
	c->sh->settings.experiment = xstrdup(name);
	vec_push(&c->words, xstrdup("-o"));
	vec_push(&c->words, name);
}

static int
opt_directory(struct collect *c, const char *value)
{
	struct stat st;

	if (stat(value, &st) < 0)
		return fail_errno("collect: -d %s", value);
	if (!S_ISDIR(st.st_mode))
		return fail(FAIL_USAGE, "collect: -d %s is not a directory",
			    value);
	free(c->sh->settings.directory);
	c->sh->settings.directory = xstrdup(value);
	return 0;
}

static int
opt_archive(struct collect *c, const char *value)
{
	static const struct {
		const char *word;
		enum session_archive mode;
	} modes[] = {
		{ "off", SESSION_ARCHIVE_OFF }, { "on", SESSION_ARCHIVE_ON },
		{ "copy", SESSION_ARCHIVE_COPY },
	};

	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (strcmp(modes[i].word, value) == 0) {
			c->sh->settings.archive = modes[i].mode;
			return 0;
		}
	}
	return fail(FAIL_USAGE, "collect: -A takes on, off or copy, not '%s'",
		    value);
}

static int
opt_limit(struct collect *c, const char *value)
{
	long long mb = 0;

	if (strcmp(value, "unlimited") != 0 && strcmp(value, "none") != 0 &&
	    !str_number(value, 1, 1 << 30, &mb))
		return fail(FAIL_USAGE, "collect: -L takes megabytes, "
			    "unlimited or none, not '%s'", value);
	c->sh->settings.limit_mb = (uint64_t)mb;
	return 0;
}

static int
opt_log(struct collect *c, const char *value)
{
	c->log = value;
	return 0;
}

static int
opt_pid(struct collect *c, const char *value)
{
	c->pid = value;
	add_words(c, "-p", value);
	return 0;
}

static int
opt_comment(struct collect *c, const char *value)
{
	str_addf(&c->notes, "%s\n", value);
	return 0;
}

static int
opt_dry_run(struct collect *c, const char *value)
{
	(void)value;
	c->dry_run = true;
	return 0;
}

static int
opt_version(struct collect *c, const char *value)
{
	(void)value;
	c->version = true;
	return 0;
}

static int
opt_verbose(struct collect *c, const char *value)
{
	(void)value;
	c->sh->quiet = false;
	return 0;
}

/* Letters that ask for nothing when their value is off. */
static int
opt_only_off(struct collect *c, const char *value)
{
	(void)c;
	return strcmp(value, "off") == 0 ? 0 : 1;
}

static const struct letter {
	char letter;
	bool has_value;
	int (*take)(struct collect *c, const char *value); /* 1: not built */
	const char *what;
	int (*set)(struct settings *s, const char *value);
} letters[] = {
	{ 'A', true, opt_archive, "archive load objects", NULL },
	{ 'C', true, opt_comment, "a comment for the notes", NULL },
	{ 'F', true, opt_only_off, "following descendants", NULL },
	{ 'H', true, NULL, "heap tracing", settings_heap },
	{ 'I', true, NULL, "instrumentation output", NULL },
	{ 'J', true, NULL, "options for a JVM", NULL },
	{ 'L', true, opt_limit, "size limit in MB", NULL },
	{ 'M', true, opt_only_off, "MPI experiments", NULL },
	{ 'N', true, NULL, "libraries left out", NULL },
	{ 'O', true, opt_log, "file for our own messages", NULL },
	{ 'P', true, opt_pid, "record a running process", NULL },
	{ 'R', false, NULL, "the readme", NULL },
	{ 'S', true, opt_sample, "resource samples", NULL },
	{ 'V', false, opt_version, "version", NULL },
	{ 'c', true, opt_only_off, "instruction counts", NULL },
	{ 'd', true, opt_directory, "directory of the experiment", NULL },
	{ 'g', true, NULL, "experiment groups", NULL },
	{ 'h', true, opt_only_off, "hardware counters", NULL },
	{ 'i', true, NULL, "I/O tracing", settings_io },
	{ 'j', true, opt_only_off, "Java profiling", NULL },
	{ 'l', true, NULL, "samples by signal", NULL },
	{ 'm', true, opt_only_off, "MPI tracing", NULL },
	{ 'n', false, opt_dry_run, "dry run", NULL },
	{ 'o', true, opt_output, "name of the experiment", NULL },
	{ 'p', true, opt_profile, "clock profiling", NULL },
	{ 'r', true, opt_only_off, "race detection", NULL },
	{ 's', true, NULL, "synchronisation tracing", settings_sync },
	{ 't', true, opt_time, "duration", NULL },
	{ 'v', false, opt_verbose, "verbose", NULL },
	{ 'x', false, NULL, "leaving the target stopped", NULL },
	{ 'y', true, NULL, "pause and resume by signal", NULL },
};

static const struct letter *
find_letter(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		if (letters[i].letter == letter)
			return &letters[i];
	return NULL;
}

static int
take_letter(struct collect *c, const char *word, const char *value, bool *used)
{
	const struct letter *l = strlen(word) == 2 ? find_letter(word[1]) :
		NULL;

	if (!l) {
		fail(FAIL_USAGE, "collect: option '%s' is unknown", word);
		return fail_remedy("sonde help collect");
	}
	*used = l->has_value;
	if (l->has_value && !value)
		return fail(FAIL_USAGE, "collect: %s needs a value", word);

	const int result = l->set ? l->set(&c->sh->settings, value) :
		l->take ? l->take(c, value) : 1;

	if (result == 1) {
		fail(FAIL_USAGE, "collect: %s%s%s (%s) is not built yet",
		     word, l->has_value ? " " : "", l->has_value ? value : "",
		     l->what);
		return fail_remedy("leave it out");
	}
	return result;
}

static int
parse(struct collect *c, int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-') {
		bool used = false;

		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (take_letter(c, argv[i], i + 1 < argc ? argv[i + 1] : NULL,
				&used) < 0)
			return -1;
		i += 1 + used;
	}
	if (c->version)
		return 0;
	if ((i < argc) == (c->pid != NULL)) {
		fail(FAIL_USAGE, "collect: give a program, or -P PID");
		return fail_remedy("sonde help collect");
	}
	if (c->name)
		add_name(c);
	if (i < argc)
		vec_push(&c->words, xstrdup("--"));
	for (; i < argc; i++)
		vec_push(&c->words, xstrdup(argv[i]));
	return 0;
}

static int
redirect_messages(const char *path)
{
	const int fd = file_open_out(path, true);

	if (fd < 0)
		return fail_in("collect: -O");

	const int result = dup2(fd, STDERR_FILENO);

	close(fd);
	return result < 0 ? fail_errno("collect: -O %s", path) : 0;
}

static int
run(struct collect *c)
{
	if (c->version) {
		printf("sonde %s\n", VERSION);
		return 0;
	}
	if (c->notes.len)
		c->sh->settings.notes = str_take(&c->notes);
	if (c->dry_run) {
		char *line = words_joined(c->words.len - 1,
					  (char **)c->words.items + 1);

		printf("would run: sonde record %s\n", line);
		free(line);
		return shell_run_text(c->sh, "collector show") ? 0 : 1;
	}
	if (c->log && redirect_messages(c->log) < 0) {
		shell_print_failure(c->sh);
		return status_of_failure(fail_last()->kind);
	}
	vec_push(&c->words, NULL);
	return verb_record(c->sh, (int)c->words.len - 1,
			   (char **)c->words.items);
}

int
verb_collect(struct shell *sh, int argc, char **argv)
{
	struct collect c = { .sh = sh };
	int status;

	vec_push(&c.words, xstrdup("record"));
	if (parse(&c, argc, argv) < 0) {
		shell_print_failure(sh);
		status = status_of_failure(fail_last()->kind);
	} else {
		status = run(&c);
	}
	vec_free_items(&c.words);
	str_fini(&c.notes);
	return status;
}
