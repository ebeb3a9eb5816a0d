/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traced input and output. Events come thread by thread; which file a
 * descriptor is follows from their order in time, so those of a round are kept
 * and told in order. A close counts from when it was asked for: another thread
 * may have its number before it returns.
 *
 * The kernel counts what a process reads and writes. What it counted while
 * calls were traced is kept beside what they moved: the rest went by ways that
 * are not traced.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "io.h"

struct calls_io {
	struct target *target;
	struct io_teller teller;
	struct io_event *kept;
	size_t len, cap;
	uint64_t round_ns;	/* begin of this one */
	uint64_t counted_ns;	/* the kernel's count is from then on */
	struct calls_io_bytes first, now;	/* as the kernel counts */
	struct calls_io_bytes sum;	/* told so far */
	struct calls_io_bytes last;	/* both at the end of a round */
};

/* ---- order --------------------------------------------------------------- */

/* For each descriptor that the event makes another file, or none. */
static void
note_changes(struct calls_io *io, const struct trace_event *ev, uint32_t more)
{
	const int fds[] = { ev->fd, ev->other_fd };
	struct io_file *f;

	if (ev->result < 0)
		return;
	for (int i = 0; i < 2; i++)
		if ((io_is_new(ev, fds[i]) || (i == 0 &&
		     io_class(ev->function) == TRACE_IO_CLOSES)) &&
		    (f = io_file(io->teller.files, fds[i])))
			f->coming += more;
}

static int
by_order(const void *a, const void *b)
{
	const struct io_event *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static void
add_up(struct calls_io *io, const struct trace_event *ev)
{
	const uint64_t n = ev->result > 0 ? (uint64_t)ev->result : 0;

	if (ev->time_ns < io->counted_ns)
		return;
	switch (io_class(ev->function)) {
	case TRACE_IO_READS:
		io->sum.traced_read += n;
		break;
	case TRACE_IO_WRITES:
		io->sum.traced_written += n;
		break;
	case TRACE_IO_COPIES:
		io->sum.traced_read += n;
		io->sum.traced_written += n;
		break;
	case TRACE_IO_STREAM_READS:
		io->sum.stream_read += n;
		break;
	case TRACE_IO_STREAM_WRITES:
		io->sum.stream_written += n;
		break;
	default:
		break;
	}
}

/* Where another thread has the number again before the close returns, it was
 * closed before: readers go by the end. */
static void
end_before_next(struct calls_io *io, size_t i)
{
	struct trace_event *ev = &io->kept[i].ev;

	if (io_class(ev->function) != TRACE_IO_CLOSES)
		return;
	for (size_t k = i + 1; k < io->len &&
	     io->kept[k].order <= ev->time_ns; k++) {
		const struct trace_event *next = &io->kept[k].ev;

		if (next->result >= 0 && io_is_new(next, ev->fd)) {
			ev->time_ns = next->time_ns - 1;
			return;
		}
	}
}

static void
tell_until(struct calls_io *io, uint64_t until_ns)
{
	size_t n = 0;

	if (io->len)
		qsort(io->kept, io->len, sizeof *io->kept, by_order);
	for (; n < io->len && io->kept[n].order <= until_ns; n++) {
		struct io_event *k = &io->kept[n];

		end_before_next(io, n);
		io_tell(&io->teller, k);
		note_changes(io, &k->ev, -1u);
		add_up(io, &k->ev);
		free((void *)(uintptr_t)k->ev.path);
	}
	io->len -= n;
	if (io->len)
		memmove(io->kept, io->kept + n, io->len * sizeof *io->kept);
}

/* ---- what the kernel counts ---------------------------------------------- */

static bool
ask(struct calls_io *io, uint64_t *read, uint64_t *written)
{
	char *text = file_read_at(target_proc(io->target), "io", NULL);
	unsigned long long r, w;
	const bool known = text &&
		sscanf(text, "rchar: %llu wchar: %llu", &r, &w) == 2;

	free(text);
	if (known) {
		*read = r;
		*written = w;
	}
	return known;
}

/* ---- the door ------------------------------------------------------------ */

struct calls_io *
calls_io_new(struct experiment *exp, struct target *t)
{
	struct calls_io *io = xcalloc(1, sizeof *io);

	io->target = t;
	io->teller.exp = exp;
	io->teller.files = io_files_new(t);
	io->teller.from_ns = now_ns();
	return io;
}

void
calls_io_begin(struct calls_io *io)
{
	if (!io)
		return;
	io->counted_ns = io->round_ns = now_ns();
	io->first.known = ask(io, &io->first.kernel_read,
			      &io->first.kernel_written);
	io_files_begin(io->teller.files);
}

void
calls_io_put(struct calls_io *io, const struct trace_event *ev,
	     uint64_t frinfo)
{
	struct io_event *k;

	if (!io || ev->function >= TRACE_IO_CALLED)
		return;
	io->kept = xgrow(io->kept, &io->cap, io->len + 1, sizeof *io->kept);
	k = &io->kept[io->len++];
	*k = (struct io_event){ .ev = *ev, .frinfo = frinfo,
				.order = ev->time_ns };
	if (io_class(ev->function) == TRACE_IO_CLOSES)
		k->order = ev->since_ns;
	if (ev->path) {
		k->ev.path = xmalloc(ev->path_bytes);
		memcpy((char *)(uintptr_t)k->ev.path, ev->path,
		       ev->path_bytes);
	}
	note_changes(io, ev, 1);
}

void
calls_io_round(struct calls_io *io)
{
	if (!io)
		return;
	io->round_ns = now_ns();
	io->now.known = ask(io, &io->now.kernel_read,
			    &io->now.kernel_written);
}

void
calls_io_tell(struct calls_io *io)
{
	if (!io)
		return;
	tell_until(io, io->round_ns);
	io_files_later(io->teller.files);
	if (!io->first.known || !io->now.known)
		return;
	io->last = io->sum;
	io->last.known = true;
	io->last.kernel_read = io->now.kernel_read - io->first.kernel_read;
	io->last.kernel_written = io->now.kernel_written -
		io->first.kernel_written;
}

/* A process that has ended has no count any more, and one that was read before
 * says nothing of the calls since. */
struct calls_io_bytes
calls_io_end(struct calls_io *io)
{
	struct calls_io_bytes last = {0};

	if (!io)
		return last;
	calls_io_tell(io);
	last = io->last;
	last.known = last.known && io->now.known;
	tell_until(io, UINT64_MAX);
	io_tell_rest(&io->teller);
	return last;
}

void
calls_io_free(struct calls_io *io)
{
	if (!io)
		return;
	for (size_t i = 0; i < io->len; i++)
		free((void *)(uintptr_t)io->kept[i].ev.path);
	free(io->kept);
	io_files_free(io->teller.files);
	free(io);
}
