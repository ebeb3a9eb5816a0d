/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What annotated listings show beside code and cost: classes of commentary,
 * and from which share of the highest value on a line is hot. The classes are
 * those of other compilers; of ours two have something to say: how a file was
 * compiled (cf), and what was put into a line from elsewhere (inline).
 */
#include "private.h"

#include <string.h>

/* shortest: so many letters are enough; those of one bit are one class. */
static const struct class {
	const char *name;
	size_t shortest;
	unsigned set, clear;
	bool disasm_only;
} classes[] = {
	{ "basic", 1, 0, 0, false },
	{ "version", 1, 0, 0, false },
	{ "parallel", 2, 0, 0, false },
	{ "query", 1, 0, 0, false },
	{ "loop", 1, 0, 0, false },
	{ "pipe", 2, 0, 0, false },
	{ "inline", 1, SHOW_INLINES, 0, false },
	{ "memops", 1, 0, 0, false },
	{ "fe", 1, 0, 0, false },
	{ "codegen", 2, 0, 0, false },
	{ "cf", 2, SHOW_FLAGS, 0, false },
	{ "all", 2, SHOW_INLINES | SHOW_FLAGS, 0, false },
	{ "none", 2, 0, SHOW_INLINES | SHOW_FLAGS, false },
	{ "hex", 1, SHOW_HEX, 0, true },
	{ "nohex", 3, 0, SHOW_HEX, true },
	{ "src", 1, SHOW_SOURCE, 0, true },
	{ "nosrc", 3, 0, SHOW_SOURCE, true },
	{ "asrc", 2, SHOW_SOURCE, 0, true },
};

static const struct class *
find_class(const char *word, size_t n, bool disasm)
{
	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (n >= classes[i].shortest && n <= strlen(classes[i].name) &&
		    !strncmp(classes[i].name, word, n) &&
		    (disasm || !classes[i].disasm_only))
			return &classes[i];
	return NULL;
}

/* What is named replaces the classes; hex and src stay as they are where
 * nothing is said of them. */
static int
parse_classes(const char *command, const char *text, bool disasm,
	      unsigned *shown)
{
	unsigned now = *shown & (SHOW_HEX | SHOW_SOURCE);

	for (const char *at = text; *at;) {
		const size_t n = strcspn(at, ":");
		const struct class *c = find_class(at, n, disasm);

		if (!c) {
			fail(FAIL_USAGE, "%s: %.*s is no class of commentary",
			     command, (int)n, at);
			return fail_remedy("%s all, none, or of basic version "
				"parallel query loop pipe inline memops fe "
				"codegen cf%s, with : between them", command,
				disasm ? " hex nohex src nosrc" : "");
		}
		now = (now | c->set) & ~c->clear;
		at += n + (at[n] == ':');
	}
	*shown = now;
	return 0;
}

static void
show_classes(const char *command, unsigned shown, bool disasm, FILE *out)
{
	const unsigned all = SHOW_INLINES | SHOW_FLAGS;

	fprintf(out, "%s %s", command, (shown & all) == all ? "all" :
		shown & SHOW_INLINES ? "inline" : shown & SHOW_FLAGS ? "cf" :
		"none");
	if (disasm)
		fprintf(out, ":%s:%s", shown & SHOW_HEX ? "hex" : "nohex",
			shown & SHOW_SOURCE ? "src" : "nosrc");
	putc('\n', out);
}

int
view_scc(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		show_classes("scc", v->source_shows, false, out);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	return parse_classes("scc", words[1], false, &v->source_shows);
}

int
view_dcc(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		show_classes("dcc", v->disasm_shows, true, out);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	return parse_classes("dcc", words[1], true, &v->disasm_shows);
}

int
view_cc(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	unsigned source = v->source_shows, disasm = v->disasm_shows;

	if (n == 1) {
		show_classes("scc", source, false, out);
		show_classes("dcc", disasm, true, out);
		return 0;
	}
	if (words_check(n, words, 2) < 0 ||
	    parse_classes("cc", words[1], false, &source) < 0 ||
	    parse_classes("cc", words[1], false, &disasm) < 0)
		return -1;
	v->source_shows = source;
	v->disasm_shows = disasm;
	return 0;
}

static int
threshold(size_t n, const char *const *words, unsigned *percent, FILE *out)
{
	long long value;

	if (n == 1) {
		fprintf(out, "%s %u\n", words[0], *percent);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	if (!str_number(words[1], 0, 100, &value)) {
		fail(FAIL_USAGE, "%s: %s is not a percentage", words[0],
		     words[1]);
		return fail_remedy("%s 75 marks what has 75 %% of the highest "
				   "value, or more", words[0]);
	}
	*percent = (unsigned)value;
	return 0;
}

int
view_sthresh(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	return threshold(n, words, &v->source_threshold, out);
}

int
view_dthresh(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	return threshold(n, words, &v->disasm_threshold, out);
}
