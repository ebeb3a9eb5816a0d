/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * why: what a thread waits for, and for whom. By /proc and by copies of
 * memory, of any process that we may look into: nobody is stopped, nothing is
 * written, no ptrace. What is seen of a thread is of one wait of its, which
 * its count of turns on a processor shows; and so is its stack, where the call
 * that was seen with the stack is remembered.
 */
#ifndef SONDE_WHY_H
#define SONDE_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum wait_kind {
	WAIT_NONE,		/* it runs, or would like to */
	WAIT_CALL,		/* a call of which only the name is known */
	WAIT_FUTEX,
	WAIT_FILES,		/* one descriptor, or several */
	WAIT_CHILD,
	WAIT_TIME,
	WAIT_SIGNAL,
	WAIT_FILE_LOCK,
	WAIT_STOPPED,		/* by a signal or a tracer */
	WAIT_KERNEL,		/* a page fault, a disk */
	WAIT_IPC,		/* messages or semaphores of System V: args[0] */
};

enum lock_kind {
	LOCK_UNKNOWN,		/* a word in memory */
	LOCK_MUTEX,
	LOCK_RWLOCK,
	LOCK_JOIN,		/* a thread, until it ends */
	LOCK_CONDITION,
	LOCK_SEMAPHORE,
	LOCK_BARRIER,
	LOCK_ONCE,
	LOCK_INTERNAL,		/* a lock of libc's own, as malloc's */
	LOCK_STREAM,		/* of stdio: also flockfile(3) */
};

/* A process that has the other end of something open. */
struct wait_peer {
	pid_t pid;
	int fd;
};

/* One of several futexes. */
struct wait_word {
	uint64_t address;
	uint32_t value;		/* now */
};

struct wait_file {
	int fd;
	bool reads, writes;	/* what it is waited for */
	bool is_pipe, is_socket;
	bool is_fifo;		/* a pipe that has a name, and so may be opened */
	bool closed_circle;	/* whoever can end the wait is in peers */
	uint64_t device, inode;	/* device: of a FIFO */
	char *what;		/* "pipe:[7]", "tcp 127.0.0.1:22", a path */
	struct wait_peer *peers;
	size_t peer_count;
};

struct wait {
	pid_t pid, tid;
	char state;		/* of /proc; 0: it has ended */
	char name[16];
	enum wait_kind kind;
	uint64_t turns;		/* on a processor, so far; 0 unknown */
	long call;		/* number; -1 none */
	uint64_t args[6];
	uint64_t pc, sp;
	bool past;		/* it has had a turn since: what is known of the
				 * wait is of the moment of its stack */
	bool timed;		/* it ends by itself */
	int64_t timeout_ns;	/* -1: until a moment, or unknown */
	/* WAIT_FUTEX */
	enum lock_kind lock;
	uint64_t word;		/* its address */
	uint64_t address;	/* of the lock, where that is known; or word */
	uint32_t value;		/* of the word, now */
	pid_t owner;		/* thread; 0: not known */
	pid_t owner_pid;	/* ... its process */
	bool owner_ended;	/* ... and it is there no more */
	pid_t owner_unseen;	/* thread of a process that is not ours to see */
	unsigned readers;	/* LOCK_RWLOCK: who hold it */
	struct wait_word *words;	/* of several: all; word is the first */
	size_t word_count;
	/* WAIT_FILES, WAIT_FILE_LOCK */
	struct wait_file *files;
	size_t file_count;
	bool epoll;
	pid_t holder;		/* WAIT_FILE_LOCK: process; 0: not known */
	pid_t *children;	/* WAIT_CHILD: those it waits for */
	size_t child_count;
	bool vforked;		/* the one that has its memory meanwhile */
};

void wait_fini(struct wait *w);

/* The name of a system call, "call 999" for one of no name. A view, of an
 * unknown one until the next call. */
const char *wait_call_name(long call);
/* -1: there is none of that name. */
long wait_call_number(const char *name);
/* Of WAIT_IPC: "message queue", "semaphore set". */
const char *ipc_kind_name(const struct wait *w);
const char *lock_kind_name(enum lock_kind kind);

/* What is known of processes, as long as one looks. */
struct why;
struct why *why_new(void);
void why_free(struct why *y);
/* Processes of others that could not be looked into, once somebody was sought
 * among all. */
size_t why_unseen(const struct why *y);

/* One look at a thread: what was seen with its stack. */
struct why_then {
	pid_t tid;
	char state;
	uint64_t turns;		/* 0: it was stopped, and has had one since */
	uint64_t pc, sp;
	long call;		/* -1 none */
	uint64_t args[6];
	uint64_t at;		/* memory around the word of a futex: */
	const void *bytes;	/* they live as long as the struct why */
	size_t n;		/* 0: not known */
};
/* Tell of this moment of the thread, not of a later one. */
void why_remember(struct why *y, const struct why_then *then);
/* We hold this thread: it stands in the midst of a wait, which goes on. */
void why_held(struct why *y, pid_t tid);
/* What the thread waits for. -1: it has ended, or it is not ours to see.
 * functions: names of its innermost frames, ended by NULL, or NULL: tell what
 * kind of lock it is. */
int why_look(struct why *y, pid_t pid, pid_t tid,
	     const char *const *functions, struct wait *out);
/* Still in the same wait, and for the same owner? Of one that did not wait:
 * true. */
bool why_holds(struct why *y, const struct wait *w);
/* One line for people: "mutex 0x55d0 held by thread 12 (left)"; "" for who
 * runs. The caller frees it. */
char *why_text(struct why *y, const struct wait *w);
/* What stands before that line: "waits for", "waits". */
const char *why_verb(const char *text);
/* The name of a thread, "" when it has none. A view until the next call. */
const char *why_name(struct why *y, pid_t pid, pid_t tid);

/* What a link of /proc/PID/fd leads to: a socket by its ends, "tcp
 * 127.0.0.1:22 to 127.0.0.1:4711", all else as it stands there. The caller
 * frees it. */
char *why_file(struct why *y, pid_t pid, const char *link);
/* Sockets that come from now on are known as well. */
void why_forget_sockets(struct why *y);

/* ---- graph.c: who waits for whom ---------------------------------------- */

struct why_node {
	struct wait wait;
	size_t *wakers;		/* nodes that can end the wait */
	size_t waker_count;
	bool open;		/* so can others, or time */
	bool stuck;		/* nobody can who is not stuck as well */
	bool changed;		/* it went on, or its owner changed, before all
				 * had been looked at */
	bool shown;		/* for the use of who prints */
};

struct why_graph {
	struct why_node *nodes;
	size_t len, cap;
	size_t changed;		/* 0: all of it was so at one moment */
};

/* All threads of the process, and of those that they wait for. functions
 * tells names of frames of a thread; may be NULL. What is found stuck was so
 * at one moment. */
int why_graph_make(struct why *y, pid_t pid,
		   const char *const *(*functions)(void *arg, pid_t tid),
		   void *arg, struct why_graph *g);
void why_graph_fini(struct why_graph *g);
/* The next cycle among the stuck, or those stuck without one behind somebody
 * who is gone: nodes in their order, each waits for the next, the last for
 * the first; the caller frees it. 0: no more. */
size_t why_graph_cycle(const struct why_graph *g, size_t *from, size_t **cycle);

#endif
