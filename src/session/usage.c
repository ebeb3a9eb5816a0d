/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the process uses, for resource samples: its CPU clock, divided as the
 * kernel divides its ticks, its faults and blocks. Switches: usage_switches.c.
 */
#include "usage.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 512,
	AT_ONCE_NS = 500 * 1000,	/* for two readings */
	TRIES = 4,
};

static void
advance(uint64_t *to, uint64_t now)
{
	if (now > *to)
		*to = now;
}

static void
read_stat(struct target *t, struct experiment_usage *use)
{
	struct task_stat st;
	uint64_t cpu_ns;

	if (target_stat(t, &st) < 0)
		return;
	advance(&use->minor_faults, st.field[STAT_MINOR_FAULTS]);
	advance(&use->major_faults, st.field[STAT_MAJOR_FAULTS]);

	const uint64_t user = st.field[STAT_UTIME];
	const uint64_t system = st.field[STAT_STIME];

	if (user + system > 0 && target_cpu_ns(t, &cpu_ns) == 0) {
		const uint64_t part = (uint64_t)((double)cpu_ns *
			(double)system / (double)(user + system));

		advance(&use->system_ns, part);
		advance(&use->user_ns, cpu_ns - part);
	}
}

static uint64_t
number_after(const char *text, const char *word)
{
	const char *at = text ? strstr(text, word) : NULL;

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static void
read_blocks(struct target *t, struct experiment_usage *use)
{
	char *text = file_read_at(target_proc(t), "io", NULL);

	advance(&use->in_blocks, number_after(text, "\nread_bytes:") / BLOCK);
	advance(&use->out_blocks,
		number_after(text, "\nwrite_bytes:") / BLOCK);
	free(text);
}

static void
add_waits(struct experiment_usage *use, const struct recorder *rec,
	  uint64_t now)
{
	uint64_t sum[MSTATE_COUNT] = { 0 };

	recorder_waited(rec, now, sum);
	advance(&use->wait_ns, sum[MSTATE_WAIT_CPU]);
	advance(&use->lock_ns, sum[MSTATE_LOCK]);
	advance(&use->text_fault_ns, sum[MSTATE_TEXT_FAULT]);
	advance(&use->data_fault_ns, sum[MSTATE_DATA_FAULT]);
	advance(&use->stop_ns, sum[MSTATE_STOPPED]);
	advance(&use->sleep_ns, sum[MSTATE_SLEEP]);
}

/* All of it is of one moment: where we lost the processor between two readings,
 * the time of hundreds of threads went by. */
uint64_t
usage_read(struct target *t, const struct recorder *rec,
	   struct experiment_usage *use)
{
	uint64_t now;
	int tries = 0;

	do {
		now = now_ns();
		read_stat(t, use);
	} while (now_ns() - now > AT_ONCE_NS && ++tries < TRIES);
	if (rec)
		add_waits(use, rec, now);
	read_blocks(t, use);
	fail_clear();
	return now;
}
