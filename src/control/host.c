/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What this host lets us do, found out by doing it on ourselves: settings
 * alone mislead in containers and under security modules.
 */
#include "private.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

typedef void visit_fn(void *arg, bool ok, const char *subject,
		      const char *text);

enum { BPF_CAP = 39, PERFMON_CAP = 38, FILES_WANTED = 4096 };

struct exam {
	visit_fn *visit;
	void *arg;
	uint64_t caps;
};

static void __attribute__((format(printf, 4, 5)))
say(const struct exam *e, bool ok, const char *subject, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = xvasprintf(fmt, ap);
	va_end(ap);
	e->visit(e->arg, ok, subject, text);
	free(text);
}

/* -1000: there is no such setting. */
static long
setting(const char *path)
{
	char *text = file_read(path, NULL);
	const long value = text ? strtol(text, NULL, 10) : -1000;

	free(text);
	return value;
}

enum scope { THIS_THREAD, WHOLE_CPU };
enum privilege { USER_ONLY, KERNEL_TOO };

/* Open, map and close one event as the ring engine would. 0 or errno. */
static int
try_event(uint32_t type, uint64_t config, enum scope scope,
	  enum privilege privilege)
{
	struct perf_event_attr attr = {
		.type = type, .config = config, .size = sizeof attr,
		.sample_period = 10 * 1000 * 1000, .disabled = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = arch.perf_regs, .sample_stack_user = 8192,
		.exclude_kernel = privilege == USER_ONLY,
	};
	const size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
	const int fd = (int)syscall(SYS_perf_event_open, &attr,
				    scope == WHOLE_CPU ? -1 : 0,
				    scope == WHOLE_CPU ? 0 : -1, -1,
				    PERF_FLAG_FD_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return errno;

	void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  0);

	if (ring == MAP_FAILED)
		error = errno;
	else
		munmap(ring, size);
	close(fd);
	return error;
}

/* A filter that lets all pass: r0 = 1; exit. 0 or errno. */
static int
try_filter(void)
{
	static const char licence[] = "GPL";
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0,
		  .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)code, .insn_cnt = ARRAY_LEN(code),
		.license = (uintptr_t)licence,
	};
	const int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr,
				    sizeof attr);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* What mends the line before; text is given away. */
static void
say_remedy(const struct exam *e, char *text)
{
	e->visit(e->arg, false, "fix", text);
	free(text);
}

/* Of all CPUs, and with a filter: no setting permits that. */
static void
examine_all_cpus(const struct exam *e)
{
	const int cpu = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
				  WHOLE_CPU, KERNEL_TOO);
	const int filter = cpu ? 0 : try_filter();

	if (!cpu && !filter) {
		say(e, true, "engine ring, per processor", "works");
		return;
	}
	say(e, false, "engine ring, per processor", "%s: %s",
	    cpu ? "perf_event_open" : "bpf", strerror(cpu ? cpu : filter));
	say_remedy(e, fail_setcap("cap_perfmon,cap_bpf"));
}

/* What a lower level of paranoia permits. */
static void
examine_event(const struct exam *e, const char *what, int error, int level,
	      const char *else_what)
{
	char *setcap;

	if (!error) {
		say(e, true, what, "works");
		return;
	}
	say(e, false, what, "perf_event_open: %s%s", strerror(error),
	    else_what);
	if (setting("/proc/sys/kernel/perf_event_paranoid") <= level) {
		say_remedy(e, xstrdup("a container's filter forbids it: "
				      "docker run --cap-add PERFMON "
				      "--security-opt seccomp=unconfined "
				      "..."));
		return;
	}
	setcap = fail_setcap("cap_perfmon,cap_bpf");
	say_remedy(e, xasprintf("%ssysctl -w kernel.perf_event_paranoid=%d, "
				"or: %s", fail_sudo(), level, setcap));
	free(setcap);
}

static void
examine_perf(const struct exam *e)
{
	const int counter = try_event(PERF_TYPE_HARDWARE,
				      PERF_COUNT_HW_INSTRUCTIONS, THIS_THREAD,
				      USER_ONLY);

	examine_all_cpus(e);
	examine_event(e, "engine ring, per thread",
		      try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
				THIS_THREAD, USER_ONLY), 2,
		      "; engines inject and remote work without");
	examine_event(e, "samples in the kernel",
		      try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
				THIS_THREAD, KERNEL_TOO), 1,
		      "; system time is measured without stacks");
	if (counter == ENOENT || counter == EOPNOTSUPP)
		say(e, false, "hardware counters", "not offered by this "
		    "machine: use clock profiling");
	else
		examine_event(e, "hardware counters", counter, 2, "");
}

static void
examine_settings(const struct exam *e)
{
	const long paranoid = setting("/proc/sys/kernel/perf_event_paranoid");
	const long kptr = setting("/proc/sys/kernel/kptr_restrict");
	const int yama = attach_yama();
	static const char *const scopes[] = {
		"0: your own processes may be traced",
		"1: only children may be traced",
		"2: only with CAP_SYS_PTRACE",
		"3: nobody may trace until the next boot; ring needs not",
	};

	if (paranoid == -1000)
		say(e, false, "kernel.perf_event_paranoid", "this kernel has "
		    "no perf events: engine inject works without");
	else
		say(e, paranoid <= 2, "kernel.perf_event_paranoid", "%ld",
		    paranoid);
	if (yama < 0 || yama > 3)
		say(e, true, "kernel.yama.ptrace_scope", "none");
	else
		say(e, yama == 0 || (yama < 3 && e->caps >> CAP_SYS_PTRACE & 1),
		    "kernel.yama.ptrace_scope", "%s", scopes[yama]);
	if ((yama == 1 || yama == 2) && !(e->caps >> CAP_SYS_PTRACE & 1))
		say_remedy(e, xasprintf("%ssysctl -w kernel.yama."
					"ptrace_scope=0", fail_sudo()));
	say(e, kptr <= 0 || geteuid() == 0, "kernel.kptr_restrict", "%ld%s",
	    kptr, kptr > 0 ? ": names of kernel functions need root" : "");
}

static void
examine_capabilities(const struct exam *e)
{
	static const struct { int bit; const char *name; } caps[] = {
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ PERFMON_CAP, "CAP_PERFMON" },
		{ BPF_CAP, "CAP_BPF" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	};
	struct str have = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(caps); i++)
		if (e->caps >> caps[i].bit & 1)
			str_addf(&have, "%s%s", have.len ? " " : "",
				 caps[i].name);
	say(e, true, "capabilities", "%s", have.len ? str_text(&have) :
	    "none: your own processes only");
	str_fini(&have);
}

static void
examine_limits(const struct exam *e)
{
	const long ring_kb = setting("/proc/sys/kernel/perf_event_mlock_kb");
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit files = { 0 }, locked = { 0 };

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 ||
	    getrlimit(RLIMIT_MEMLOCK, &locked) < 0)
		return;			/* cannot happen, and is no finding */
	say(e, true, "processors", "%ld", cpus);
	say(e, files.rlim_max >= FILES_WANTED, "open files", "at most %llu; "
	    "unprivileged, engine ring needs one per thread and processor%s",
	    (unsigned long long)files.rlim_max,
	    files.rlim_max >= FILES_WANTED ? "" : ": ulimit -Hn 65536");
	if (locked.rlim_cur == RLIM_INFINITY || e->caps >> CAP_IPC_LOCK & 1)
		say(e, true, "memory for rings", "unlimited");
	else
		say(e, true, "memory for rings", "%ld KiB per processor and "
		    "%llu KiB more", ring_kb,
		    (unsigned long long)locked.rlim_cur / 1024);
}

void
host_doctor(visit_fn *visit, void *arg)
{
	struct exam e = { .visit = visit, .arg = arg };
	const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct proc_status us;
	struct utsname un;

	if (proc_status_of(-1, "/proc/self/status", &us) == 0)
		e.caps = us.cap_effective;
	if (uname(&un) == 0)
		say(&e, pidfd >= 0, "kernel", "Linux %s%s", un.release,
		    pidfd >= 0 ? "" : ": pidfd_open is refused, nothing can "
		    "be attached to (Linux 5.3 or later is needed)");
	if (pidfd >= 0)
		close(pidfd);
	examine_capabilities(&e);
	examine_settings(&e);
	examine_perf(&e);
	examine_limits(&e);
}
