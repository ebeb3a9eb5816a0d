/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files of /proc/PID, whose names, titles and paths are the target's: status,
 * stat, syscall, schedstat and maps, all with the same bytes; then all of them
 * but for a state by which the process lives.
 */
#include "../../src/control/private.h"
#include "fuzz.h"
#include "symbol.h"

static struct target target = { .pid = 42, .live_tid = 42, .pidfd = -1 };

static void
visit(void *arg, bool ok, const char *subject, const char *text)
{
	size_t *used = arg;

	*used += ok + fuzz_use(subject) + fuzz_use(text);
}

static void
ask(size_t *used)
{
	struct proc_status st;
	struct thread_facts f;
	struct program program;
	char *maps;

	(void)proc_status_thread(&target, 42, &st);
	(void)proc_thread_state(&target, 42);
	(void)target_thread_facts(&target, 42, &f);
	program_read(&target, &program);
	*used += fuzz_use(program.interpreter);
	maps = target_maps(&target);
	*used += fuzz_use(maps);
	free(maps);
	target.gone = false;
	target_doctor(&target, NULL, visit, used);
	target.gone = false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const files[] = {
		"task/42/status", "task/42/stat", "task/42/syscall",
		"task/42/schedstat", "task/42/maps", "status", "stat",
		"task/42/cgroup", "cgroup", "task/42/mountinfo", "task/42/exe",
	};
	static const char alive[] = "42 (x) S 1 42 42 0 -1 4194304 1 0 0 0 1 "
		"1 0 0 20 0 1 0 100 1 1 18446744073709551615 0 0 0 0 0 0 0 0 "
		"0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
	struct modules mods = {0};
	char *text = fuzz_text(data, size);
	size_t i, used = 0;

	if (fuzz_enter()) {
		if (mkdir("task", 0700) < 0 || mkdir("task/42", 0700) < 0)
			fuzz_broken("task");
		target.proc_fd = open(".", O_RDONLY | O_CLOEXEC);
	}
	for (i = 0; i < ARRAY_LEN(files); i++)
		fuzz_file(files[i], data, size);
	if (modules_parse(&mods, text) == 0)
		for (i = 0; i < mods.len; i++)
			used += fuzz_use(mods.items[i].path) +
				(modules_find(&mods, mods.items[i].start) !=
				 NULL);
	modules_fini(&mods);
	ask(&used);
	fuzz_file("task/42/stat", alive, sizeof alive - 1);
	ask(&used);
	free(text);
	fail_clear();
	return 0;
}
