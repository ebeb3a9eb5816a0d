/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The commands that belong to the language. They go by their whole names
 * only, so that they are in nobody's way who writes prefixes.
 */
#include "script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum result
answer(struct shell *sh, bool truth)
{
	sh->status = !truth;
	return ANSWERED;
}

/* ---- test ---------------------------------------------------------------- */

struct test {
	char **words;
	size_t n, at;
	bool failed;
};

static bool
wrong(struct test *t, const char *what, const char *word)
{
	if (!t->failed) {
		fail(FAIL_USAGE, "test: %s%s%s%s", what, word ? " '" : "",
		     word ? word : "", word ? "'" : "");
		fail_remedy("[ A -eq B ], [ A = B ], [ -n A ], [ -f FILE ]; "
			    "values with blanks in quotes");
	}
	t->failed = true;
	return false;
}

static long long
number(struct test *t, const char *word)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(word, &end, 0);
	if (!*word || errno || end[strspn(end, " \t\n")])
		(void)wrong(t, "this is no whole number:", word);
	return value;
}

static const char *const numeric[] = { "-eq", "-ne", "-lt", "-le", "-gt",
				       "-ge" };
static const char *const textual[] = { "=", "==", "!=" };

static int
index_in(const char *word, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, names[i]) == 0)
			return (int)i;
	return -1;
}

static bool
is_binary(const char *word)
{
	return index_in(word, numeric, ARRAY_LEN(numeric)) >= 0 ||
		index_in(word, textual, ARRAY_LEN(textual)) >= 0;
}

static bool
compare(struct test *t, const char *left, const char *how, const char *right)
{
	const int i = index_in(how, numeric, ARRAY_LEN(numeric));
	long long x, y;

	if (i < 0)
		return (strcmp(left, right) == 0) == (*how == '=');
	x = number(t, left);
	y = number(t, right);
	switch (i) {
	case 0:
		return x == y;
	case 1:
		return x != y;
	case 2:
		return x < y;
	case 3:
		return x <= y;
	case 4:
		return x > y;
	}
	return x >= y;
}

static bool
file_is(char what, const char *path)
{
	struct stat st;

	switch (what) {
	case 'r':
		return access(path, R_OK) == 0;
	case 'w':
		return access(path, W_OK) == 0;
	case 'x':
		return access(path, X_OK) == 0;
	}
	if (stat(path, &st) < 0)
		return false;
	return what == 'e' || (what == 'f' && S_ISREG(st.st_mode)) ||
		(what == 'd' && S_ISDIR(st.st_mode)) ||
		(what == 's' && st.st_size > 0);
}

static bool
is_unary(const char *word)
{
	return word[0] == '-' && word[1] && !word[2] &&
		strchr("nzefdrwxs", word[1]);
}

static bool
primary(struct test *t)
{
	char **w = t->words + t->at;
	const size_t left = t->n - t->at;

	if (left >= 3 && is_binary(w[1])) {
		t->at += 3;
		return compare(t, w[0], w[1], w[2]);
	}
	if (!left)
		return wrong(t, "something is missing", NULL);
	if (strcmp(w[0], "!") == 0 && left > 1) {
		t->at++;
		return !primary(t);
	}
	if (left >= 2 && is_unary(w[0])) {
		t->at += 2;
		return w[0][1] == 'n' ? *w[1] : w[0][1] == 'z' ? !*w[1] :
			file_is(w[0][1], w[1]);
	}
	t->at++;
	return *w[0];
}

static bool
at_word(struct test *t, const char *word)
{
	if (t->at == t->n || strcmp(t->words[t->at], word) != 0)
		return false;
	t->at++;
	return true;
}

static bool
all_of(struct test *t)
{
	bool truth = primary(t);

	while (!t->failed && at_word(t, "-a"))
		truth = primary(t) && truth;
	return truth;
}

static enum result
run_test(struct shell *sh, size_t n, char **words)
{
	struct test t = { .words = words, .n = n };
	bool truth;

	if (!n)
		return answer(sh, false);
	truth = all_of(&t);
	while (!t.failed && at_word(&t, "-o"))
		truth = all_of(&t) || truth;
	if (t.at < t.n)
		(void)wrong(&t, "this makes no sense here:", words[t.at]);
	sh->mistake = t.failed;
	return t.failed ? FAILED : answer(sh, truth);
}

static enum result
do_test(struct shell *sh, size_t n, char **words)
{
	return run_test(sh, n - 1, words + 1);
}

static enum result
do_bracket(struct shell *sh, size_t n, char **words)
{
	if (n > 1 && strcmp(words[n - 1], "]") == 0)
		return run_test(sh, n - 2, words + 1);
	fail(FAIL_USAGE, "a ] is missing");
	fail_remedy("[ A = B ], with blanks around all of its words");
	return FAILED;
}

/* ---- the rest ------------------------------------------------------------ */

static enum result
do_true(struct shell *sh, size_t n, char **words)
{
	(void)n;
	return answer(sh, strcmp(words[0], "false") != 0);
}

static enum result
do_echo(struct shell *sh, size_t n, char **words)
{
	const size_t bare = n > 1 && strcmp(words[1], "-n") == 0;

	for (size_t i = 1 + bare; i < n; i++)
		fprintf(sh->out, "%s%s", i > 1 + bare ? " " : "", words[i]);
	if (!bare)
		fputc('\n', sh->out);
	return DONE;
}

static enum result
do_set(struct shell *sh, size_t n, char **words)
{
	if (n > 1) {
		fail(FAIL_USAGE, "set alone lists the variables; its options "
		     "and arrays are not there");
		if (strcmp(words[1], "-e") == 0)
			fail_remedy("a file ends at its first failure; COMMAND "
				    "|| true goes on");
		else
			fail_remedy("%s=VALUE sets one; assign sets one of the "
			    "program's", var_is_name(words[1], strlen(
			    words[1])) ? words[1] : "NAME");
		return FAILED;
	}
	for (size_t i = 0; i + 1 < sh->variables.len; i += 2)
		fprintf(sh->out, "%s='%s'\n",
			(char *)sh->variables.items[i],
			(char *)sh->variables.items[i + 1]);
	return DONE;
}

/* Variables, or functions. */
static enum result
do_unset(struct shell *sh, size_t n, char **words)
{
	const bool function = n > 1 && strcmp(words[1], "-f") == 0;

	if (n < 2u + function)
		return USAGE;
	for (size_t i = 1 + function; i < n; i++) {
		if (function ? function_forget(sh, words[i]) :
		    var_unset(sh, words[i]))
			continue;
		fail(FAIL_USAGE, "there is no %s '%s'",
		     function ? "function" : "variable", words[i]);
		if (!function)
			fail_remedy("set lists them");
		return FAILED;
	}
	return DONE;
}

static enum result
do_shift(struct shell *sh, size_t n, char **words)
{
	struct params *p = sh->params;
	long long by = 1;

	if (n > 2 || (n == 2 && !str_number(words[1], 0, 1 << 20, &by)))
		return USAGE;
	if ((size_t)by > (p ? p->n : 0)) {
		fail(FAIL_USAGE, "shift: there are %zu parameters",
		     p ? p->n : 0);
		return FAILED;
	}
	if (p) {
		p->items += by;
		p->n -= (size_t)by;
	}
	return DONE;
}

static enum result
do_leave(struct shell *sh, size_t n, char **words)
{
	const bool goes_on = strcmp(words[0], "continue") == 0;
	long long levels = 1;

	if (!sh->loops) {
		fail(FAIL_USAGE, "%s: there is no loop around it", words[0]);
		/* those of gdb are meant, perhaps */
		fail_remedy(goes_on ? "cont lets the process go on" :
			    "stop in FUNCTION, or stop at FILE:LINE");
		return FAILED;
	}
	if (n > 2 || (n == 2 && !str_number(words[1], 1, 1000, &levels)))
		return USAGE;
	if (levels > sh->loops)
		levels = sh->loops;
	sh->leaving.breaks = (int)levels - goes_on;
	sh->leaving.continues = goes_on;
	return DONE;
}

static enum result
do_return(struct shell *sh, size_t n, char **words)
{
	long long status = sh->status;

	if (n > 2 || (n == 2 && !str_number(words[1], 0, 255, &status)))
		return USAGE;
	if (!sh->calls && !shell_file(sh)) {
		fail(FAIL_USAGE, "return: there is no function or file around "
		     "it");
		return FAILED;
	}
	sh->leaving.returns = true;
	sh->status = (int)status;
	return ANSWERED;
}

const struct builtin builtins[] = {
	{ ":", "", "nothing, successfully", do_true },
	{ "[", "TEST ]", "see test", do_bracket },
	{ "break", "[N]", "leave the loop (N: so many)", do_leave },
	{ "continue", "[N]", "go on with the loop's next round", do_leave },
	{ "echo", "[-n] [WORDS]", "write words", do_echo },
	{ "false", "", "say no", do_true },
	{ "return", "[STATUS]", "leave the function, or the file", do_return },
	{ "set", "", "list variables", do_set },
	{ "shift", "[N]", "drop $1; $2 becomes $1", do_shift },
	{ "test", "[!] A OPERATOR B | -n|-z A | -e|-f|-d|-r|-w|-x|-s FILE",
	  "ask, $? is 0 for yes: = != -eq -ne -lt -le -gt -ge; -a, -o join",
	  do_test },
	{ "true", "", "say yes", do_true },
	{ "unset", "[-f] NAME...", "forget variables (-f: functions)",
	  do_unset },
	{ 0 }
};

static const char *const language_words[] = { "language", "if", "then",
	"elif", "else", "fi", "case", "esac", "while", "until", "for", "do",
	"done", "function" };

const struct builtin *
builtin_find(const char *name)
{
	for (const struct builtin *b = builtins; b->name; b++)
		if (strcmp(b->name, name) == 0)
			return b;
	for (const struct builtin *b = ksh_words; b->name; b++)
		if (strcmp(b->name, name) == 0)
			return b;
	return builtin_absent(name);
}

void
builtins_each(offer_fn *offer, const char *typed)
{
	for (const struct builtin *b = builtins; b->name; b++)
		offer(b->name, typed);
	for (const struct builtin *b = ksh_words; b->name; b++)
		offer(b->name, typed);
	for (size_t i = 1; i < ARRAY_LEN(language_words); i++)
		offer(language_words[i], typed);
}

/* ---- help ---------------------------------------------------------------- */

static const char language[] =
	"statements:\n"
	"  NAME=VALUE            $NAME ${NAME} ${NAME:-WORD} $? $1 $# $* \"$@\"\n"
	"  $[EXPRESSION]         its value in the program, as print shows it\n"
	"  $((ARITHMETIC))       (( ARITHMETIC )) asks: is it other than 0?\n"
	"  $(COMMANDS)           what they write\n"
	"  A && B    A || B    ! A    { A; B; }\n"
	"  if A; then B; elif C; then D; else E; fi\n"
	"  case WORD in PATTERN|PATTERN) A;; *) B;; esac\n"
	"  while A; do B; done        until A; do B; done\n"
	"  for NAME in WORDS; do A; done\n"
	"  function NAME { A; }       NAME() { A; }\n"
	"  A | PROGRAM    A > FILE    A >> FILE      A also { }, if, for ...\n";

void
help_language(FILE *out)
{
	fputs(language, out);
	fputs("commands of the language:\n", out);
	for (const struct builtin *b = builtins; b->name; b++)
		fprintf(out, "  %-18s %s\n", b->name, b->help);
	for (const struct builtin *b = ksh_words; b->name; b++)
		fprintf(out, "  %-18s %s\n", b->name, b->help);
}

bool
help_word(FILE *out, const char *name)
{
	const struct builtin *b = builtin_find(name);

	if (b && *b->name)
		fprintf(out, "%s%s%s\n  %s\n", name, *b->args ? " " : "",
			b->args, b->help);
	else if (index_in(name, language_words,
			  ARRAY_LEN(language_words)) >= 0)
		help_language(out);
	else
		return false;
	return true;
}
