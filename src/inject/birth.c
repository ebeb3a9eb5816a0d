/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What only a thread of the program can do for us: a borrowed one maps the
 * scratch and makes the helper, by raw system calls, and is given back. The
 * helper stands at its birth then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sched.h>

#include "hazard.h"
#include "private.h"

enum { TID_BY_HAND = 64 };

static int
call_failed(const char *name, int64_t result)
{
	errno = (int)-result;
	(void)fail_errno("%s in the target", name);
	if (result == -ENOMEM || result == -EAGAIN)
		(void)fail_remedy("raise its limit on address space or "
				  "processes (prlimit)");
	return -1;
}

static bool
is_error(int64_t result)
{
	return result < 0 && result > -4096;
}

static int
map_scratch(struct errand *e, struct borrow *b)
{
	const uint64_t args[6] = {
		0, e->s.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0
	};
	int64_t at;

	if (borrow_syscall(b, SYS_mmap, args, &at, NULL) < 0)
		return -1;
	if (is_error(at))
		return call_failed("mmap", at);
	e->s.at = (uint64_t)at;
	return 0;
}

static void
unmap_scratch(struct errand *e, struct borrow *b)
{
	const uint64_t args[6] = { e->s.at, e->s.size };
	int64_t result;

	/* It failed before; one attempt to leave nothing is all we owe. The
	 * frame is not in there, unless there was no room anywhere else. */
	if (b->frame - e->s.at < e->s.size)
		b->frame = 0;
	(void)borrow_syscall(b, SYS_munmap, args, &result, NULL);
	e->s.at = 0;
}

/* Where the kernel writes the helper's number: as libc has it, or nowhere
 * that anybody looks. */
static uint32_t
tid_at(const struct plan *p)
{
	return p->by_hand ? TID_BY_HAND : p->off_tid;
}

/* By which mishap_watch_jumps hears of a jump. */
static uint64_t
watch_bit(struct target *t)
{
	const int signal = target_watch_signal(t);

	return signal ? UINT64_C(1) << (signal - 1) : 0;
}

static void
fill_block(struct errand *e)
{
	const struct plan *p = e->p;
	struct block *k = &e->block;

	*k = (struct block){
		/* Until all is prepared, a helper without us just ends. */
		.state = BLOCK_CANCELLED,
		.library_fd = -1, .area_fd = -1,
		.ctype_init = p->ctype_init, .attr_init = p->attr_init,
		.attr_setstack = p->attr_setstack,
		.attr_setdetach = p->attr_setdetach,
		.pthread_create = p->pthread_create,
		.stack = e->s.at + e->s.thread_stack,
		.stack_size = e->s.thread_stack_size,
		.dlerror = p->dlerror, .dlopen_flags = p->dlopen_flags,
		.tid_offset = p->off_tid,
		.specific_offset = p->off_specific,
		.thread_keys = p->thread_keys,
		.call_tls_dtors = p->call_tls_dtors,
		.area = e->s.at, .area_size = e->s.size,
		.helper_tid_at = e->s.at + e->s.tp + tid_at(p),
		.function = e->parks ?
			e->s.at + (uint64_t)(stub_park - stub_begin) :
			e->function,
		/* setuid(2) of any thread waits until all have heard of it */
		.unblock = p->by_hand || !handled(HAZARD_SETUID) ? 0 :
			UINT64_C(1) << (SIGNAL_SETXID - 1),
	};
	memcpy(k->args, e->args, sizeof k->args);
	if (!e->entry) {
		k->unblock |= watch_bit(p->t);
		return;
	}
	k->args[0] = e->s.at + e->s.call;
	k->args[1] = sizeof *e->call;
	k->then = e->then ? e->s.at + e->s.then : 0;
	k->entry_offset = p->library_entry;
	k->name_offset = p->library_name;
	if (p->library)
		k->function = p->library + p->library_entry;
	else
		k->dlopen = p->dlopen;
}

/* The code as a file of the target's, which nobody can change. */
static int
fill_code(int fd)
{
	unsigned char page[STUB_BLOCK];

	memset(page, 0xcc, sizeof page);
	memcpy(page, stub_begin, (size_t)(stub_end - stub_begin));
	if (write_all(fd, page, sizeof page) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
		  F_SEAL_WRITE) < 0)
		return fail_errno("write the code of the helper");
	return 0;
}

static int
refuse_code(const char *call, int64_t result)
{
	errno = (int)-result;
	(void)fail_errno("%s in the target, which may not make memory "
			 "executable (PR_SET_MDWE, SELinux)", call);
	return fail_remedy(PLAN_OTHER_ENGINE);
}

/*
 * A program may have forbidden itself to make memory executable that it could
 * write to (PR_SET_MDWE, systemd's MemoryDenyWriteExecute=). Files it maps so
 * as before: that is how it loads libraries, and ours.
 */
static int
map_code(struct errand *e, struct borrow *b)
{
	struct user_regs_struct regs;
	int64_t result;
	int fd, r;

	if (borrow_begin(b, &regs) < 0)
		return -1;
	e->name_at = e->s.at + STUB_BLOCK + offsetof(struct block, path);
	fd = descriptor_make(e, b->held.tid, &regs, HELPER_NAME,
			     LIBRARY_FILE);
	if (fd < 0)
		return -1;
	r = fill_code(fd);
	close(fd);

	const uint64_t args[6] = {
		e->s.at, STUB_BLOCK, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | MAP_FIXED, (uint64_t)e->block.library_fd, 0
	};

	if (r == 0)
		r = borrow_syscall(b, SYS_mmap, args, &result, NULL);
	if (r == 0 && is_error(result))
		r = refuse_code("mmap", result);
	descriptor_close(e, b->held.tid, &regs, LIBRARY_FILE);
	return r;
}

static int
make_executable(struct errand *e, struct borrow *b)
{
	const uint64_t protect[6] = {
		e->s.at, STUB_BLOCK, PROT_READ | PROT_EXEC
	};
	int64_t result;

	if (borrow_syscall(b, SYS_mprotect, protect, &result, NULL) < 0)
		return -1;
	if (result == -EACCES || result == -EPERM)
		return map_code(e, b);
	return is_error(result) ? call_failed("mprotect", result) : 0;
}

static int
make_helper(struct errand *e, struct borrow *b)
{
	static const struct collector_call nothing;
	const uint64_t at = e->s.at;
	const uint64_t create[6] = {
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
		CLONE_PARENT_SETTID,
		at + e->s.stack_top - 16, at + e->s.tp + tid_at(e->p), 0,
		at + e->s.tp
	};
	int64_t result;

	fill_block(e);
	if (scratch_write(e->p, &e->s, &e->block,
			  e->call ? e->call : &nothing,
			  b->regs.fs_base) < 0)
		return -1;
	if (!b->frame && borrow_write_frame(b, at + e->s.frame,
					    e->s.frame_size) < 0)
		return -1;
	if (make_executable(e, b) < 0)
		return -1;
	if (borrow_syscall(b, SYS_clone, create, &result, &e->helper) < 0)
		return -1;
	if (!e->helper)
		return call_failed("clone", result);
	urgent_helper_first(e);
	return 0;
}

/*
 * Hooks tell threads by the number that libc keeps of each. A child that the
 * program made without libc's fork has its parent's there. A thread whose FS
 * base is none of libc's has no number, and says nothing about it.
 */
static void
compare_number(struct plan *p, const struct borrow *b)
{
	enum { SELF_AT = 0x10 };
	const uint64_t tp = b->regs.fs_base;
	uint64_t self;
	int32_t number;

	if (p->by_hand ||
	    target_read(p->t, tp + SELF_AT, &self, sizeof self) < 0 ||
	    self != tp ||
	    target_read(p->t, tp + p->off_tid, &number, sizeof number) < 0)
		fail_clear();
	else if (number != thread_inner_tid(p->t, b->held.tid))
		p->number_there = number ? number : -1;
}

int
helper_make(struct errand *e)
{
	struct borrow *b = xcalloc(1, sizeof *b);
	const bool single = e->p->single;
	int r;

	/* Raw system calls disturb nothing in libc: any point will do. */
	e->p->single = false;
	r = donor_take(e->p, e->seed, b, e->report);
	e->p->single = single;
	if (r == 0) {
		compare_number(e->p, b);
		/* else nothing asks for it, but hooks */
		if (e->p->by_hand &&
		    by_hand_find_tid(e->p, b->held.tid, b->regs.fs_base) < 0 &&
		    e->p->seccomp)
			r = -1;
		if (r == 0)
			r = map_scratch(e, b);
		if (r == 0 && (r = make_helper(e, b)) < 0)
			unmap_scratch(e, b);
		if (borrow_return(b, e->report) < 0)
			r = -1;
	}
	free(b);
	return r;
}
