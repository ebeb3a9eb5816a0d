/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the two halves of victim `lockrules` share.
 */
#ifndef LOCKRULES_H
#define LOCKRULES_H

enum { ANSWERS = 64 };

struct answers {
	int n, values[ANSWERS];
};

void say(struct answers *a, int value);
/* In a thread of its own; what that says. */
void *run(void *(*work)(void *), void *arg);

/* lockrules-cancel.c */
void cancellation(struct answers *a);
/* -1: it did not happen as it should. The first few times alone. */
int cancelled_join(void);

#endif
