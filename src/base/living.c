/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * By whose /proc a process is read. When the first thread of several has
 * ended (main called pthread_exit), the kernel has taken from it what the
 * others still use: its maps, map_files, exe, root, cwd, fd and net are empty,
 * and its number is none for process_vm_readv. Those of any thread that lives
 * are whole: /proc/TID is there for each, though no listing shows it.
 */
#include "base.h"
#include "hazard.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "4711 (name) S ...": a name may hold anything. */
char
thread_state(pid_t pid, pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid,
		       (int)tid);

	char *text = file_read(path, NULL);
	const char *close = text ? strrchr(text, ')') : NULL;
	const char state = close && close[1] == ' ' ? close[2] : '\0';

	free(text);
	return state;
}

static bool
is_living(pid_t pid, pid_t tid)
{
	const char state = thread_state(pid, tid);

	return state && !strchr("ZXx", state);
}

/* The inode of the initial PID namespace is part of the kernel's ABI. */
bool
pids_are_the_kernels(void)
{
	static const ino_t INITIAL_PID_NAMESPACE = 0xEFFFFFFCu;
	struct stat own;

	return stat("/proc/self/ns/pid", &own) == 0 &&
		own.st_ino == INITIAL_PID_NAMESPACE;
}

pid_t
process_living(pid_t pid)
{
	char path[32];
	const struct dirent *e;
	pid_t found = 0;

	if (!handled(HAZARD_LEADER_ENDED) || is_living(pid, pid))
		return pid;
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);

	DIR *dir = opendir(path);

	while (dir && !found && (e = readdir(dir))) {
		const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid > 0 && is_living(pid, tid))
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found ? found : pid;
}
