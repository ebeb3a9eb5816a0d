/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The room's own: a cache of what is asked again and again, and the pieces
 * that why_look is made of.
 */
#ifndef SONDE_WHY_PRIVATE_H
#define SONDE_WHY_PRIVATE_H

#include "base.h"
#include "why.h"

#include <time.h>

enum { THREADS_MAX = 100000 };

/* One thread of a process, and its number as the process knows it. */
struct member {
	pid_t tid, inner;
};

struct members {
	pid_t pid;
	struct member *items;
	size_t len, cap;
	uint64_t read_at;
};

/* An open pipe or socket of somebody. */
struct opened {
	uint64_t device, inode;	/* device: of a FIFO */
	pid_t pid;
	int fd;
	bool reads, writes;
};

struct socket_entry {
	uint64_t inode, peer;	/* peer: inode of the other end; 0 unknown */
	char *text;
};

struct ends {			/* a row of net/tcp and the like */
	const char *kind;
	char local[33], remote[33];
	unsigned local_port, remote_port, state;
	uint64_t inode;
};

/* Memory that processes can share: as /proc/PID/maps names it. */
struct shared_object {
	char device[16];
	uint64_t inode;
};

struct sharers {		/* of the object that was asked for last */
	struct shared_object object;
	pid_t *pids;
	size_t len, cap;
	bool unseen;		/* some in which it may have that number may
				 * not be looked into */
	uint64_t read_at;
};

struct why {
	struct why_then *thens;		/* see why_remember */
	size_t then_len, then_cap;
	struct map then_of;		/* tid -> index + 1 */
	struct members members;		/* of the process looked at last */
	struct sharers sharers;
	struct map held;		/* see why_held */
	struct opened *opened;		/* sorted by inode */
	size_t opened_len, opened_cap;
	bool opened_read;
	size_t unseen;
	pid_t sockets_of;		/* whose name space they were read in */
	struct socket_entry *sockets;
	size_t socket_len, socket_cap;
	struct ends *rows;
	size_t row_len, row_cap;
	char name[32];
};

/* ---- calls.c */
enum argument {
	NO_ARGUMENT = -1,
};
enum limit_kind { LIMIT_NONE, LIMIT_MS, LIMIT_TIMESPEC, LIMIT_TIMEVAL,
		  LIMIT_MOMENT };
struct call_row {
	long nr;
	enum wait_kind kind;
	int fd;			/* argument that is a descriptor */
	bool reads, writes;
	enum limit_kind limit;
	int limit_at;		/* its argument */
};
const struct call_row *call_find(long nr);

/* ---- memory.c: copies, texts, threads */
/* By the thread that waits: it lives, and its process's first may not. */
int memory_read(pid_t tid, uint64_t addr, void *to, size_t n);
/* The same, as it was then where that is remembered and what is there now may
 * be of another wait. */
int memory_then(const struct why *y, const struct wait *w, uint64_t addr,
		void *to, size_t n);
/* NULL: nothing is remembered of it. */
const struct why_then *then_find(const struct why *y, pid_t tid);
/* The text of /proc/PID/rest, or NULL. */
char *proc_text(pid_t pid, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

const struct members *members_of(struct why *y, pid_t pid);
/* Does it live in a name space of process numbers that is not ours? */
bool process_is_inside(pid_t pid);
/* The thread that the process knows by that number; 0: none. */
pid_t member_by_inner(const struct members *m, pid_t inner);

/* ---- wait.c: until a moment of a clock; -1: not known */
int64_t time_left(clockid_t clock, const struct timespec *until);

/* ---- futex.c */
void futex_look(struct why *y, struct wait *w, const char *const *functions);

/* ---- lock_names.c: names of functions, ended by NULL, or NULL */
enum lock_kind lock_by_names(const char *const *functions);
/* Do they tell anything? Not those of a stripped program. */
bool lock_has_names(const char *const *functions);

/* ---- locks.c: whose is what the word belongs to */
void lock_look_pi(struct why *y, struct wait *w);
/* guess: no name tells what it is. */
void lock_look(struct why *y, struct wait *w, enum lock_kind by_name,
	       bool guess);

/* ---- objects.c: where it begins, if its word is an inner one */
void object_look(struct why *y, struct wait *w);

/* ---- shared.c: an owner with that number in another process */
void owner_elsewhere(struct why *y, struct wait *w, pid_t number);
/* No process that shares the memory has it: it has ended. */
bool owner_is_gone(struct why *y, const struct wait *w, pid_t number);

/* ---- files.c */
void files_look(struct why *y, struct wait *w, const struct call_row *row);
void file_lock_look(struct why *y, struct wait *w);

/* ---- children.c ---------------------------------------------------------- */

/* It waits in the creation of a child that has its memory, until that runs
 * another program or ends. */
bool children_is_vfork(const struct wait *w);
void children_look(struct why *y, struct wait *w);

/* ---- peers.c */
void peers_find(struct why *y, pid_t pid, struct wait_file *f);
/* Is what this link of /proc leads to a pipe with a name? */
bool fifo_look(const char *link, uint64_t *device, uint64_t *inode);

/* ---- sockets.c */
const struct socket_entry *socket_find(struct why *y, pid_t pid,
				       uint64_t inode);
void sockets_forget(struct why *y);

#endif
