/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop change EXPR, stop access r|w ADDRESS: data that the processor watches,
 * in pieces of 8 bytes at most. For change the value is compared with the one
 * before, and a write of the same is passed over.
 *
 * What lies in a frame of a stack is watched until that function has returned:
 * another's data is there then.
 *
 *	placed --> its frame has returned, or the process is gone: removed
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_MOST = 4, PIECE_BYTES = 8, BYTES_MOST = PIECES_MOST * PIECE_BYTES,
       FRAMES_MOST = 10000, RED_ZONE = 128 };

struct data {
	uint64_t addr, size;
	char *name;		/* what is there */
	char *type;		/* in words of the language; NULL: unknown */
	int pieces[PIECES_MOST];	/* numbers of the session */
	size_t npieces;
	unsigned char bytes[BYTES_MOST];	/* as they were */
	char *value;		/* the same for people */
	pid_t tid;		/* whose frame it lies in; 0: in none */
	uint64_t cfa, behind;	/* of that frame, and where it returns to */
};

void
data_free(struct data *d)
{
	if (!d)
		return;
	free(d->name);
	free(d->type);
	free(d->value);
	free(d);
}

/* ---- values -------------------------------------------------------------- */

static char *
of_type(struct shell *sh, const struct data *d)
{
	struct str out = {0};
	const int whole = (int)strcspn(d->type, "[");	/* int (*)[4] */
	char *text = xasprintf("*(%.*s%s%s)%#llx", whole, d->type,
			       d->type[whole] ? "(*)" : "*", d->type + whole,
			       (unsigned long long)d->addr);
	struct debug *debug = debuggee_now(sh);
	const int r = debug ? debug_print(debug, text, '\0', &out) : -1;

	free(text);
	if (r < 0 || !out.len) {
		fail_clear();
		str_fini(&out);
		return NULL;
	}
	char *value = str_take(&out);

	value[strcspn(value, "\n")] = '\0';
	return str_tame(value);
}

static char *
of_bytes(const struct data *d)
{
	struct str s = {0};
	uint64_t number = 0;

	if (d->size <= sizeof number) {
		memcpy(&number, d->bytes, d->size);
		return xasprintf("%llu (%#llx)", (unsigned long long)number,
				 (unsigned long long)number);
	}
	for (size_t i = 0; i < d->size; i++)
		str_addf(&s, "%s%02x", i ? " " : "", d->bytes[i]);
	return str_take(&s);
}

static int
read_now(struct shell *sh, struct data *d)
{
	if (session_read(sh->session, d->addr, d->bytes, d->size) < 0)
		return -1;
	free(d->value);
	d->value = d->type ? of_type(sh, d) : NULL;
	if (!d->value)
		d->value = of_bytes(d);
	return 0;
}

/* ---- what is meant ------------------------------------------------------- */

static void
find_type(struct debug *debug, const char *text, struct data *d)
{
	static const char before[] = "type = ";
	struct str out = {0};

	if (debug_whatis(debug, text, &out) == 0 &&
	    str_starts(str_text(&out), before)) {
		d->type = xstrdup(str_text(&out) + strlen(before));
		d->type[strcspn(d->type, "\n")] = '\0';
		if (strchr(d->type, '<') && strstr(d->type, "no debug")) {
			free(d->type);
			d->type = NULL;
		}
	}
	fail_clear();
	str_fini(&out);
}

/* "EXPR, SIZE": the expression alone; size 0: not given. */
static char *
take_size(const char *text, uint64_t *size)
{
	const char *comma = strrchr(text, ',');
	long long n;

	*size = 0;
	if (!comma || !str_number(comma + 1 + strspn(comma + 1, " "), 1,
				  BYTES_MOST, &n))
		return xstrdup(text);
	*size = (uint64_t)n;
	return xstrndup(text, (size_t)(comma - text));
}

/* A name, its members and elements: what an operator can be put before. */
static bool
is_one_thing(const char *text)
{
	while (isalnum((unsigned char)*text) || (*text && strchr("_.:[]", *text)) ||
	       str_starts(text, "->"))
		text += *text == '-' ? 2 : 1;
	return !*text;
}

/* What &x and a pointer p lead to: x, *p. */
static char *
name_behind(const char *text)
{
	if (*text == '&' && is_one_thing(text + 1))
		return xstrdup(text + 1);
	return xasprintf(is_one_thing(text) ? "*%s" : "*(%s)", text);
}

static int
find(struct shell *sh, const struct handler *h, struct data *d)
{
	struct debug *debug = debuggee_now(sh);
	struct debug_data at;
	uint64_t size;
	char *text;
	int r;

	if (!debug)
		return -1;
	text = take_size(h->place, &size);
	r = debug_data(debug, text, h->kind == EVENT_ACCESS, &at);
	if (r == 0) {
		d->addr = at.addr;
		d->size = size ? size : at.size;
		d->name = size || !at.size ? xstrdup(h->place) :
			at.pointed ? name_behind(text) : xstrdup(text);
	}
	if (r == 0 && !size && at.size)
		find_type(debug, d->name, d);
	if (r == 0 && !d->size) {
		fail(FAIL_USAGE, "how many bytes %s has is not known", text);
		r = fail_remedy("say it: %s, 4", text);
	}
	free(text);
	return r;
}

/* ---- frames of a stack --------------------------------------------------- */

/* Does it lie in a frame of the thread that commands are about? -1: it does,
 * and when that returns cannot be known. */
static int
find_frame(struct shell *sh, const struct handler *h, struct data *d)
{
	struct debug *debug = debuggee_now(sh);
	struct session_step at;
	struct debug_frame f = {0}, next;
	size_t i = 0;

	if (session_at(sh->session, thread_now(sh), &at) < 0) {
		fail_clear();	/* it runs: nothing in a frame was named */
		return 0;
	}
	if (d->addr + d->size + RED_ZONE <= at.sp)
		return 0;
	while (i < FRAMES_MOST && debug_frame(debug, i, &f) == 0 &&
	       (f.inlined || f.cfa <= d->addr))
		i++;
	fail_clear();
	if (f.cfa <= d->addr)
		return 0;
	do {
		i++;
	} while (debug_frame(debug, i, &next) == 0 && next.inlined);
	fail_clear();
	d->tid = thread_now(sh);
	d->cfa = f.cfa;
	if (debug_frame(debug, i, &next) == 0)
		d->behind = next.pc;
	if (d->behind && spot_take(sh, d->behind, h->may_trap) == 0)
		return 0;
	fail(FAIL_UNSUITABLE, "%s lies in a frame of thread %d, and when that "
	     "returns is not seen: %s", h->place, (int)d->tid, d->behind ?
	     fail_last()->reason : "it is not known where to");
	return -1;
}

/* ---- in the process ------------------------------------------------------ */

void
data_unplace(struct shell *sh, struct handler *h)
{
	struct data *d = h->data;

	if (!d)
		return;
	for (size_t i = 0; i < d->npieces && target_alive(sh); i++)
		(void)session_unbreak(sh->session, d->pieces[i]);
	if (d->tid && d->behind)
		spot_drop(sh, d->behind);
	data_free(d);
	h->data = NULL;
}

static unsigned
piece_at(uint64_t addr, uint64_t left)
{
	unsigned size = PIECE_BYTES;

	while (size > left || addr % size)
		size /= 2;
	return size;
}

static int
watch_pieces(struct shell *sh, const struct handler *h, struct data *d)
{
	const enum watch_for what = h->reads ? WATCH_ACCESSES : WATCH_WRITES;
	uint64_t at = d->addr, left = d->size;

	while (left && d->npieces < PIECES_MOST) {
		const unsigned size = piece_at(at, left);
		const int number = session_watch(sh->session, at, size, what);

		if (number < 0)
			return -1;
		d->pieces[d->npieces++] = number;
		at += size;
		left -= size;
	}
	if (!left)
		return 0;
	fail(FAIL_UNSUITABLE, "%s: %llu bytes at %#llx are more than the "
	     "processor watches", h->place, (unsigned long long)d->size,
	     (unsigned long long)d->addr);
	return fail_remedy("watch a part of it: 8 bytes that are aligned, four "
			   "times at most");
}

static int
check_size(const struct handler *h, const struct data *d)
{
	if (d->size <= BYTES_MOST)
		return 0;
	fail(FAIL_UNSUITABLE, "%s has %llu bytes; the processor watches %d at "
	     "most", h->place, (unsigned long long)d->size, BYTES_MOST);
	return fail_remedy("watch a part of it");
}

int
data_place(struct shell *sh, struct handler *h)
{
	struct data *d;

	if (h->data)
		return 0;
	d = h->data = xcalloc(1, sizeof *d);
	if (find(sh, h, d) == 0 && check_size(h, d) == 0 &&
	    read_now(sh, d) == 0 && find_frame(sh, h, d) == 0 &&
	    watch_pieces(sh, h, d) == 0)
		return 0;
	data_unplace(sh, h);
	return -1;
}

/* ---- the event ----------------------------------------------------------- */

/* Not by its thread's own return: a longjmp, an exception. */
static bool
is_over(struct shell *sh, const struct data *d, pid_t tid)
{
	struct session_step at;

	return d->tid && tid == d->tid &&
		session_at(sh->session, tid, &at) == 0 && at.sp >= d->cfa;
}

/* false: that is of no concern. *text tells; NULL: it cannot be read. */
static bool
has_changed(struct shell *sh, struct handler *h, char **text)
{
	struct data *d = h->data;
	unsigned char before[BYTES_MOST];
	char *old = xstrdup(d->value);

	memcpy(before, d->bytes, sizeof before);
	*text = NULL;
	if (read_now(sh, d) < 0) {
		free(old);
		return true;
	}

	const bool same = memcmp(before, d->bytes, d->size) == 0;

	*text = same ? xasprintf("%s = %s", d->name, d->value) :
		xasprintf("%s: %s, was %s", d->name, d->value, old);
	free(old);
	return !same || h->kind == EVENT_ACCESS;
}

static bool
has_piece(const struct handler *h, int number)
{
	for (size_t i = 0; h->data && i < h->data->npieces; i++)
		if (h->data->pieces[i] == number)
			return true;
	return false;
}

/* Its frame is gone. Who waited for a stop has to think of something else. */
static bool
end_one(struct shell *sh, struct handler *h)
{
	const bool stops = h->does == DOES_STOP;
	struct place p;

	shell_note(sh, "(%d) %s: the function has returned; it is watched no "
		   "more, and the handler is removed", h->number, h->what);
	handler_remove(sh, h);
	if (stops && place_now(sh, thread_now(sh), &p) == 0)
		place_print(sh, &p);
	return stops;
}

bool
data_returned(struct shell *sh, uint64_t address, pid_t tid)
{
	bool over = false;

	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (h && h->data && h->data->tid == tid &&
		    h->data->behind == address && is_over(sh, h->data, tid))
			over = end_one(sh, h) || over;
	}
	return over;
}

/* true: the wait is over. */
static bool
take(struct shell *sh, struct handler *h, pid_t tid)
{
	bool over = false;
	char *text;

	sh->thread = tid;
	if (is_over(sh, h->data, tid))
		return end_one(sh, h);
	if (has_changed(sh, h, &text) && handler_counts(sh, h, tid)) {
		if (text)
			shell_note(sh, "%s", text);
		over = handler_fire(sh, h);
	}
	free(text);
	return over;
}

bool
data_meet(struct shell *sh, int breakpoint, pid_t tid, bool *over)
{
	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (!h || !has_piece(h, breakpoint))
			continue;
		*over = take(sh, h, tid);
		return true;
	}
	return false;
}

bool
data_stepped(struct shell *sh, pid_t tid)
{
	bool over = false;

	for (int number = 1; sh->session && number < sh->next_handler;
	     number++) {
		struct handler *h = handler_numbered(sh, number);

		if (h && h->data && h->kind == EVENT_CHANGE)
			over = take(sh, h, tid) || over;
	}
	return over || !sh->session;
}

/* The process is gone: what lay in its frames is not sought in another. */
void
data_forget(struct shell *sh)
{
	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);
		struct data *d = h ? h->data : NULL;

		if (!d)
			continue;
		h->data = NULL;
		if (d->tid)
			handler_remove(sh, h);
		data_free(d);
	}
}
