/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of maps without doubt. The kernel writes a newline in a path as
 * \012 and a backslash as itself, and adds " (deleted)" to names that may end
 * so without being deleted: such names are asked for, and written so that each
 * has one meaning. A backslash is \134 then.
 *
 * Programs copy their text to other memory at its own addresses (for large
 * pages, or to patch it), and that has no file then. What lies within an
 * executable segment of a load object, by the headers that the object has in
 * memory, is its text all the same, and gets its name, inode and offset.
 */
#include "foreign.h"
#include "private.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELDS = 5, HEADERS_MAX = 64, PAGE = 4096,
       PIECES_MAX = 8 };

static const char mark[] = " (deleted)";

/* ---- names ---------------------------------------------------------------- */

/* Where the path of a line begins, which ends at end. */
static const char *
path_of(const char *line, const char *end)
{
	const char *p = line;

	for (int i = 0; i < FIELDS && p < end; i++) {
		while (p < end && *p != ' ')
			p++;
		while (p < end && *p == ' ')
			p++;
	}
	return p;
}

/* Is that the name of a file with that inode, as the target sees it or we? */
static bool
names_inode(struct target *t, const char *path, uint64_t inode)
{
	char name[PATH_MAX + 32];
	struct stat st;

	(void)snprintf(name, sizeof name, "task/%d/root%s", (int)t->live_tid,
		       path);
	return (foreign_stat(t->proc_fd, name, &st, 0) == 0 &&
		st.st_ino == inode) ||
		(foreign_stat(AT_FDCWD, path, &st, 0) == 0 &&
		 st.st_ino == inode);
}

/* The path of the kernel's link to the file of that line; "": none. */
static void
read_link(struct target *t, const char *line, char *to, size_t size)
{
	char name[64];
	unsigned long long start = 0, end = 0;

	(void)sscanf(line, "%llx-%llx", &start, &end);
	(void)snprintf(name, sizeof name, "../%d/map_files/%llx-%llx",
		       (int)t->live_tid, start, end);

	ssize_t n = readlinkat(t->proc_fd, name, to, size - 1);

	if (n < 0)		/* not permitted: perhaps it is the program */
		n = readlinkat(t->proc_fd, "exe", to, size - 1);
	to[n > 0 ? n : 0] = '\0';
}

static char *
with_newlines(const char *path)
{
	struct str s = {0};

	while (*path) {
		const bool newline = strncmp(path, "\\012", 4) == 0;

		str_addn(&s, newline ? "\n" : path, 1);
		path += newline ? 4 : 1;
	}
	return str_take(&s);
}

static void
encode(struct str *out, const char *path, bool deleted)
{
	const bool ends_so = str_ends(path, mark);

	for (; *path; path++) {
		if (*path == '\\')
			str_add(out, "\\134");
		else if (*path == '\n')
			str_add(out, "\\012");
		else if (*path == ')' && ends_so && !path[1])
			str_add(out, "\\051");
		else
			str_addn(out, path, 1);
	}
	if (deleted)
		str_add(out, mark);
}

/* Would maps write the name of that link so? */
static bool
is_written_as(const char *link, const char *plain)
{
	char *also = with_newlines(link);
	const bool same = strcmp(also, plain) == 0;

	free(also);
	return same;
}

/* Takes written, as maps has it; *deleted: it has a mark. */
static char *
true_name(struct target *t, const char *line, char *written, uint64_t inode,
	  bool *deleted)
{
	char link[PATH_MAX + sizeof mark];
	char *plain = with_newlines(written);

	read_link(t, line, link, sizeof link);
	if (*link && is_written_as(link, plain)) {
		free(written);
		written = xstrdup(link);
	} else if (strcmp(plain, written) != 0 &&
		   !names_inode(t, written, inode)) {
		free(written);
		written = plain;
		plain = NULL;
	}
	free(plain);
	*deleted = str_ends(written, mark) && !names_inode(t, written, inode);
	if (*deleted)
		written[strlen(written) - strlen(mark)] = '\0';
	return written;
}

static void
settle_line(struct target *t, struct str *out, const char *line,
	    const char *end)
{
	const char *path = path_of(line, end);
	const size_t n = (size_t)(end - path);
	unsigned long long inode = 0;

	str_addn(out, line, (size_t)(path - line));
	if (n && *path == '/' &&
	    (memchr(path, '\\', n) || (n > strlen(mark) &&
	     memcmp(end - strlen(mark), mark, strlen(mark)) == 0))) {
		bool deleted;

		(void)sscanf(line, "%*s %*s %*s %*s %llu", &inode);

		char *name = true_name(t, line, xstrndup(path, n), inode,
				       &deleted);

		encode(out, name, deleted);
		free(name);
	} else {
		str_addn(out, path, n);
	}
	str_add(out, "\n");
}

static char *
settle_names(struct target *t, char *text)
{
	struct str out = {0};

	if (!strchr(text, '\\') && !strstr(text, mark))
		return text;
	for (const char *line = text, *end; (end = strchr(line, '\n'));
	     line = end + 1)
		settle_line(t, &out, line, end);
	free(text);
	return str_take(&out);
}

/*
 * ---- text that was copied -------------------------------------------------
 * to memory of no file, or to a file of its own: for large pages, mostly
 */

struct headers {		/* of the load object that begins there */
	uint64_t at, bias;
	size_t n;
	Elf64_Phdr ph[HEADERS_MAX];
};

static uint64_t
page_of(uint64_t addr)
{
	return addr & -(uint64_t)PAGE;
}

/* n is 0 where there is none. */
static void
read_headers(struct target *t, uint64_t at, struct headers *h)
{
	Elf64_Ehdr eh;

	if (h->at == at)
		return;
	*h = (struct headers){ .at = at };
	if (target_read(t, at, &eh, sizeof eh) < 0 ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phnum > HEADERS_MAX ||
	    eh.e_phentsize != sizeof *h->ph || eh.e_phoff > PAGE ||
	    target_read(t, at + eh.e_phoff, h->ph,
			eh.e_phnum * sizeof *h->ph) < 0)
		return;
	h->n = eh.e_phnum;
	for (size_t i = 0; i < h->n; i++)
		if (h->ph[i].p_type == PT_LOAD && !page_of(h->ph[i].p_offset)) {
			h->bias = at - page_of(h->ph[i].p_vaddr);
			return;
		}
	h->n = 0;
}

/* The segment around those addresses; NULL: none. */
static const Elf64_Phdr *
segment_around(const struct headers *h, const struct module *m)
{
	for (size_t i = 0; i < h->n; i++) {
		const Elf64_Phdr *ph = &h->ph[i];
		const uint64_t start = h->bias + page_of(ph->p_vaddr);
		const uint64_t end = h->bias +
			page_of(ph->p_vaddr + ph->p_memsz + PAGE - 1);

		if (ph->p_type == PT_LOAD && m->start >= start &&
		    m->end <= end)
			return ph;
	}
	return NULL;
}

static uint64_t
offset_in(const struct headers *h, const Elf64_Phdr *ph, uint64_t addr)
{
	return page_of(ph->p_offset) + addr - h->bias - page_of(ph->p_vaddr);
}

/* Memory of no file, or of one that only stands for memory. */
static bool
is_memory(const struct module *m)
{
	static const char *const begins[] = {
		"[anon", "/anon_hugepage", "/dev/zero", "/memfd:", "/SYSV",
	};

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (str_starts(m->path, begins[i]))
			return true;
	return !m->path[0];
}

/* The mapping below with the headers of an object, or NULL. */
static const struct module *
headers_below(const struct modules *mods, size_t i)
{
	while (i-- > 0) {
		const struct module *m = &mods->items[i];

		if (m->inode && m->offset == 0 && m->path[0] == '/')
			return m;
	}
	return NULL;
}

/* The headers below that are an object's; what lies between may be pieces of
 * its copied text. NULL, with no headers: none are near. */
static const struct module *
object_below(struct target *t, const struct modules *mods, size_t i,
	     struct headers *h)
{
	for (int tries = 0; tries < PIECES_MAX; tries++) {
		const struct module *m = headers_below(mods, i);

		if (!m)
			break;
		read_headers(t, m->start, h);
		if (h->n)
			return m;
		i = (size_t)(m - mods->items);
	}
	h->n = 0;
	h->at = 0;
	return NULL;
}

static bool
is_of_file(const struct module *m, const struct module *other)
{
	return m->inode == other->inode && m->device == other->device;
}

/* Code that may be of an object with another file: in memory of no file, or
 * where the headers below are not those of its own file. */
static bool
is_strange(const struct modules *mods, size_t i)
{
	const struct module *m = &mods->items[i], *below;

	if (!(m->prot & MODULE_EXEC) || is_memory(m))
		return m->prot & MODULE_EXEC;
	if (!m->inode)			/* [vdso] */
		return false;
	below = headers_below(mods, i);
	return below && !is_of_file(m, below);
}

/* Of an object that was copied with its headers, what was not copied. */
static const struct module *
rest_above(const struct modules *mods, size_t i, const struct headers *h)
{
	for (size_t k = i + 1; k < mods->len; k++) {
		const struct module *m = &mods->items[k];
		const Elf64_Phdr *ph = segment_around(h, m);

		if (!ph)
			return NULL;
		if (!is_memory(m) && m->inode &&
		    m->offset == offset_in(h, ph, m->start))
			return m;
	}
	return NULL;
}

/* Whose text is that? */
static const struct module *
owner_of(struct target *t, const struct modules *mods, size_t i,
	 struct headers *h, uint64_t *offset)
{
	const struct module *m = &mods->items[i];
	const struct module *owner = object_below(t, mods, i, h);
	const Elf64_Phdr *ph = segment_around(h, m);

	if ((!ph || !(ph->p_flags & PF_X)) && i + 1 < mods->len &&
	    mods->items[i + 1].inode &&
	    mods->items[i + 1].start - m->end < UINT32_MAX) {
		read_headers(t, m->start, h);
		ph = segment_around(h, m);
		owner = ph ? rest_above(mods, i, h) : NULL;
	}
	if (!owner || !ph || !(ph->p_flags & PF_X) || is_of_file(m, owner))
		return NULL;
	*offset = offset_in(h, ph, m->start);
	return owner;
}

static const char *
line_at(const char *text, size_t n)
{
	while (n-- > 0)
		text = strchr(text, '\n') + 1;
	return text;
}

/* The line of m, with the file of the owner's line. */
static void
put_line(struct str *out, const char *line, const char *owner, uint64_t offset)
{
	const char *end = strchr(owner, '\n'), *device = owner;

	for (int i = 0; i < 3; i++)
		device = strchr(device, ' ') + 1;

	const char *prot = strchr(line, ' ');

	str_addn(out, line, (size_t)(prot - line) + strlen(" r-xp "));
	str_addf(out, "%08llx ", (unsigned long long)offset);
	str_addn(out, device, (size_t)(end + 1 - device));
}

/* Lines and modules are in the same order: the kernel's. */
static char *
put_owners(struct target *t, char *text, const struct modules *mods)
{
	struct headers *h = xcalloc(1, sizeof *h);
	struct str out = {0};
	const char *line = text;

	for (size_t i = 0; i < mods->len; i++) {
		const struct module *owner = NULL;
		const char *next = strchr(line, '\n') + 1;
		uint64_t offset;

		if (is_strange(mods, i))
			owner = owner_of(t, mods, i, h, &offset);
		if (owner)
			put_line(&out, line, line_at(text, (size_t)
						     (owner - mods->items)),
				 offset);
		else
			str_addn(&out, line, (size_t)(next - line));
		line = next;
	}
	free(h);
	free(text);
	return str_take(&out);
}

static bool
is_sorted(const char *text, const struct modules *mods)
{
	for (size_t i = 0; i < mods->len; i++) {
		if (strtoull(text, NULL, 16) != mods->items[i].start)
			return false;
		text = strchr(text, '\n') + 1;
	}
	return true;
}

char *
maps_settle(struct target *t, char *text)
{
	struct modules mods = {0};
	bool any = false;

	text = settle_names(t, text);
	/* a text that makes no sense is the reader's to refuse */
	if (modules_parse(&mods, text) < 0)
		return text;
	for (size_t i = 0; i < mods.len && !any; i++)
		any = is_strange(&mods, i);
	if (any && is_sorted(text, &mods))
		text = put_owners(t, text, &mods);
	modules_fini(&mods);
	return text;
}
