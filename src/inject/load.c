/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The library's way into the target: bytes that we carry go into a memfd of
 * the target, sealed, which dlopen reaches by the /proc of its thread (that of
 * the process is empty when the first thread has ended). No path is trusted,
 * none need be visible (containers, chroot). A library that is there from an
 * earlier visit is used again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

#define CALL_TIMEOUT_NS	UINT64_C(10000000000)

int
load_fill_library(int fd)
{
	const size_t size = (size_t)(collector_image_end - collector_image);

	if (write_all(fd, collector_image, size) < 0)
		return fail_errno("write the library");
	/* From here on nobody can change what is about to be loaded. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
		  F_SEAL_WRITE) < 0)
		return fail_errno("seal the library");
	return 0;
}

int
load_library_file(struct errand *e, pid_t helper,
		  const struct user_regs_struct *regs)
{
	int theirs, r, n;
	const int fd = channel_memfd(e, helper, regs, "sonde-collector",
				     &theirs);

	if (fd < 0)
		return -1;
	e->block.library_fd = theirs;
	r = load_fill_library(fd);
	close(fd);
	n = snprintf(e->block.path, sizeof e->block.path, "%s%d",
		     e->p->library_path, theirs);
	if (r == 0 && n >= (int)sizeof e->block.path)
		r = fail(FAIL_INTERNAL, "no name is left for the library");
	return r;
}

/* Where all stand nobody would give our thread the locks that it needs. */
static int
run_command(struct errand *e)
{
	int r = 0;

	if (e->only_present && !e->p->library) {
		(void)fail(FAIL_UNSUITABLE, "the collector is not loaded in "
			   "process %d", target_pid(e->p->t));
		return fail_remedy("attach to it when it runs (sonde -p %d), "
				   "or: `collector engine ring`",
				   target_pid(e->p->t));
	}
	if (e->p->library && target_held(e->p->t))
		r = standing_call(e);
	if (r != 0)
		return r < 0 ? -1 : 0;
	return errand_run(e);
}

int
load_command(struct target *t, const struct errand *how,
	     struct collector_call *call, struct inject_report *report,
	     uint64_t *entry)
{
	struct errand e = *how;
	struct urgent urgent;
	struct plan p;
	int r;

	call->version = COLLECTOR_VERSION;
	if (e.then)
		e.then->version = COLLECTOR_VERSION;
	if (plan_make(t, &p) < 0)
		return -1;
	p.tables = e.tables;
	snprintf(report->libc, sizeof report->libc, "%s", p.libc_name);
	report->reused = p.library != 0;
	call->vdso_clock = p.vdso_clock;
	call->tid_offset = p.seccomp ? p.off_tid : 0;
	e.p = &p;
	e.entry = true;
	e.call = call;
	e.report = report;
	e.timeout_ns = CALL_TIMEOUT_NS;
	urgent_begin(&urgent);
	r = run_command(&e);
	urgent_end(&urgent);
	if (p.library)
		*entry = p.library + p.library_entry;
	if (r == 0 && e.result < 0) {
		errno = (int)-e.result;
		r = fail_errno("the collector in process %d", target_pid(t));
	}
	plan_fini(&p);
	return r;
}

int
inject_call(struct target *t, uint64_t function, const uint64_t *args,
	    size_t nargs, uint64_t timeout_ns, uint64_t *result,
	    struct inject_report *report)
{
	struct inject_report unasked;
	struct urgent urgent;
	struct errand e = { .function = function, .timeout_ns = timeout_ns };
	struct plan p;
	int r;

	if (nargs > ARRAY_LEN(e.args))
		return fail(FAIL_USAGE, "a call takes at most %zu arguments",
			    ARRAY_LEN(e.args));
	if (plan_make(t, &p) < 0)
		return -1;
	if (nargs)
		memcpy(e.args, args, nargs * sizeof *args);
	e.p = &p;
	e.report = report ? report : &unasked;
	memset(e.report, 0, sizeof *e.report);
	snprintf(e.report->libc, sizeof e.report->libc, "%s", p.libc_name);
	urgent_begin(&urgent);
	r = errand_run(&e);
	urgent_end(&urgent);
	if (r == 0)
		*result = (uint64_t)e.result;
	plan_fini(&p);
	return r;
}
