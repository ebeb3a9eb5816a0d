/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Readings of /proc/PID/status: what the kernel says about a thread,
 * for decisions only. A file that is not there means that the thread is gone.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum field_form { FIELD_STATE, FIELD_PID, FIELD_INT, FIELD_HEX, FIELD_IDS,
		  FIELD_ADD, FIELD_NSPID };

static const struct {
	const char *name;
	enum field_form form;
	size_t offset;
} fields[] = {
#define AT(member) offsetof(struct proc_status, member)
	{ "State:", FIELD_STATE, AT(state) },
	{ "Tgid:", FIELD_PID, AT(tgid) },
	{ "PPid:", FIELD_PID, AT(ppid) },
	{ "TracerPid:", FIELD_PID, AT(tracer) },
	{ "Uid:", FIELD_IDS, AT(uid) },
	{ "Gid:", FIELD_IDS, AT(gid) },
	{ "NSpid:", FIELD_NSPID, 0 },
	{ "SigPnd:", FIELD_HEX, AT(sig_pending) },
	{ "ShdPnd:", FIELD_HEX, AT(sig_shared) },
	{ "SigBlk:", FIELD_HEX, AT(sig_blocked) },
	{ "SigIgn:", FIELD_HEX, AT(sig_ignored) },
	{ "SigCgt:", FIELD_HEX, AT(sig_caught) },
	{ "CapPrm:", FIELD_HEX, AT(cap_permitted) },
	{ "CapEff:", FIELD_HEX, AT(cap_effective) },
	{ "Seccomp:", FIELD_INT, AT(seccomp) },
	{ "voluntary_ctxt_switches:", FIELD_ADD, AT(switches) },
	{ "nonvoluntary_ctxt_switches:", FIELD_ADD, AT(switches) },
#undef AT
};

static void
read_nspid(const char *text, struct proc_status *st)
{
	char *end;

	for (;;) {
		const long n = strtol(text, &end, 10);

		if (end == text)
			return;
		st->ns_pid = (pid_t)n;
		st->ns_depth++;
		text = end;
		if (*text == '\n')
			return;
	}
}

static void
read_field(enum field_form form, void *at, const char *text,
	   struct proc_status *st)
{
	unsigned *ids = at;

	switch (form) {
	case FIELD_STATE:
		*(char *)at = text[strspn(text, " \t")];
		break;
	case FIELD_PID:
		*(pid_t *)at = (pid_t)strtol(text, NULL, 10);
		break;
	case FIELD_INT:
		*(int *)at = (int)strtol(text, NULL, 10);
		break;
	case FIELD_HEX:
		*(uint64_t *)at = strtoull(text, NULL, 16);
		break;
	case FIELD_IDS:
		(void)sscanf(text, "%u %u %u %u", ids, ids + 1, ids + 2,
			     ids + 3);
		break;
	case FIELD_ADD:
		*(uint64_t *)at += strtoull(text, NULL, 10);
		break;
	case FIELD_NSPID:
		read_nspid(text, st);
		break;
	}
}

static void
read_line(const char *line, struct proc_status *st)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (!str_starts(line, fields[i].name))
			continue;
		read_field(fields[i].form, (char *)st + fields[i].offset,
			   line + strlen(fields[i].name), st);
		return;
	}
}

int
proc_status_of(int dir_fd, const char *path, struct proc_status *st)
{
	char *text = file_read_at(dir_fd, path, NULL);

	*st = (struct proc_status){ 0 };
	if (!text)
		return -1;
	for (const char *line = text; line && *line;) {
		read_line(line, st);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	free(text);
	if (st->state)
		return 0;
	errno = ESRCH;
	return -1;
}

int
proc_status_tid(pid_t tid, struct proc_status *st)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	return proc_status_of(-1, path, st);
}

int
proc_status_thread(const struct target *t, pid_t tid, struct proc_status *st)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/status", (int)tid);
	return proc_status_of(t->proc_fd, path, st);
}
