/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run of `record`: what was asked (record_options.c), the processes and
 * their sessions (record_subjects.c), and the wait for their end
 * (verb_record.c).
 */
#ifndef RECORDING_H
#define RECORDING_H

#include "private.h"

enum { SUBJECTS_MAX = 64 };

struct subject {
	pid_t pid;
	char *path;		/* NULL: test.N.er */
	struct session *session;
	bool ended;
};

struct recording {
	struct shell *sh;
	struct subject subjects[SUBJECTS_MAX];
	size_t count;
	char **program;		/* launch */
	const char *pids;	/* as given */
	bool children;
	uint64_t duration_ns;
	bool partial;		/* data is incomplete: a tracer process died,
				 * or a disk is full */
	char *group;		/* X.erg; NULL: one experiment */
	bool launched;		/* the program is there: what fails is ours */
};

/* Fails: neither a process nor a program was given. */
int record_usage(void);

/* Reads the words behind `record`. */
int record_options(struct recording *r, int argc, char **argv);

/*
 * Both leave the subjects that were started in `r`, recorded, also when they
 * fail: the caller detaches them. launch runs r->program; attach takes
 * r->pids and, when asked, their children.
 */
int record_launch(struct recording *r);
int record_attach(struct recording *r);

#endif
