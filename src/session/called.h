/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that were called in a target that stands. */
#ifndef SONDE_SESSION_CALLED_H
#define SONDE_SESSION_CALLED_H

#include "inject.h"
#include "private.h"

/* ---- own_thread.c -------------------------------------------------------- */

/* A thread for one function; the target stands before and behind it. */
struct fresh_thread *own_thread_make(struct tracer *tr);
/* Frees. met: what befell it at its end. What stays of it is told. */
void own_thread_end(struct tracer *tr, struct fresh_thread *own,
		    struct inject_met *met);

/* ---- called.c ------------------------------------------------------------ */

/* NULL: none. */
struct called *called_innermost(struct tracer *tr);
/* Is the thread in a function that was called from here? */
bool called_by(const struct tracer *tr, pid_t tid);
/* The one of our own that this thread is, for a call within its function. */
const struct fresh_thread *called_own(const struct tracer *tr, pid_t tid);
/* Of inject's limits: does the shell speak? */
bool called_cancelled(void *tracer);
/* Where it was, and the signal that it got there. */
void called_put_where(struct wire_message *out, int signal,
		      const struct inject_met *met);
/* It only waits for the end of another: nobody may step it. */
int called_check_thread(const struct tracer *tr, pid_t tid);
/* The innermost one is over, and forgotten; with it the thread that was made
 * for it. gone: there is none of them any more. */
void called_drop(struct tracer *tr, bool gone, struct inject_met *met);

#endif
