/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tracer and its guardian share: a page, and two robust locks in it.
 */
#ifndef SONDE_CONTROL_GUARDIAN_H
#define SONDE_CONTROL_GUARDIAN_H

#include "private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { NOTES_MAX = 1024 };

struct guard_page {
	pthread_mutex_t turn[2];
	enum errand { ERRAND_WATCH, ERRAND_END } errand;
	pid_t tracer;
	pid_t pid, tid;			/* ERRAND_WATCH: whose memory */
	int error;			/* of that: errno or 0 */
	struct page_watch *reads;	/* the tracer's, where both have it */
	_Atomic unsigned done;		/* errands */
	_Atomic pid_t scheduled;	/* a thread that is not as before; 0 */
	struct schedule schedule;	/* how it was */
	_Atomic size_t planted;		/* notes that count */
	struct trap_text notes[NOTES_MAX];
};

/* The guardian's life; it does not return. */
void guardian_stand(struct guard_page *page) __attribute__((noreturn));

#endif
