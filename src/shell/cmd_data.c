/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands for what a stopped program holds: print, whatis, whereis, assign,
 * locals, display, frame, up, down, examine, regs.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was said so far is of use, too. */
static enum result
say(struct shell *sh, struct str *out, int r)
{
	if (out->len) {
		fputs(str_tame(out->data), sh->out);
		if (out->data[out->len - 1] != '\n')
			fputc('\n', sh->out);
	}
	str_fini(out);
	return r < 0 ? FAILED : DONE;
}

static struct debug *
need_debug(struct shell *sh, const char *command)
{
	if (sh->core || target_alive(sh))
		return debuggee_now(sh);
	fail(FAIL_USAGE, "%s: there is no process", command);
	fail_remedy("attach PID, or debug PROGRAM and run");
	return NULL;
}

/* ---- print ---------------------------------------------------------------- */

/* "-f x EXPR", "-fx EXPR", "/x EXPR". */
static const char *
take_format(const char *text, char *format)
{
	*format = '\0';
	if (strncmp(text, "-f", 2) == 0 && text[2])
		text += 2 + strspn(text + 2, " \t");
	else if (*text == '/')
		text++;
	else
		return text;
	*format = *text ? *text++ : '\0';
	return text + strspn(text, " \t");
}

static enum result
cmd_print(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "print");
	struct str out = {0};
	char *text, format;
	const char *rest;
	enum result r = USAGE;

	if (!d)
		return FAILED;
	text = words_joined(n - 1, words + 1);
	rest = take_format(text, &format);
	if (*rest)
		r = say(sh, &out, debug_print(d, rest, format, &out));
	free(text);
	return r;
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

	const bool members = strncmp(text, "-t ", 3) == 0;

	if (*text)
		r = say(sh, &out, members ? debug_ptype(d, text + 3, &out) :
			debug_whatis(d, text, &out));
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

/* ---- frames --------------------------------------------------------------- */

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
	if (debug_frame(d, n, &f) == 0 && f.file)
		source_print(f.file, f.line, sh->out);
	return DONE;
}

static enum result
select_frame(struct shell *sh, struct debug *d, long long n)
{
	/* of a deep stack no more than is asked for */
	const size_t count = debug_frames(d, n >= 0 && n < FRAMES_MOST ?
					  (size_t)n + 1 : FRAMES_MOST);

	if (n < 0 || (size_t)n >= count) {
		fail(FAIL_MISSING, "frame %lld: there are %zu", n, count);
		fail_remedy("where lists them");
		return FAILED;
	}
	if (debug_select(d, (size_t)n) < 0)
		return FAILED;
	return show_frame(sh, d);
}

static enum result
move_frame(struct shell *sh, size_t n, char **words, int sign)
{
	struct debug *d = need_debug(sh, words[0]);
	long long by = 1;

	if (!d)
		return FAILED;
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

/* ---- memory and registers ------------------------------------------------- */

static void
cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
}

/* "/10", "/10i", "/x": at the end of a word or alone; what is before it stays.
 * false: no such thing. */
static bool
take_count(char *text, long long *count, char *letter)
{
	char *slash = strrchr(text, '/');
	char *end;

	if (!slash)
		return true;
	*slash = '\0';
	if (isdigit((unsigned char)slash[1])) {
		errno = 0;
		*count = strtoll(slash + 1, &end, 10);
		if (errno || *count < 1 || *count > 100000)
			return false;
	} else {
		end = slash + 1;
	}
	if (*end && !end[1])
		*letter = *end;
	else if (*end)
		return false;
	cut_blanks(text);
	return true;
}

/* dbx's letters, as gdb's format and size. */
static const struct { char letter, format; unsigned size; } formats[] = {
	{ 'X', 'x', 4 }, { 'x', 'x', 2 }, { 'D', 'd', 4 }, { 'd', 'd', 2 },
	{ 'O', 'o', 4 }, { 'o', 'o', 2 }, { 'b', 'o', 1 }, { 'c', 'c', 1 },
	{ 'g', 'x', 8 }, { 'F', 'f', 8 }, { 'f', 'f', 4 }, { 's', 's', 0 },
	{ 'a', 'a', 8 },
};

static enum result
examine(struct shell *sh, struct debug *d, const char *text, char letter,
	long long count)
{
	struct str out = {0};
	uint64_t addr, size, next;

	if (debug_address(d, text, &addr, &size) < 0)
		return FAILED;
	if (letter == 'i')
		return say(sh, &out, debug_examine(d, addr, (size_t)count, 'i',
						   0, &out, &next));
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (formats[i].letter != letter)
			continue;
		return say(sh, &out, debug_examine(d, addr, (size_t)count,
						   formats[i].format,
						   formats[i].size, &out,
						   &next));
	}
	fail(FAIL_USAGE, "examine: format '%c' is not known", letter);
	fail_remedy("i s c a b x X d D o O g f F, as in x main /8i");
	return FAILED;
}

static enum result
cmd_examine(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "examine");
	long long count = 1;
	char letter = 'X', *text;
	enum result r = USAGE;

	if (!d)
		return FAILED;
	text = words_joined(n - 1, words + 1);
	if (take_count(text, &count, &letter))
		r = examine(sh, d, *text ? text : "$pc", letter, count);
	free(text);
	return r;
}

static enum result
cmd_dis(struct shell *sh, size_t n, char **words)
{
	struct debug *d;
	long long count = 10;
	char letter = 'i', *text;
	enum result r = USAGE;

	/* then it is short for the table of the experiment */
	if (!sh->core && !target_alive(sh)) {
		words[0] = (char *)"disasm";
		return view_run(sh, n, words);
	}
	d = debuggee_now(sh);
	text = words_joined(n - 1, words + 1);
	if (take_count(text, &count, &letter) && letter == 'i')
		r = examine(sh, d, *text ? text : "$pc", 'i', count);
	free(text);
	return r;
}

static enum result
cmd_regs(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "regs");
	const bool floats = n == 2 && strcasecmp(words[1], "-f") == 0;
	struct str out = {0};

	if (!d)
		return FAILED;
	if (n > 2 || (n == 2 && !floats))
		return USAGE;
	return say(sh, &out, debug_registers(d, floats ? DEBUG_ALL :
					     DEBUG_GENERAL, &out));
}

/* ---- display -------------------------------------------------------------- */

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

static enum result
cmd_undisplay(struct shell *sh, size_t n, char **words)
{
	long long number;

	if (n != 2 || !str_number(words[1], 0, (long long)sh->displays.len,
				  &number))
		return USAGE;
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
	{ "dis", "[ADDRESS] [/COUNT]", "print instructions, from where the "
	  "thread stands", REDIRECTS_ITSELF, cmd_dis,
	  "dis main /5" },
	{ "display", "[EXPR]", "print an expression at each stop; without: "
	  "all of them now", REDIRECTS_ITSELF, cmd_display, "display *node" },
	{ "down", "[N]", "select the frame that was called",
	  NEEDS_STANDING, cmd_down, "down" },
	{ "examine", "[ADDRESS] [/[COUNT][FORMAT]]", "print memory (FORMAT: "
	  "i s c a x X g d D o O b f F)",
	  REDIRECTS_ITSELF, cmd_examine, "examine main /8i" },
	{ "frame", "[N | +N | -N]", "select a frame, and print it",
	  NEEDS_STANDING, cmd_frame, "frame 2" },
	{ "locals", "", "print arguments and variables of the frame",
	  NEEDS_STANDING, cmd_dump_locals, "locals" },
	{ "print", "[-f FORMAT] EXPR", "print an expression's value (FORMAT: "
	  "x d u o t c f s a)", REDIRECTS_ITSELF, cmd_print,
	  "print list->next->name" },
	{ "regs", "[-f]", "print the registers of the frame (-f: floats, too)",
	  NEEDS_STANDING, cmd_regs, "regs" },
	{ "undisplay", "N | 0", "print it no more (0: none of them)", 0,
	  cmd_undisplay, "undisplay 1" },
	{ "up", "[N]", "select the frame that called", NEEDS_STANDING, cmd_up,
	  "up 2" },
	{ "whatis", "[-t] EXPR|TYPE", "print a type (-t: with its members)",
	  REDIRECTS_ITSELF, cmd_whatis, "whatis list" },
	{ "whereis", "NAME", "list all that has this name", 0, cmd_whereis,
	  "whereis main" },
	{ "x", "[ADDRESS] [/[COUNT][FORMAT]]", "the same as examine",
	  REDIRECTS_ITSELF, cmd_examine, "x main /8i" },
	{ 0 }
};
