/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a thread of ours is to interlude.c, which calls functions on it. */
#ifndef SONDE_INJECT_FRESH_H
#define SONDE_INJECT_FRESH_H

#include "private.h"

struct fresh_thread {
	struct plan p;
	struct errand e;
	struct inject_report report;
	pid_t tid, helper;	/* 0: never were */
};

bool fresh_is_on_stack(const struct fresh_thread *f, uint64_t sp);

#endif
