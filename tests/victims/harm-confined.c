/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * harm-confined: a program that confines itself while its calls are traced. At
 * the mark its thread calls vfork, and then, by the argument:
 * strict: enters seccomp's strict mode;
 * filter: has a filter that ends it for all but write and exit;
 * call: the same, by syscall;
 * tsc: forbids itself the processor's clock;
 * mprotect: has a filter that ends it for mprotect alone.
 * Then it writes, says that it is alive, and ends; mprotect goes on.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"

enum { WRITES = 2000 };

static const char *what = "";
static int null;

static struct sock_filter code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static struct sock_filter no_mprotect[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static void
have_children(void)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) < 0)
		exit(99);
}

static long
confine(void)
{
	struct sock_fprog filter = { sizeof code / sizeof code[0], code };
	struct sock_fprog one = { sizeof no_mprotect / sizeof no_mprotect[0],
				  no_mprotect };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	switch (*what) {
	case 's': return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	case 'm': return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &one);
	case 'f': return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	case 'c': return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
				 &filter);
	default: return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	}
}

static void
mark(void)
{
	static const char last[] = "right 1\nmarked\n";
	static bool done;

	if (done)
		return;
	for (int i = 0; i < WRITES; i++)
		(void)!write(null, "", 1);
	have_children();
	if (confine() < 0)
		exit(99);
	for (int i = 0; i < WRITES; i++)
		(void)!write(null, "", 1);
	done = *what == 'm';
	if (done)
		return;
	(void)!write(1, last, sizeof last - 1);
	(void)syscall(*what == 's' ? SYS_exit : SYS_exit_group, 0);
}

int
main(int argc, char **argv)
{
	what = argc > 1 ? argv[1] : "";
	victim_init();
	null = open("/dev/null", O_WRONLY);
	if (null < 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	return victim_end(*what == 'm');
}
