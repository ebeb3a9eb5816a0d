/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Linkage names as a person reads them. libiberty demangles; here its appetite
 * is bounded, since a name of a hundred bytes can stand for gigabytes, and the
 * suffixes of compiler-made copies are set apart: `f [clone .constprop.0]`.
 * Control characters in a name never reach a terminal.
 */
#include "base.h"
#include "symfile.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_MAX_IN = 8192,		/* longer names are cut */
	NAME_MAX_OUT = 65536,		/* longer results are given up */
};

/* What we say of a function behind its name. */
static const char *const marks[] = { " [resolver]", " [inlined]" };

struct sink {
	struct str text;
	jmp_buf full;
};

/*
 * libiberty's printers keep their state on the stack and offer no way to
 * stop them; a jump out of the callback leaves nothing behind.
 */
static void
collect(const char *text, size_t n, void *arg)
{
	struct sink *sink = arg;

	if (sink->text.len + n > NAME_MAX_OUT)
		longjmp(sink->full, 1);
	if (n > 0)		/* text may be NULL then */
		str_addn(&sink->text, text, n);
}

static bool
run_demanglers(const char *name, int options, struct sink *sink)
{
	if (setjmp(sink->full))
		return false;
	if (rust_demangle_callback(name, options, collect, sink))
		return true;
	str_clear(&sink->text);
	return cplus_demangle_v3_callback(name, options, collect, sink) != 0;
}

static char *
demangle(const char *name, int options)
{
	struct sink *sink = xcalloc(1, sizeof *sink);
	char *text = NULL;

	if (run_demanglers(name, options, sink) && sink->text.len > 0)
		text = str_take(&sink->text);
	str_fini(&sink->text);
	free(sink);
	return text;
}

static bool
is_mangled(const char *name)
{
	return str_starts(name, "_Z") || str_starts(name, "_R");
}

/* The words compilers put behind a dot when they copy or split a function. */
static bool
is_clone_word(const char *word, size_t n)
{
	static const char *const words[] = {
		"constprop", "isra", "part", "cold", "lto_priv", "localalias",
		"specialized", "llvm", "default", "resolver", "warm", "hot",
	};
	static const char *const prefixes[] = { "arch_", "avx", "sse" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (n == strlen(words[i]) && memcmp(word, words[i], n) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (n >= strlen(prefixes[i]) &&
		    memcmp(word, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static bool
is_number(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return n > 0;
}

/* The length of one suffix, `.word` and any `.number` behind it; 0: none. */
static size_t
clone_len(const char *tail, bool any_word)
{
	if (tail[0] != '.')
		return 0;

	const size_t word = strcspn(tail + 1, ".");
	size_t len = 1 + word;

	if (any_word ? word == 0 || is_number(tail + 1, word) :
	    !is_clone_word(tail + 1, word))
		return 0;
	while (tail[len] == '.') {
		const size_t digits = strcspn(tail + len + 1, ".");

		if (!is_number(tail + len + 1, digits))
			break;
		len += 1 + digits;
	}
	return len;
}

/* Behind the hash that ends a name of Rust's old scheme, which has dots of
 * its own; the name itself when it is none. */
static const char *
behind_rust_hash(const char *name)
{
	enum { HEX = 16 };
	const char *end = name;

	for (const char *h = strstr(name, "17h"); h; h = strstr(h + 1, "17h"))
		if (strspn(h + 3, "0123456789abcdef") == HEX &&
		    h[3 + HEX] == 'E')
			end = h + 3 + HEX + 1;
	return end;
}

/* Hashes of names that end in no suffix, whatever it looks like. A name alone
 * does not say so, its object does (go.c). */
static struct map dotted;

static bool
has_own_dots(const char *name)
{
	uint64_t value;

	return map_get(&dotted, hash_bytes(name, strlen(name), 0), &value);
}

void
name_note_dots(const char *name)
{
	map_put(&dotted, hash_bytes(name, strlen(name), 0), 1);
}

/*
 * Where the suffixes begin; the end of the name when there are none. A dot
 * in a mangled name is always a suffix; in C and assembly it may not be.
 */
static const char *
clones_of(const char *name, bool any_word)
{
	const char *from = any_word ? behind_rust_hash(name) : name;
	const char *dot = *from ? strchr(from + (from == name), '.') : NULL;

	if (dot && !any_word && has_own_dots(name))
		return name + strlen(name);
	for (; dot; dot = strchr(dot + 1, '.')) {
		const char *tail = dot;
		size_t n;

		while ((n = clone_len(tail, any_word)) > 0)
			tail += n;
		if (*tail == '\0')
			return dot;
	}
	return name + strlen(name);
}

bool
name_is_copy(const char *name)
{
	return !is_mangled(name) && *clones_of(name, false);
}

char *
name_copied(const char *name)
{
	const char *tail = clones_of(name, is_mangled(name));

	/* parts of a function are not entered by who calls it */
	if (!*tail || tail == name || strstr(tail, ".cold") ||
	    strstr(tail, ".part") || strstr(tail, ".resolver"))
		return NULL;
	return xstrndup(name, (size_t)(tail - name));
}

static void
add_clones(struct str *out, const char *tail, bool any_word)
{
	size_t n;

	for (; (n = clone_len(tail, any_word)) > 0; tail += n)
		str_addf(out, " [clone %.*s]", (int)n, tail);
}

/* `name` without parameters and without the hash of Rust's old scheme. */
static void
add_short(struct str *out, const char *name)
{
	const char *tail = clones_of(name, true);
	char *base = xstrndup(name, (size_t)(tail - name));
	char *text = demangle(base, DMGL_ANSI);

	str_add(out, text ? text : base);
	add_clones(out, tail, true);
	free(text);
	free(base);
}

static void
add_demangled(struct str *out, const char *name, enum name_form form)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE;
	char *text = NULL;

	if (form == NAME_SHORT) {
		add_short(out, name);
		return;
	}
	text = demangle(name, options);
	str_add(out, text ? text : name);
	free(text);
}

static void
add_plain(struct str *out, const char *name)
{
	const char *tail = clones_of(name, false);

	str_addn(out, name, (size_t)(tail - name));
	add_clones(out, tail, false);
}

char *
name_display(const char *linkage_name, enum name_form form)
{
	char *name = xstrndup(linkage_name, NAME_MAX_IN);
	struct str out = {0};
	const char *mark = "";

	if (form == NAME_MANGLED) {
		(void)str_tame(name);
		return name;
	}
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (str_ends(name, marks[i])) {
			mark = marks[i];
			name[strlen(name) - strlen(mark)] = '\0';
		}
	if (is_mangled(name))
		add_demangled(&out, name, form);
	else
		add_plain(&out, name);
	str_add(&out, mark);
	free(name);

	char *text = out.data ? str_take(&out) : xstrdup("");

	(void)str_tame(text);
	return text;
}
