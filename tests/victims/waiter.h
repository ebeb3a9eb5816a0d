/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waiter's members: who they are (waiter.c), one of each kind
 * (waiter-kinds.c), locks of two processes (waiter-shared.c), messages and
 * semaphores (waiter-ipc.c).
 */
#ifndef WAITER_H
#define WAITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { MEMBERS_MAX = 64 };

struct member {
	char name[16];
	void (*wait)(struct member *me);
	long call;		/* that it is to be seen in; -1: it runs */
	int number;
	_Atomic pid_t tid;
	pthread_t thread;
};

extern pthread_mutex_t mutexes[MEMBERS_MAX];
extern int empty[2];		/* a pipe that nobody writes to */
extern pid_t child;		/* 0: none */

/* A thread that waits so, in that call. */
struct member *add(const char *name, long call,
		   void (*wait)(struct member *me));
/* What it is about to wait for. */
void say_word(const struct member *m, const void *word);
void say_fd(const struct member *m, int fd);
/* What its call has answered. */
void note(long result);
void read_one(struct member *me, int fd);
/* For the first of the mutexes. */
void wait_mutex(struct member *me);

void start_ipc(void);
void start_kinds(void);
void start_shared(const char *how);

#endif
