/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learn by reading alone whether and how the guest can be put in, while the
 * target runs. Whatever is missing ends in a refusal with its reason: nothing
 * is guessed, and nothing has been touched by then.
 *
 * libc is chosen by the link maps of the main namespace, not by file names or
 * the order of mappings (LD_AUDIT and dlmopen bring a second libc).
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "foreign.h"
#include "private.h"

enum { CAP_SYS_ADMIN_BIT = 21, MOMENT_NS = 2 * 1000 * 1000 };

int
plan_refuse(const char *reason)
{
	(void)fail(FAIL_UNSUITABLE, "%s", reason);
	return fail_remedy(PLAN_OTHER_ENGINE);
}

/* ---- what /proc says ----------------------------------------------------- */

static char *
status_text(struct target *t)
{
	char path[64];

	snprintf(path, sizeof path, "task/%d/status", target_live_thread(t));
	return file_read_at(target_proc(t), path, NULL);
}

static long
status_number(const char *text, const char *key, int base)
{
	const char *at = strstr(text, key);

	return at ? strtol(at + strlen(key), NULL, base) : 0;
}

bool
we_may_suspend_seccomp(void)
{
	char *text = file_read("/proc/self/status", NULL);
	unsigned long caps = 0;
	const char *at = text ? strstr(text, "\nCapEff:") : NULL;

	if (at)
		caps = strtoul(at + 8, NULL, 16);
	free(text);
	return caps >> CAP_SYS_ADMIN_BIT & 1;
}

static int
check_status(struct target *t, struct plan *p)
{
	char *text = status_text(t);
	long tracer, seccomp;
	const char *features;
	bool shadow_stack;

	if (!text)
		return fail_errno("read the status of process %d",
				  target_pid(t));
	tracer = status_number(text, "\nTracerPid:", 10);
	seccomp = status_number(text, "\nSeccomp:", 10);
	features = strstr(text, "\nx86_Thread_features:");
	shadow_stack = features && strncmp(strstr(features, ":"), ":\tshstk",
					   7) == 0;
	free(text);
	/* A thread that we hold ourselves is no other debugger's. */
	if (tracer != 0 && tracer != getpid() && target_check_ptrace(t) < 0)
		return -1;
	p->seccomp = seccomp != 0;
	p->strict = seccomp == SECCOMP_MODE_STRICT;
	if (p->seccomp && !we_may_suspend_seccomp()) {
		(void)fail(FAIL_UNSUITABLE, "process %d is confined by "
			   "seccomp, which would kill it for our calls",
			   target_pid(t));
		return fail_remedy("run as root, or: " PLAN_OTHER_ENGINE);
	}
	if (shadow_stack)
		return plan_refuse("it runs with a shadow stack, which the way in "
			      "does not support yet");
	return 0;
}

static int
check_class(struct target *t)
{
	unsigned char ident[20] = {0};
	char path[64];
	ssize_t n;
	int fd;

	/* a leader that has ended has none */
	snprintf(path, sizeof path, "task/%d/exe", target_live_thread(t));
	fd = foreign_open_at(target_proc(t), path, 0, 0);
	if (fd < 0)
		return fail_errno("open the program of process %d",
				  target_pid(t));
	n = read(fd, ident, sizeof ident);
	close(fd);
	if (n != (ssize_t)sizeof ident)
		return fail(FAIL_UNSUITABLE, "the program of process %d "
			    "cannot be read", target_pid(t));
	if (ident[EI_CLASS] != ELFCLASS64 || ident[18] != EM_X86_64)
		return plan_refuse("it is not a 64-bit x86-64 program");
	return 0;
}

/* ---- all of it ----------------------------------------------------------- */

static int
read_map(struct plan *p)
{
	char *text = target_maps(p->t);
	int r;
	size_t i;

	if (!text)
		return -1;
	r = modules_parse(&p->mods, text);
	free(text);
	for (i = 0; r == 0 && i < p->mods.len; i++) {
		const struct module *m = &p->mods.items[i];
		struct image vdso;

		if (strcmp(m->path, "[vdso]") == 0 &&
		    locate_image(p->look, m->start, &vdso) == 0)
			p->vdso_clock = locate_address(p->look, &vdso,
						"__vdso_clock_gettime");
	}
	if (r == 0)
		(void)stacks_main(&p->mods, &p->main_stack);
	return r;
}

static int
plan_fill(struct plan *p)
{
	uint64_t head;

	if (check_class(p->t) < 0 || check_status(p->t, p) < 0 ||
	    read_map(p) < 0)
		return -1;
	if (!p->vdso_clock)
		return plan_refuse("it has no vDSO, which tells the time "
				   "without a system call");
	head = plan_link_maps(p);
	if (!head)
		return plan_no_loader(p);
	if (plan_walk_links(p, head) < 0)
		return -1;
	by_hand_list(p);
	plan_find_library(p);
	return plan_read_libc(p);
}

static void
rest(void)
{
	const struct timespec moment = { .tv_nsec = MOMENT_NS };

	(void)nanosleep(&moment, NULL);	/* being woken early is no harm */
}

int
plan_make(struct target *t, struct plan *p)
{
	int tries;

	/* The target may load and unload while we read; look again. */
	for (tries = 0; tries < 5; tries++) {
		memset(p, 0, sizeof *p);
		p->t = t;
		p->look = xcalloc(1, sizeof *p->look);
		p->look->t = t;
		if (plan_fill(p) == 0)
			return 0;
		plan_fini(p);
		if (target_gone(t))
			break;
		rest();
	}
	return -1;
}

void
plan_fini(struct plan *p)
{
	modules_fini(&p->mods);
	if (p->look)
		look_fini(p->look);
	free(p->look);
	p->look = NULL;
	free(p->images);
	p->images = NULL;
	p->nimages = 0;
}

int
inject_possible(struct target *t, char **libc)
{
	struct plan p;
	int r = 0;

	*libc = NULL;

	if (room_check(t, 0) < 0 || plan_make(t, &p) < 0)
		return fail_in("process %d: load the collector",
			       target_pid(t));
	if (p.strict)
		r = filter_refuse();
	*libc = plan_describe_libc(&p);
	plan_fini(&p);
	return r < 0 ? fail_in("process %d: load the collector",
			       target_pid(t)) : 0;
}
