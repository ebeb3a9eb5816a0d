/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words behind stop, when and trace: an event, its place, modifiers; and
 * how they are shown again.
 */
#include "event_words.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

char *
words_joined(size_t n, char **words)
{
	struct str s = {0};

	for (size_t i = 0; i < n; i++)
		str_addf(&s, "%s%s", i ? " " : "", words[i]);
	return str_take(&s);
}

static void
cut(size_t *n, char **words, size_t at, size_t k)
{
	memmove(&words[at], &words[at + k], (*n - at - k + 1) * sizeof *words);
	*n -= k;
}

static bool
take(const char *option, size_t *n, char **words)
{
	for (size_t i = 1; i < *n; i++) {
		if (strcmp(words[i], option) == 0) {
			cut(n, words, i, 1);
			return true;
		}
	}
	return false;
}

bool
event_is_for_ever(const char *word, long long *out)
{
	*out = FOR_EVER;
	return strcmp(word, "infinity") == 0;
}

static long long
take_count(size_t *n, char **words, const char **lacks)
{
	for (size_t i = 1; i < *n; i++) {
		long long value = 0;

		if (strcmp(words[i], "-count") != 0)
			continue;
		if (i + 1 == *n ||
		    (!event_is_for_ever(words[i + 1], &value) &&
		     !str_number(words[i + 1], 1, 1 << 30, &value))) {
			*lacks = "-count";
			return 0;
		}
		cut(n, words, i, 2);
		return value;
	}
	return 0;
}

static const char *
take_word(const char *option, size_t *n, char **words, const char **lacks)
{
	for (size_t i = 1; i < *n; i++) {
		const char *word = words[i + 1];

		if (strcmp(words[i], option) != 0)
			continue;
		if (!word) {
			*lacks = option;
			return NULL;
		}
		cut(n, words, i, 2);
		return word;
	}
	return NULL;
}

static const char *const modifiers[] = {
	"-if", "-in", "-temp", "-count", "-thread", "-lwp", "-disable",
	"-hidden", "-perm", "-resumeone", "-trap", "-instr",
};

bool
modifier_is(const char *word, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
		if (strlen(modifiers[i]) == n &&
		    memcmp(modifiers[i], word, n) == 0)
			return true;
	return false;
}

void
modifiers_each(offer_fn *offer, const char *typed)
{
	for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
		if (strcmp(modifiers[i], "-instr") != 0)
			offer(modifiers[i], typed);
}

/* Up to the next modifier; the caller frees it. */
static char *
take_condition(size_t *n, char **words, const char **lacks)
{
	for (size_t i = 1; i < *n; i++) {
		size_t k = 1;
		char *text;

		if (strcmp(words[i], "-if") != 0)
			continue;
		while (i + k < *n && !modifier_is(words[i + k], strlen(words[i + k])))
			k++;
		if (k == 1) {
			*lacks = "-if";
			return NULL;
		}
		text = words_joined(k - 1, words + i + 1);
		cut(n, words, i, k);
		return text;
	}
	return NULL;
}

/* change EXPR[, SIZE], access r|w EXPR[, SIZE]: the rest is one expression. */
static void
take_data(struct event *e, size_t n, char **words)
{
	const bool access = strcmp(e->name, "access") == 0;
	const size_t first = access ? 3 : 2;
	const char *how = access && n > 2 ? words[2] : "w";

	e->how = how;
	e->reads = strchr(how, 'r');
	e->wrong |= n <= first || !*how || how[strspn(how, "rwxab")];
	e->place = e->data = n > first ? words_joined(n - first,
						      words + first) : NULL;
}

static bool
is_level(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "rss") == 0;
}

/* `in F longer TIME`, `cpu > N for TIME`, `rss > N`: taken off the end. */
static void
take_amounts(struct event *e, size_t *n, char **words)
{
	if (*n == 5 && strcmp(e->name, "in") == 0 &&
	    strcmp(words[3], "longer") == 0) {
		e->longer = words[4];
		*n = 3;
	}
	if (!is_level(e->name))
		return;
	e->limit = *n > 3 ? words[3] : "";
	e->span = *n == 6 ? words[5] : NULL;
	e->wrong |= (*n != 4 && *n != 6) || strcmp(words[2], ">") != 0 ||
		(e->span && strcmp(words[4], "for") != 0);
	*n = 2;
}

/* -thread and -lwp: 4711, t@4711, l@4711. */
static long long
take_thread(size_t *n, char **words, const char **lacks)
{
	static const char *const options[] = { "-thread", "-lwp" };
	long long tid = 0;

	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const char *word = take_word(options[i], n, words, lacks);

		if (!word)
			continue;
		if (str_starts(word, "t@") || str_starts(word, "l@"))
			word += 2;
		if (!str_number(word, 1, 1 << 30, &tid))
			*lacks = options[i];
	}
	return tid;
}

struct event
event_take(size_t n, char **words, bool has_body)
{
	struct event e = {0};

	e.body = has_body ? words[--n] : NULL;
	words[n] = NULL;
	e.temp = take("-temp", &n, words);
	e.trap = take("-trap", &n, words);
	e.disable = take("-disable", &n, words);
	e.count = take_count(&n, words, &e.lacks);
	e.thread = take_thread(&n, words, &e.lacks);
	e.within = take_word("-in", &n, words, &e.lacks);
	e.hidden = take("-hidden", &n, words);
	e.perm = take("-perm", &n, words);
	e.alone = take("-resumeone", &n, words);
	e.instr = take("-instr", &n, words);
	e.condition = take_condition(&n, words, &e.lacks);
	e.name = n > 1 ? words[1] : "";
	take_amounts(&e, &n, words);
	if (n == 4 && strcmp(e.name, "sig") == 0)
		e.code = words[--n];
	e.place = n > 2 ? words[2] : NULL;
	if (strcmp(e.name, "change") == 0 || strcmp(e.name, "access") == 0)
		take_data(&e, n, words);
	else
		e.extra = n > 3 ? words[3] : NULL;
	return e;
}

void
event_end(struct event *e)
{
	free(e->data);
	free(e->condition);
}

/* A body as lists show it: its only line, or the first one and dots. */
static char *
one_line(const char *body)
{
	const char *start = body + strspn(body, " \t\r\n");
	const size_t len = strcspn(start, "\r\n");
	const char *rest = start + len;
	size_t end = len;

	while (end > 0 && strchr(" \t", start[end - 1]))
		end--;
	return xasprintf("%.*s%s", (int)end, start,
			 rest[strspn(rest, " \t\r\n")] ? " ..." : "");
}

char *
event_shown(const char *command, const struct event *e)
{
	struct str s = {0};

	str_addf(&s, "%s %s", command, e->name);
	if (strcmp(e->name, "access") == 0)
		str_addf(&s, " %s", e->how);
	if (e->place) {
		char *place = str_tame(xstrdup(e->place));

		str_addf(&s, " %s", place);
		free(place);
	}
	if (e->code)
		str_addf(&s, " %s", e->code);
	if (e->longer)
		str_addf(&s, " longer %s", e->longer);
	if (e->limit)
		str_addf(&s, " > %s", e->limit);
	if (e->span)
		str_addf(&s, " for %s", e->span);
	if (e->temp)
		str_add(&s, " -temp");
	if (e->trap)
		str_add(&s, " -trap");
	if (e->hidden)
		str_add(&s, " -hidden");
	if (e->perm)
		str_add(&s, " -perm");
	if (e->alone)
		str_add(&s, " -resumeone");
	if (e->within)
		str_addf(&s, " -in %s", e->within);
	if (e->count == FOR_EVER)
		str_add(&s, " -count infinity");
	else if (e->count)
		str_addf(&s, " -count %lld", e->count);
	if (e->thread)
		str_addf(&s, " -thread %lld", e->thread);
	if (e->condition)
		str_addf(&s, strchr(e->condition, '\'') ? " -if %s" :
			 " -if '%s'", e->condition);
	if (e->body) {
		char *body = one_line(e->body);

		str_addf(&s, " { %s }", body);
		free(body);
	}
	return str_take(&s);
}

/* A comment in the body ends with its line: of more than one all are kept. */
char *
event_again(const char *shown, const char *body, bool disabled)
{
	const char *off = disabled ? " -disable" : "";

	if (!body)
		return xasprintf("%s%s", shown, off);

	char *last = one_line(body);
	const int head = (int)(strlen(shown) - strlen(last) - strlen(" {  }"));
	char *line = strchr(body, '\n') ?
		xasprintf("%.*s%s {%s}", head, shown, off, body) :
		xasprintf("%.*s%s { %s }", head, shown, off, last);

	free(last);
	return line;
}
