/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of traced input and output share.
 */
#ifndef SONDE_SESSION_IO_H
#define SONDE_SESSION_IO_H

#include "inject.h"
#include "private.h"

/* ---- io_files.c: which file a descriptor of the target is ---------------- */

enum io_file_state {
	FILE_UNKNOWN,		/* nothing was told of it */
	FILE_HELD,		/* told, not written: its name is unsure */
	FILE_KNOWN,
};

/* As it is at the event that is being told. */
struct io_file {
	enum io_file_state state;
	char *name;		/* NULL: not known */
	const char *kind;	/* of what has no other name; or NULL */
	char *guess;		/* what the kernel said it is, at that time: */
	uint64_t guess_ns;
	struct experiment_transfer held;	/* FILE_HELD */
	uint64_t new_ns;	/* when it became what it is; 0: not told */
	uint32_t coming;	/* events that change it, still to be told */
};

struct io_files;

struct io_files *io_files_new(struct target *t);
void io_files_free(struct io_files *fs);
/* Those that are open now: some will be closed before they are asked for. */
void io_files_begin(struct io_files *fs);
/* Some time has gone by: sockets that have come are known as well. */
void io_files_later(struct io_files *fs);

/* NULL: there can be no such descriptor. */
struct io_file *io_file(struct io_files *fs, int fd);
/* Each that something was told of: start with *at = 0; false at the end. */
bool io_file_next(const struct io_files *fs, size_t *at, int *fd);
/* It is closed, or another file. */
void io_file_forget(struct io_files *fs, int fd);
/* What it was at the begin; NULL: it was not open. The caller frees it, as
 * those below. */
char *io_file_first(struct io_files *fs, int fd);
/* Ask the kernel, where nothing that we know has changed it since. It is so
 * unless something comes that was earlier. */
void io_file_guess(struct io_files *fs, int fd);

/* The path as it was given, from the root where it was not. */
char *io_path(struct io_files *fs, int directory, const char *path);
/* "tcp to 127.0.0.1:22", of the words that a struct sockaddr is in; NULL: it
 * is none. */
char *io_address(const char *kind, const void *words, size_t bytes);
/* "tcp socket", of a family and a type. */
const char *io_socket_kind(int family, int type);

/* ---- io_tell.c: packets of an event -------------------------------------- */

struct io_event {
	struct trace_event ev;	/* its path is ours */
	uint64_t frinfo, order;
};

struct io_teller {
	struct experiment *exp;
	struct io_files *files;
	uint64_t from_ns;	/* nothing was traced before */
	uint64_t found;		/* FRINFO of what was opened unseen; or 0 */
};

enum trace_io_class io_class(enum trace_function f);
/* Is the descriptor another file by this call, which succeeded? */
bool io_is_new(const struct trace_event *ev, int fd);
/* In order of time. */
void io_tell(struct io_teller *io, const struct io_event *k);
/* What still waits for a name. */
void io_tell_rest(struct io_teller *io);

#endif
