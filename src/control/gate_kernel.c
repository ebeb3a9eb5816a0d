/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a gate must know of the kernel: where it keeps what the gate reads, by
 * its own description (BTF), and by which numbers it knows threads.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <linux/btf.h>

#include "btf.h"
#include "gate.h"
#include "machine.h"

/* within: of a member of a task. */
static bool
find_member(const struct btf *b, const char *within, const char *type,
	    const char *name, uint32_t *offset)
{
	static const char task[] = "task_struct";
	const uint32_t a = btf_find(b, BTF_KIND_STRUCT, task);
	const uint32_t its = btf_find(b, BTF_KIND_STRUCT, type);
	struct btf_place outer = { 0 }, inner;

	if (!a || !its || (within && !btf_member(b, a, within, &outer)) ||
	    !btf_member(b, its, name, &inner))
		return false;
	*offset = outer.offset + inner.offset;
	return true;
}

/* In what all threads of a process share. */
static bool
find_actions(const struct btf *b, struct places *at)
{
	const uint32_t its = btf_find(b, BTF_KIND_STRUCT, "sighand_struct");
	struct btf_place place;

	if (!its || !btf_member(b, its, "action", &place))
		return false;
	at->action = place.offset;
	return find_member(b, NULL, "task_struct", "sighand", &at->actions);
}

static bool
find_stack_places(const struct btf *b, struct places *at)
{
	return find_member(b, NULL, "task_struct", "sas_ss_sp",
			   &at->alternate) &&
		find_member(b, NULL, "task_struct", "sas_ss_size",
			    &at->alternate_size) &&
		find_member(b, "pending", "sigpending", "signal",
			    &at->pending) &&
		find_member(b, "thread", "thread_struct",
			    machine_kernel_thread_pointer,
			    &at->thread_pointer);
}

bool
gate_find_places(struct places *at, bool for_handler)
{
	struct btf *b = btf_open("/sys/kernel/btf/vmlinux");
	const bool found = b && (!for_handler || (find_stack_places(b, at) &&
						  find_actions(b, at))) &&
		find_member(b, NULL, "task_struct", "blocked", &at->blocked) &&
		find_member(b, "thread_info", "thread_info", "syscall_work",
			    &at->work) &&
		find_member(b, "seccomp", "seccomp", "mode", &at->mode) &&
		find_member(b, "seccomp", "seccomp", "filter_count",
			    &at->filters) &&
		find_member(b, "seccomp", "seccomp", "filter", &at->filter);

	btf_free(b);
	return found;
}

bool
gate_find_numbers(pid_t pid, struct pid_numbers *numbers)
{
	struct stat own, its;
	char path[32];

	numbers->are_the_kernels = pids_are_the_kernels();
	if (numbers->are_the_kernels)
		return true;
	(void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	if (stat("/proc/self/ns/pid", &own) < 0 || stat(path, &its) < 0)
		return false;
	numbers->device = (uint64_t)major(own.st_dev) << 20 |
		minor(own.st_dev);
	numbers->inode = own.st_ino;
	return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}
