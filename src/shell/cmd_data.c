/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands for what a stopped program holds: print, whatis, whereis, assign,
 * locals, display, frame, up, down, regs.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was said so far is of use, too. */
enum result
say(struct shell *sh, struct str *out, int r)
{
	if (out->len) {
		fputs(str_tame_lines(out->data), sh->out);
		if (out->data[out->len - 1] != '\n')
			fputc('\n', sh->out);
	}
	str_fini(out);
	return r < 0 ? FAILED : DONE;
}

struct debug *
need_debug(struct shell *sh, const char *command)
{
	if (sh->core || target_alive(sh))
		return debuggee_now(sh);
	(void)fail_no_process(sh, command);
	return NULL;
}

/* ---- print --------------------------------------------------------------- */

/* "-f x EXPR", "-fx EXPR", "-f%x EXPR", "/x EXPR". NULL: it is none, told. */
static const char *
take_format(const char *text, char *format)
{
	const bool dbx = strncmp(text, "-f", 2) == 0 && text[2];

	*format = '\0';
	if (dbx)
		text += 2 + strspn(text + 2, " \t");
	else if (*text == '/')
		text++;
	else
		return text;
	if (*text == '%' && isdigit((unsigned char)text[1])) {
		fail(FAIL_USAGE, "print -f: widths are not known");
		fail_remedy("print -f x EXPR: a letter of x d u o t c f s a");
		return NULL;
	}
	text += *text == '%';
	text += strspn(text, "lhL");
	*format = *text ? *text++ : '\0';
	if (*format && strchr("iXpeg", *format))
		*format = "dxaff"[strchr("iXpeg", *format) - "iXpeg"];
	return text + strspn(text, " \t");
}

/* dbx's options, of which the answer is what it is anyway: inherited and static
 * members are shown, no name stands before the value. NULL: refused. */
static const char *
skip_options(const char *text)
{
	static const char *const known[] = { "-r ", "+r ", "+d ", "-s ", "+s ",
					     "-S ", "+S ", "-l ", "-L ", "-p ",
					     "+p " };
	size_t i;

	do {
		if (strncmp(text, "-d ", 3) == 0) {
			fail(FAIL_USAGE, "print -d: the type of a value is the "
			     "one that was declared");
			fail_remedy("print *(DERIVED *)POINTER; its table, "
				    "_vptr, tells which");
			return NULL;
		}
		for (i = 0; i < ARRAY_LEN(known); i++)
			if (strncmp(text, known[i], 3) == 0)
				break;
		if (i < ARRAY_LEN(known))
			text += 3 + strspn(text + 3, " \t");
	} while (i < ARRAY_LEN(known));
	return text;
}

/* The < of a template: its > is followed by what can follow a name. */
static const char *
end_of_template(const char *text)
{
	int depth = 0;

	for (const char *at = text; *at && !strchr(";&|=\"'", *at); at++) {
		depth += (*at == '<') - (*at == '>');
		if (depth)
			continue;
		at++;
		at += strspn(at, " \t");
		return strncmp(at, "::", 2) == 0 || strchr("(*>", *at) ? at :
			text + 1;
	}
	return text + 1;
}

/* The comma between two expressions, or the end. */
static char *
end_of_expression(char *text)
{
	int depth = 0;
	char quote = '\0';

	for (char *at = text; *at; at++) {
		if (quote && *at == '\\' && at[1])
			at++;
		else if (quote)
			quote = *at == quote ? '\0' : quote;
		else if (strchr("\"'", *at))
			quote = *at;
		else if (strchr("([{", *at))
			depth++;
		else if (strchr(")]}", *at))
			depth--;
		else if (*at == '<')
			at = text + (end_of_template(at) - text) - 1;
		else if (*at == ',' && !depth)
			return at;
	}
	return text + strlen(text);
}

static enum result
cmd_print(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "print");
	char *text, *at, format;
	const char *rest;
	enum result r = USAGE;

	if (!d)
		return FAILED;
	text = words_joined(n - 1, words + 1);
	rest = skip_options(text);
	rest = rest ? take_format(rest, &format) : NULL;
	at = rest ? text + (rest - text) : NULL;
	while (at && *at && (r == USAGE || r == DONE)) {
		struct str out = {0};
		char *end = end_of_expression(at);
		const bool more = *end;

		*end = '\0';
		r = say(sh, &out, debug_print(d, at, format, &out));
		at = end + more;
	}
	free(text);
	return rest ? r : FAILED;
}

/* -n, -e: of a name, of an expression; so it is anyway. -r: with what a class
 * inherits, as -t. */
static const char *
whatis_options(const char *text, bool *members)
{
	*members = false;
	while (*text == '-' && text[1] && strchr("ntre", text[1]) &&
	       text[2] == ' ') {
		*members |= text[1] == 't' || text[1] == 'r';
		text += 3 + strspn(text + 3, " \t");
	}
	return text;
}

static enum result
cmd_whatis(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "whatis");
	struct str out = {0};
	char *text;
	enum result r = USAGE;

	if (!d)
		return FAILED;
	text = words_joined(n - 1, words + 1);

	bool members;
	const char *of = whatis_options(text, &members);

	if (*of)
		r = say(sh, &out, members ? debug_ptype(d, of, &out) :
			debug_whatis(d, of, &out));
	free(text);
	return r;
}

static enum result
cmd_whereis(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "whereis");
	struct str out = {0};

	if (!d)
		return FAILED;
	return n == 2 ? say(sh, &out, debug_whereis(d, words[1], &out)) :
		USAGE;
}

static enum result
cmd_assign(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "assign");
	char *text, *equals;
	enum result r = USAGE;

	if (!d)
		return FAILED;
	text = words_joined(n - 1, words + 1);
	equals = strchr(text, '=');
	if (equals && equals > text && equals[1]) {
		*equals = '\0';
		r = debug_assign(d, text, equals + 1) < 0 ? FAILED : DONE;
	}
	free(text);
	return r;
}

static enum result
cmd_dump_locals(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "locals");
	struct str out = {0};

	(void)words;
	if (!d)
		return FAILED;
	return n == 1 ? say(sh, &out, debug_dump(d, &out)) : USAGE;
}

/* ---- frames -------------------------------------------------------------- */

enum { FRAMES_MOST = 100000 };

static enum result
show_frame(struct shell *sh, struct debug *d)
{
	const size_t n = debug_selected(d);
	struct debug_frame f;
	struct str out = {0};
	int r;

	str_addf(&out, "#%zu  ", n);
	r = debug_frame_text(d, n, &out);
	(void)say(sh, &out, r);
	if (r < 0)
		return FAILED;
	if (debug_frame(d, n, &f) == 0 && f.file) {
		source_print(f.file, f.line, sh->out);
		list_around(sh, f.file, f.line);
	}
	return DONE;
}

static enum result
select_frame(struct shell *sh, struct debug *d, long long n)
{
	/* of a deep stack no more than is asked for */
	const size_t count = debug_frames(d, n >= 0 && n < FRAMES_MOST ?
					  (size_t)n + 1 : FRAMES_MOST);

	if (n < 0 || (size_t)n >= count) {
		if (n < 0)
			fail(FAIL_MISSING, "frame 0 is the innermost one");
		else
			fail(FAIL_MISSING, "there is no frame %lld: they are 0 "
			     "to %zu", n, count ? count - 1 : 0);
		fail_remedy("where lists them");
		return FAILED;
	}
	if (debug_select(d, (size_t)n) < 0)
		return FAILED;
	return show_frame(sh, d);
}

/* dbx's -h: hidden frames, too; here none is hidden. */
static bool
is_hidden_too(size_t n, char **words)
{
	return n > 1 && strcmp(words[n - 1], "-h") == 0;
}

static enum result
move_frame(struct shell *sh, size_t n, char **words, int sign)
{
	struct debug *d = need_debug(sh, words[0]);
	long long by = 1;

	if (!d)
		return FAILED;
	n -= is_hidden_too(n, words);
	if (n > 2 || (n == 2 && !str_number(words[1], 0, FRAMES_MOST, &by)))
		return USAGE;
	return select_frame(sh, d, (long long)debug_selected(d) + sign * by);
}

static enum result
cmd_up(struct shell *sh, size_t n, char **words)
{
	return move_frame(sh, n, words, 1);
}

static enum result
cmd_down(struct shell *sh, size_t n, char **words)
{
	return move_frame(sh, n, words, -1);
}

/* frame, frame N, frame +N, frame -N */
static enum result
cmd_frame(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "frame");

	n -= is_hidden_too(n, words);

	const char *word = n == 2 ? words[1] : "+0";
	const int sign = *word == '+' ? 1 : *word == '-' ? -1 : 0;
	long long number;

	if (!d)
		return FAILED;
	if (n > 2 || !str_number(word + (sign != 0), 0, FRAMES_MOST, &number))
		return USAGE;
	return select_frame(sh, d, sign ? (long long)debug_selected(d) +
			    sign * number : number);
}

/* ---- registers ----------------------------------------------------------- */

static enum result
cmd_regs(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "regs");
	const bool floats = n == 2 && (strcasecmp(words[1], "-f") == 0 ||
				       strcmp(words[1], "-x") == 0);
	struct str out = {0};

	if (!d)
		return FAILED;
	if (n > 2 || (n == 2 && !floats))
		return USAGE;
	return say(sh, &out, debug_registers(d, floats ? DEBUG_ALL :
					     DEBUG_GENERAL, &out));
}

/* ---- display ------------------------------------------------------------- */

static void
show_display(struct shell *sh, struct debug *d, size_t i)
{
	const char *text = sh->displays.items[i];
	struct str out = {0};

	if (debug_print(d, text, '\0', &out) < 0) {
		str_addf(&out, "<%s>", fail_last()->reason);
		fail_clear();
	}
	fprintf(sh->out, "%zu: %s = ", i + 1, text);
	(void)say(sh, &out, 0);
}

void
displays_show(struct shell *sh)
{
	struct debug *d = sh->displays.len && (sh->core || target_alive(sh)) ?
		debuggee_now(sh) : NULL;

	for (size_t i = 0; d && i < sh->displays.len; i++)
		show_display(sh, d, i);
}

static enum result
cmd_display(struct shell *sh, size_t n, char **words)
{
	char *text = words_joined(n - 1, words + 1);

	if (*text)
		vec_push(&sh->displays, text);
	else
		free(text);
	displays_show(sh);
	return DONE;
}

/* By the expression; -1: there is none. */
static long long
display_of(const struct shell *sh, size_t n, char **words)
{
	char *text = words_joined(n - 1, words + 1);
	long long found = -1;

	for (size_t i = 0; i < sh->displays.len && found < 0; i++)
		if (strcmp(sh->displays.items[i], text) == 0)
			found = (long long)i + 1;
	free(text);
	return found;
}

static enum result
cmd_undisplay(struct shell *sh, size_t n, char **words)
{
	long long number;

	if (n < 2)
		return USAGE;
	if (!str_number(words[1], 0, 1 << 30, &number))
		number = display_of(sh, n, words);
	if (number < 0 || (size_t)number > sh->displays.len) {
		fail(FAIL_MISSING, "undisplay: nothing like that is displayed");
		fail_remedy("display lists them; undisplay N");
		return FAILED;
	}
	for (size_t i = sh->displays.len; i-- > 0;) {
		if (number && (size_t)number != i + 1)
			continue;
		free(sh->displays.items[i]);
		sh->displays.len--;
		memmove(&sh->displays.items[i], &sh->displays.items[i + 1],
			(sh->displays.len - i) * sizeof *sh->displays.items);
	}
	return DONE;
}

const struct command data_commands[] = {
	{ "assign", "LEFT = RIGHT", "give a variable or a register a value",
	  NEEDS_STANDING | REDIRECTS_ITSELF, cmd_assign, "assign n = 3" },
	{ "display", "[EXPR]", "print an expression at each stop; without: "
	  "all of them now", REDIRECTS_ITSELF, cmd_display, "display *node" },
	{ "down", "[N]", "select the frame that was called",
	  NEEDS_STANDING, cmd_down, "down" },
	{ "frame", "[N | +N | -N]", "select a frame, and print it",
	  NEEDS_STANDING, cmd_frame, "frame 2" },
	{ "locals", "", "print arguments and variables of the frame",
	  NEEDS_STANDING, cmd_dump_locals, "locals" },
	{ "print", "[-f FORMAT] EXPR[, EXPR...]", "print the values of expressions\n"
	  "  (FORMAT: x d u o t c f s a)", REDIRECTS_ITSELF | OF_PROGRAM, cmd_print,
	  "print list->next->name" },
	{ "regs", "[-f | -F | -x]", "print the registers of the frame (with one of\n"
	  "  these: floats and vectors, too)",
	  NEEDS_STANDING, cmd_regs, "regs" },
	{ "undisplay", "N | EXPR | 0", "print it no more (0: none of them)", 0,
	  cmd_undisplay, "undisplay 1" },
	{ "up", "[N]", "select the frame that called", NEEDS_STANDING, cmd_up,
	  "up 2" },
	{ "whatis", "[-t | -r | -n | -e] EXPR|TYPE", "print a type (-t, -r: "
	  "with its\n  members)",
	  REDIRECTS_ITSELF | OF_PROGRAM, cmd_whatis, "whatis list" },
	{ "whereis", "NAME", "list all that has this name", OF_PROGRAM, cmd_whereis,
	  "whereis main" },
	{ 0 }
};
