/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is looked at: list, lines of the source; file and func, which source and
 * function that is; dump, what the function has.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- list ---------------------------------------------------------------- */

enum { LIST_LINES = 10 };

static void
list_at(struct shell *sh, const char *file, int line)
{
	char *copy = xstrdup(file);	/* it may be list_file itself */

	free(sh->list_file);
	sh->list_file = copy;
	sh->list_line = sh->list_first = line > 0 ? line : 1;
}

void
list_around(struct shell *sh, const char *file, int line)
{
	list_at(sh, file, line - LIST_LINES / 2);
}

/* By symbols; false and a failure: there is none, or it has no code of its
 * own. */
static bool
line_of_code(struct shell *sh, const char *name, struct debug_code *out)
{
	const uint64_t addr = live_function(live_of(sh), name);
	struct live_place p;

	if (addr && (!live_find(live_of(sh), addr, &p) ||
		     !symfile_declared(p.sf, p.vaddr, &out->file, &out->line)))
		out->file = NULL;
	return addr;
}

static int
line_by_debug(struct shell *sh, const char *name, struct debug_code *out)
{
	struct debug *d = debuggee_now(sh);

	return d ? debug_function(d, name, out) : -1;
}

static int
line_of_function(struct shell *sh, const char *name, const char **file,
		 int *line)
{
	struct debug_code code = {0};
	int r = 0;

	if (sh->core) {
		r = line_by_debug(sh, name, &code);
	} else if (!line_of_code(sh, name, &code)) {
		struct failure *why = fail_keep();

		r = line_by_debug(sh, name, &code);
		fail_again(why);
		if (r == 0)
			fail_clear();
	}
	*file = code.file;
	*line = code.line;
	return r;
}

/* Before anything was looked at, as of dbx: where main is. */
const char *
list_file(struct shell *sh)
{
	const char *file;
	int line;

	if (!sh->list_file && (sh->core || target_alive(sh)) &&
	    line_of_function(sh, "main", &file, &line) == 0 && file)
		list_around(sh, file, line);
	if (!sh->list_file)
		fail_clear();
	return sh->list_file;
}

/* Of a program that does not run there is nothing but the file. */
static bool
stands_nowhere(const struct shell *sh)
{
	return sh->core && !core_threads(sh->core);
}

/* Around the line where a function, or the thread, is. */
static int
list_function(struct shell *sh, const char *name)
{
	const char *file;
	int line;

	if (line_of_function(sh, name, &file, &line) < 0)
		return -1;
	if (!file) {
		fail(FAIL_MISSING, "list: function '%s' has no lines", name);
		return fail_remedy("compile it with -g, or install its "
				   "debug symbols");
	}
	list_around(sh, file, line);
	return 0;
}

static int
line_of_thread(struct shell *sh, struct debug_frame *f)
{
	struct place p;

	if (sh->core) {
		struct debug *d = debuggee_now(sh);

		return d ? debug_frame(d, debug_selected(d), f) : -1;
	}
	if (place_now(sh, thread_now(sh), &p) < 0)
		return -1;
	*f = (struct debug_frame){ .pc = p.pc, .file = p.file, .line = p.line };
	return 0;
}

static int
list_here(struct shell *sh)
{
	struct debug_frame f;

	if (stands_nowhere(sh) && list_file(sh))
		return 0;
	if (line_of_thread(sh, &f) < 0)
		return -1;
	if (!f.file) {
		fail(FAIL_MISSING, "list: there are no lines at %#llx",
		     (unsigned long long)f.pc);
		return fail_remedy("list FUNCTION; dis shows instructions");
	}
	list_around(sh, f.file, f.line);
	return 0;
}

static enum result
list_lines(struct shell *sh, int last)
{
	bool any = false;

	for (int line = sh->list_line; line <= last; line++) {
		char *text = source_line(sh->list_file, line);

		if (!text)
			break;
		fprintf(sh->out, "%5d   %s\n", line, text);
		free(text);
		any = true;
		sh->list_line = line + 1;
	}
	if (any)
		return DONE;
	fail(FAIL_MISSING, "list: %s has no line %d, or cannot be read",
	     sh->list_file, sh->list_line);
	return FAILED;
}

/* So many lines from there on; - and -w can go back beyond the first. */
static enum result
list_from(struct shell *sh, long long first, long long count)
{
	if (first < 1)
		first = 1;
	sh->list_line = sh->list_first = (int)first;
	return list_lines(sh, (int)(first + count - 1));
}

/* + or -, perhaps with a number: what comes next, what was before. */
static bool
is_move(const char *word, long long *count)
{
	*count = LIST_LINES;
	return (*word == '+' || *word == '-') &&
		(!word[1] || str_number(word + 1, 1, 100000, count));
}

/* -w, -wN: the window around the place. */
static bool
is_window(const char *word, long long *count)
{
	if (strncmp(word, "-w", 2) != 0)
		return false;
	*count = LIST_LINES + 1;
	return !word[2] || str_number(word + 2, 1, 100000, count);
}

/* N, N,M, N,+K, FILE:N ...; last 0: one place alone. false: no such thing. */
static bool
take_lines(struct shell *sh, const char *word, long long *first,
	   long long *last)
{
	const char *colon = strrchr(word, ':');
	const char *numbers = colon && colon[-1] != ':' ? colon + 1 : word;
	const char *comma = strchr(numbers, ',');
	char *start = xstrndup(numbers, comma ? (size_t)(comma - numbers) :
			       strlen(numbers));
	const bool plus = comma && comma[1] == '+';
	bool good = str_number(start, 1, 1 << 30, first);

	*last = 0;
	if (good && comma)
		good = str_number(comma + 1 + plus, plus ? 0 : *first, 1 << 30,
				  last);
	if (good && plus)
		*last += *first;
	if (good && numbers != word) {
		char *name = xstrndup(word, (size_t)(numbers - 1 - word));
		char *file = source_named(sh, name);

		list_at(sh, file, 1);
		free(file);
		free(name);
	}
	free(start);
	return good;
}

/* FUNCTION, FUNCTION,+K */
static enum result
list_named(struct shell *sh, char *name, long long window)
{
	char *comma = strstr(name, ",+");
	long long count = LIST_LINES;

	if (comma && str_number(comma + 2, 0, 100000, &count)) {
		*comma = '\0';
		count++;
	} else {
		comma = NULL;
	}
	if (list_function(sh, name) < 0)
		return FAILED;
	if (window)
		return list_from(sh, sh->list_line + LIST_LINES / 2 -
				 window / 2, window);
	return list_from(sh, sh->list_line + (comma ? LIST_LINES / 2 : 0),
			 count);
}

static enum result
no_instructions(void)
{
	fail(FAIL_USAGE, "list -i: lines and instructions are not mixed");
	fail_remedy("dis, dis -a FUNCTION");
	return FAILED;
}

static enum result
cmd_list(struct shell *sh, size_t n, char **words)
{
	long long first, last, count, window = 0;

	if (n > 1 && (strcmp(words[1], "-i") == 0 ||
		      strcmp(words[1], "-instr") == 0))
		return no_instructions();
	if (n > 1 && is_window(words[1], &window)) {
		words++;
		n--;
	}
	if (n > 2)
		return USAGE;
	if ((n == 1 && (window || !sh->list_file)) ||
	    (n == 2 && !sh->list_file && strchr("+-0123456789", *words[1]))) {
		if (list_here(sh) < 0)
			return FAILED;
	}
	if (n == 1 && window)
		return list_from(sh, sh->list_line + LIST_LINES / 2 -
				 window / 2, window);
	if (n == 1)
		return list_from(sh, sh->list_line, LIST_LINES);
	if (is_move(words[1], &count))
		return list_from(sh, *words[1] == '+' ? sh->list_line :
				 (sh->list_first ? sh->list_first :
				  sh->list_line) - count, count);
	if (!take_lines(sh, words[1], &first, &last))
		return list_named(sh, words[1], window);
	if (window)
		return list_from(sh, first - window / 2, window);
	return list_from(sh, first, last ? last - first + 1 : 1);
}

/* ---- file, func, dump ---------------------------------------------------- */

enum { FRAMES_MOST = 100000 };

/* Without its parameters, and what is before its last part. */
static bool
is_function(const struct debug_frame *f, const char *name)
{
	return f->function && (strcmp(f->function, name) == 0 ||
			       name_ends_so(f->function, name));
}

/* The innermost frame of that function; -1: it is not on the stack. */
static int
select_function(struct debug *d, const char *name)
{
	const size_t n = debug_frames(d, FRAMES_MOST);
	struct debug_frame f;

	for (size_t i = 0; i < n; i++)
		if (debug_frame(d, i, &f) == 0 && is_function(&f, name))
			return debug_select(d, i);
	fail(FAIL_MISSING, "%s is not on the stack of the thread", name);
	return fail_remedy("where shows what is");
}

static struct debug *
selected(struct shell *sh, struct debug_frame *f)
{
	struct debug *d = debuggee_now(sh);

	return debug_frame(d, debug_selected(d), f) < 0 ? NULL : d;
}

static enum result
cmd_file(struct shell *sh, size_t n, char **words)
{
	struct debug_frame f;

	if (n > 2)
		return USAGE;
	if (n == 2) {
		char *file = source_named(sh, words[1]);

		list_at(sh, file, 1);
		free(file);
	} else if (!(stands_nowhere(sh) ? list_file(sh) : sh->list_file) &&
		   !selected(sh, &f))
		return FAILED;
	if (n == 1) {
		char *name = str_tamed(sh->list_file ? sh->list_file :
				       f.file ? f.file : "no file is known");

		fprintf(sh->out, "%s\n", name);
		free(name);
	}
	return DONE;
}

/* Of a program that does not run: its source is looked at then. */
static enum result
func_of_file(struct shell *sh, size_t n, char **words)
{
	struct debug_code code;

	if (n == 1) {
		fail(FAIL_UNSUITABLE, "func: the program does not run");
		fail_remedy("func FUNCTION, or run");
		return FAILED;
	}
	if (line_by_debug(sh, words[1], &code) < 0)
		return FAILED;

	char *name = str_tame(name_display(code.name, NAME_LONG));

	fprintf(sh->out, "%s\n", name);
	free(name);
	if (code.file)
		list_around(sh, code.file, code.line);
	return DONE;
}

static enum result
cmd_func(struct shell *sh, size_t n, char **words)
{
	struct debug_frame f;
	struct debug *d;

	if (n > 2)
		return USAGE;
	if (stands_nowhere(sh))
		return func_of_file(sh, n, words);
	/* then it is short for the table of the experiment */
	if (!sh->core && !target_alive(sh)) {
		words[0] = (char *)"functions";
		return view_run(sh, n, words);
	}
	if (!(d = selected(sh, &f)) ||
	    (n == 2 && select_function(d, words[1]) < 0) ||
	    debug_frame(d, debug_selected(d), &f) < 0)
		return FAILED;

	char *name = f.function ? name_display(f.function, NAME_LONG) : NULL;

	fprintf(sh->out, "%s\n", name ? str_tame(name) : "<Unknown>");
	free(name);
	if (n == 2 && f.file)
		list_around(sh, f.file, f.line);
	return DONE;
}

static enum result
cmd_dump(struct shell *sh, size_t n, char **words)
{
	struct str out = {0};
	struct debug_frame f;
	struct debug *d;
	int r;

	if (n > 2)
		return USAGE;
	if (!(d = selected(sh, &f)))
		return FAILED;

	const size_t before = debug_selected(d);

	if (n == 2 && select_function(d, words[1]) < 0)
		return FAILED;
	r = debug_dump(d, &out);
	if (out.data)
		fputs(str_tame_lines(out.data), sh->out);
	str_fini(&out);
	(void)debug_select(d, before);
	return r < 0 ? FAILED : DONE;
}

const struct command list_commands[] = {
	{ "dump", "[FUNCTION]", "print arguments and variables of a function "
	  "on the stack", NEEDS_STANDING, cmd_dump, "dump main" },
	{ "file", "[FILE]", "tell which source is looked at, or choose it",
	  NEEDS_SEEN | OF_PROGRAM, cmd_file, "file main.c" },
	{ "func", "[FUNCTION]", "tell which function is looked at, or choose "
	  "one", OF_PROGRAM | OR_EXPERIMENT, cmd_func, "func main" },
	{ "list", "[-w[N]] [[FILE:]N[,M|,+K] | FUNCTION[,+K] | +[N] | -[N]]",
	  "print lines of the source (-w: around it; +, -: what comes\n"
	  "  next, what was before)",
	  NEEDS_SEEN | OF_PROGRAM, cmd_list, "list main" },
	{ 0 }
};
