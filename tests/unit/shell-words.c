/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * shell-words: lines become the words, redirections and groups that the
 * grammar says, and a text that is not complete is known as such: else a
 * command file would wait for ever, or run half a command.
 */
#include "../../src/shell/private.h"

#include <stdlib.h>
#include <string.h>

static int failures;

static void
check(bool ok, const char *text, const char *what, const char *got)
{
	if (ok)
		return;
	printf("FAIL: [%s]: %s: [%s]\n", text, what, got);
	failures++;
}

static const char *
variable(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "pid") == 0 ? "42" : NULL;
}

/* All commands of text: words in [], redirections as they are, | between. */
static char *
shown(const char *text)
{
	struct str out = {0};
	struct words w;
	size_t at = 0;
	int got;

	while ((got = words_next(text, &at, &w, variable, NULL)) > 0) {
		str_add(&out, out.len ? "|" : "");
		for (size_t i = 0; i < w.len; i++)
			str_addf(&out, "[%s]", w.items[i]);
		if (w.in)
			str_addf(&out, "<%s", w.in);
		if (w.out)
			str_addf(&out, "%s%s", w.append ? ">>" : ">", w.out);
		words_fini(&w);
	}
	if (got < 0)
		str_addf(&out, "!%s", fail_last()->reason);
	return str_take(&out);
}

static const struct {
	const char *text, *wanted;
} lines[] = {
	{ "", "" },
	{ " \t\n;;\r\n", "" },
	{ "a  b\tc", "[a][b][c]" },
	{ "a;b ; c\nd", "[a]|[b]|[c]|[d]" },
	{ "a # b; c\nd", "[a]|[d]" },
	{ "# don't\na", "[a]" },
	{ "a#b #c", "[a#b]" },
	{ "'a b' \"c  d\" e'f'\"g\"", "[a b][c  d][efg]" },
	{ "a '' \"\"", "[a][][]" },
	{ "\"a \\\"b\\\" c\"", "[a \"b\" c]" },
	{ "'a\\'", "[a\\]" },
	{ "a\\ b \\; \\#c", "[a b][;][#c]" },
	{ "a \\\n b", "[a][b]" },
	{ "a\\\nb", "[ab]" },
	{ "\"a\\\nb\"", "[ab]" },
	{ "a \\\r\n b\r\nc\r\n", "[a][b]|[c]" },
	{ "$pid x$pid.y '$pid' \"$pid\"", "[42][x42.y][$pid][42]" },
	{ "$ $none $", "[$][$none][$]" },
	{ "a > b", "[a]>b" },
	{ "a>>'b c' d <e", "[a][d]<e>>b c" },
	{ "> b a", "[a]>b" },
	{ "a > $pid", "[a]>42" },
	{ "when x { a; b }", "[when][x][ a; b ]" },
	{ "when x {a {b} c}; d", "[when][x][a {b} c]|[d]" },
	{ "w {\n# it's } here\nq\n}\nd", "[w][\n# it's } here\nq\n]|[d]" },
	{ "w { a '}' \"}\\\"}\" }", "[w][ a '}' \"}\\\"}\" ]" },
	{ "w { $pid }", "[w][ $pid ]" },
	{ "w { a \\} }", "[w][ a \\} ]" },
	{ "w { a#} b", "[w][ a#][b]" },
	{ "f{ }", "[f{][}]" },
	{ "a 'b", "!a ' is missing" },
	{ "a \"b", "!a \" is missing" },
	{ "a { b", "!a } is missing" },
	{ "a >", "!a file name is missing after >" },
	{ "a < ; b", "!a file name is missing after <" },
	{ "ok; a 'b", "[ok]!a ' is missing" },
};

static const struct {
	const char *text;
	bool unfinished;
} texts[] = {
	{ "a\n", false },
	{ "a 'b\n", true },
	{ "a 'b'\n", false },
	{ "a \"b\\\"\n", true },
	{ "a \"(b(\\\"c\\\") d)\"\n", false },
	{ "a \\\n", true },
	{ "a \\\n b\n", false },
	{ "a \\\\\n", false },
	{ "# a \\\n", false },
	{ "# don't {\n", false },
	{ "a # don't {\n", false },
	{ "a#b 'c\n", true },
	{ "when x {\n", true },
	{ "when x {\n# don't }\n", true },
	{ "when x {\n# don't }\n}\n", false },
	{ "when x { a { b }\n", true },
	{ "when x { '}'\n", true },
	{ "}\n", false },
	{ "", false },
};

/* As typed, and where the first word ends: what `sh` and aliases pass on. */
static void
check_raw(const char *text, const char *raw, const char *rest)
{
	struct words w;
	size_t at = 0;

	if (words_next(text, &at, &w, variable, NULL) != 1) {
		check(false, text, "no command", "");
		return;
	}
	check(strcmp(w.raw, raw) == 0, text, "raw", w.raw);
	check(strcmp(w.raw + w.rest, rest) == 0, text, "rest", w.raw + w.rest);
	words_fini(&w);
}

/* No text, whatever its bytes, may run past its end (a sanitizer looks). */
static void
try_all_cuts(const char *text)
{
	for (size_t n = 0; n <= strlen(text); n++) {
		char *cut = xstrndup(text, n);

		free(shown(cut));
		(void)words_unfinished(cut);
		free(cut);
	}
}

int
main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		char *got = shown(lines[i].text);

		check(strcmp(got, lines[i].wanted) == 0, lines[i].text,
		      lines[i].wanted, got);
		free(got);
		try_all_cuts(lines[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check(words_unfinished(texts[i].text) == texts[i].unfinished,
		      texts[i].text, "unfinished",
		      texts[i].unfinished ? "no" : "yes");
	check_raw(" sh  echo \"a  b\" > '$pid' # c\n", "sh  echo \"a  b\" > "
		  "'$pid' ", "  echo \"a  b\" > '$pid' ");
	check_raw("a;b", "a", "");
	return failures != 0;
}
