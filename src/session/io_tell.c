/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Packets of input and output, from events in order of time. Readers know a
 * descriptor by the packet that opened it. One that was open before, or came
 * by a way that is not traced, gets such a packet when it is used first, from
 * a function of its own. What is opened without a name waits for its packet
 * until it has one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "io.h"

#define CLASS(function, class, name, other) \
	[TRACE_##function - TRACE_IO_FIRST] = TRACE_IO_##class,

enum trace_io_class
io_class(enum trace_function f)
{
	static const uint8_t classes[TRACE_FUNCTIONS - TRACE_IO_FIRST] = {
		TRACE_IO_CALLS(CLASS)
		TRACE_STREAM_CALLS(CLASS)
	};

	return (enum trace_io_class)classes[f - TRACE_IO_FIRST];
}

bool
io_is_new(const struct trace_event *ev, int fd)
{
	switch (io_class(ev->function)) {
	case TRACE_IO_PAIRS:
		return fd == ev->fd || fd == ev->other_fd;
	case TRACE_IO_OPENS: case TRACE_IO_DUPS: case TRACE_IO_SOCKETS:
	case TRACE_IO_ACCEPTS:
		return fd == ev->fd;
	default:
		return false;
	}
}

/* ---- packets ------------------------------------------------------------- */

static void
put(struct io_teller *io, const struct io_event *k, int type, int fd)
{
	const int64_t r = k->ev.result;

	experiment_io(io->exp, &(struct experiment_transfer){
		.time_ns = k->ev.time_ns, .since_ns = k->ev.since_ns,
		.tid = k->ev.tid, .fd = fd, .old_fd = -1, .frinfo = k->frinfo,
		.type = r < 0 ? type + IO_FAILED : type,
		.bytes = r > 0 && (type == IO_READ || type == IO_WRITE) ? r :
			0,
	});
}

static void
put_open(struct io_teller *io, const struct io_event *k, int fd, int old_fd,
	 const char *name)
{
	experiment_io(io->exp, &(struct experiment_transfer){
		.time_ns = k->ev.time_ns, .since_ns = k->ev.since_ns,
		.tid = k->ev.tid, .type = IO_OPEN, .fd = fd, .old_fd = old_fd,
		.name = name, .frinfo = k->frinfo,
	});
}

/* What was held, by that name, which is taken, or by what is known without. */
static void
put_held(struct io_teller *io, struct io_file *f, char *name)
{
	f->name = name ? name : f->kind ? xstrdup(f->kind) : NULL;
	f->state = FILE_KNOWN;
	f->held.name = f->name;
	if (f->name)
		experiment_io(io->exp, &f->held);
}

static void
hold(struct io_teller *io, const struct io_event *k, int fd, const char *kind)
{
	struct io_file *f = io_file(io->files, fd);

	io_file_forget(io->files, fd);
	if (!f)
		return;
	f->state = FILE_HELD;
	f->new_ns = k->ev.time_ns;
	f->kind = kind;
	f->held = (struct experiment_transfer){
		.time_ns = k->ev.time_ns, .since_ns = k->ev.since_ns,
		.tid = k->ev.tid, .type = IO_OPEN, .fd = fd, .old_fd = -1,
		.frinfo = k->frinfo,
	};
}

/* ---- descriptors --------------------------------------------------------- */

static uint64_t
frinfo_found(struct io_teller *io)
{
	if (!io->found)
		io->found = experiment_artificial(io->exp,
						  "<Opened before tracing>");
	return io->found;
}

/* It gets an open packet just before its first use. */
static void
find(struct io_teller *io, const struct io_event *k, int fd,
     struct io_file *f)
{
	const uint64_t before = k->ev.since_ns - 1;
	const uint64_t when = before > io->from_ns ? before : io->from_ns;
	char *const name = io_file_first(io->files, fd);

	f->held = (struct experiment_transfer){
		.time_ns = when, .since_ns = when, .tid = k->ev.tid,
		.type = IO_OPEN, .fd = fd, .old_fd = -1,
		.frinfo = frinfo_found(io),
	};
	f->state = FILE_HELD;
	if (name)
		put_held(io, f, name);
}

/* What it is has been told before anything else of it is, or will be. */
static void
use(struct io_teller *io, const struct io_event *k, int fd)
{
	struct io_file *f = io_file(io->files, fd);

	if (!f || f->state == FILE_KNOWN)
		return;
	if (f->state == FILE_UNKNOWN)
		find(io, k, fd, f);
	if (f->state == FILE_HELD)
		io_file_guess(io->files, fd);
}

/* It was what it was until then. */
static void
end_held(struct io_teller *io, int fd, uint64_t until_ns)
{
	struct io_file *f = io_file(io->files, fd);
	char *guess = NULL;

	if (f && f->state == FILE_HELD) {
		if (f->guess_ns < until_ns) {
			guess = f->guess;
			f->guess = NULL;
		}
		put_held(io, f, guess);
	}
	io_file_forget(io->files, fd);
}

/* It is a new one, of that name, which is taken. */
static void
become(struct io_teller *io, const struct io_event *k, int fd, char *name)
{
	struct io_file *f = io_file(io->files, fd);

	end_held(io, fd, k->ev.time_ns);
	if (!f) {
		free(name);
		return;
	}
	f->state = FILE_KNOWN;
	f->new_ns = k->ev.time_ns;
	f->name = name;
}

/* ---- events -------------------------------------------------------------- */

static void
tell_open(struct io_teller *io, const struct io_event *k)
{
	const struct trace_event *ev = &k->ev;
	char *name = ev->path ? io_path(io->files, ev->other_fd, ev->path) :
		NULL;

	if ((ev->function == TRACE_FREOPEN ||
	     ev->function == TRACE_FREOPEN64) && ev->other_fd != ev->fd)
		end_held(io, ev->other_fd, ev->time_ns);
	put_open(io, k, ev->fd, -1, name ? name : "");
	become(io, k, ev->fd, name);
}

static void
tell_dup(struct io_teller *io, const struct io_event *k)
{
	const struct trace_event *ev = &k->ev;
	struct io_file *old;

	use(io, k, ev->other_fd);
	old = io_file(io->files, ev->other_fd);
	put_open(io, k, ev->fd, ev->other_fd, NULL);
	if (ev->fd != ev->other_fd)
		become(io, k, ev->fd, old && old->name ? xstrdup(old->name) :
		       NULL);
}

static void
tell_accept(struct io_teller *io, const struct io_event *k)
{
	const struct trace_event *ev = &k->ev;
	sa_family_t family = AF_UNSPEC;
	char *name = NULL;

	use(io, k, ev->other_fd);
	end_held(io, ev->fd, ev->time_ns);
	if (ev->path && ev->path_bytes >= sizeof family) {
		memcpy(&family, ev->path, sizeof family);
		name = io_address(io_socket_kind(family, SOCK_STREAM),
				  ev->path, ev->path_bytes);
	}
	hold(io, k, ev->fd, io_socket_kind(family, SOCK_STREAM));

	struct io_file *f = io_file(io->files, ev->fd);

	if (f && name)
		put_held(io, f, name);
	else
		free(name);
}

static void
tell_connect(struct io_teller *io, const struct io_event *k)
{
	const struct trace_event *ev = &k->ev;
	struct io_file *f = io_file(io->files, ev->fd);

	if (f && f->state == FILE_HELD && ev->path) {
		char *name = io_address(f->kind, ev->path, ev->path_bytes);

		if (name)
			put_held(io, f, name);
	}
	use(io, k, ev->fd);
	put(io, k, IO_OTHER, ev->fd);
}

static void
tell_copy(struct io_teller *io, const struct io_event *k)
{
	use(io, k, k->ev.other_fd);
	use(io, k, k->ev.fd);
	if (k->ev.result >= 0)
		put(io, k, IO_READ, k->ev.other_fd);
	put(io, k, IO_WRITE, k->ev.fd);
}

/* One that is told late was of what had the number before: readers go by the
 * end. */
static bool
was_before(struct io_teller *io, const struct io_event *k)
{
	const struct io_file *f = io_file(io->files, k->ev.fd);
	struct io_event then = *k;

	if (!f || k->order >= f->new_ns)
		return false;
	if (then.ev.time_ns >= f->new_ns)
		then.ev.time_ns = f->new_ns - 1;
	put(io, &then, IO_CLOSE, k->ev.fd);
	return true;
}

static void
tell_close(struct io_teller *io, const struct io_event *k)
{
	if (k->ev.result >= 0 && was_before(io, k))
		return;
	if (k->ev.result >= 0)
		use(io, k, k->ev.fd);
	put(io, k, IO_CLOSE, k->ev.fd);
	if (k->ev.result >= 0)
		end_held(io, k->ev.fd, k->order);
}

static void
tell_use(struct io_teller *io, const struct io_event *k, int type)
{
	use(io, k, k->ev.fd);
	put(io, k, type, k->ev.fd);
}

static void
tell_new(struct io_teller *io, const struct io_event *k)
{
	const struct trace_event *ev = &k->ev;
	const char *const kind = ev->function == TRACE_SOCKETPAIR ?
		"unix socket" : "pipe";

	switch (io_class(ev->function)) {
	case TRACE_IO_PAIRS:
		end_held(io, ev->fd, ev->time_ns);
		end_held(io, ev->other_fd, ev->time_ns);
		hold(io, k, ev->fd, kind);
		hold(io, k, ev->other_fd, kind);
		break;
	case TRACE_IO_SOCKETS:
		end_held(io, ev->fd, ev->time_ns);
		hold(io, k, ev->fd, io_socket_kind(ev->other_fd & 0xffff,
						   ev->other_fd >> 16 & 0xf));
		break;
	case TRACE_IO_DUPS:
		tell_dup(io, k);
		break;
	case TRACE_IO_ACCEPTS:
		tell_accept(io, k);
		break;
	default:
		tell_open(io, k);
		break;
	}
}

void
io_tell(struct io_teller *io, const struct io_event *k)
{
	switch (io_class(k->ev.function)) {
	case TRACE_IO_NONE:
		break;
	case TRACE_IO_READS: case TRACE_IO_RECEIVES:
	case TRACE_IO_STREAM_READS:
		tell_use(io, k, IO_READ);
		break;
	case TRACE_IO_WRITES: case TRACE_IO_SENDS:
	case TRACE_IO_STREAM_WRITES:
		tell_use(io, k, IO_WRITE);
		break;
	case TRACE_IO_COPIES: case TRACE_IO_SPLICES:
		tell_copy(io, k);
		break;
	case TRACE_IO_OPENS: case TRACE_IO_PAIRS: case TRACE_IO_DUPS:
	case TRACE_IO_SOCKETS: case TRACE_IO_ACCEPTS:
		if (k->ev.result < 0)
			put(io, k, IO_OPEN, -1);
		else
			tell_new(io, k);
		break;
	case TRACE_IO_CONNECTS:
		tell_connect(io, k);
		break;
	case TRACE_IO_CLOSES:
		tell_close(io, k);
		break;
	case TRACE_IO_OTHERS:
		tell_use(io, k, IO_OTHER);
		break;
	}
}

void
io_tell_rest(struct io_teller *io)
{
	size_t at = 0;
	int fd;

	while (io_file_next(io->files, &at, &fd))
		end_held(io, fd, UINT64_MAX);
}
