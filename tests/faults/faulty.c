/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * faulty: preloaded into sonde by tests/faults/run. It counts the calls that
 * can fail, by what is called and from where in sonde, and lets one of them
 * fail, or kills at it: ourselves, or the target.
 *
 * A call's key is its name, the place in sonde that makes it, and how often
 * that place was passed before (in any process of the visit). The counts are
 * in a file that all processes of one visit map: $FAULTS_FILE.
 *
 * Memory is asked for in a few places for all of sonde: there the key is also
 * who called those.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACES = 4096, NAME_BYTES = 24, CALLERS = 5, FRAMES = 12 };

enum action { COUNT, FAIL, KILL_SELF, KILL_TARGET };

struct place {
	char name[NAME_BYTES];	/* "": free */
	uint64_t offset;	/* in sonde, of the return address */
	uint64_t detail;	/* of ptrace and syscall: which; of memory:
				 * its callers, mixed */
	uint64_t passed;
};

/* tests/faults/run knows this layout. */
struct faults {
	uint32_t action;	/* enum action */
	int32_t target;
	uint64_t offset, detail, at;	/* what it meets */
	char name[NAME_BYTES];
	uint32_t met;		/* it happened: in this process */
	uint32_t full;		/* more places than fit */
	uint64_t callers[CALLERS];	/* of the memory that was refused */
	struct place places[PLACES];
};

static struct faults *faults;
static uintptr_t base, base_end;

static int
note_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type != PT_LOAD)
			continue;
		if (!base)
			base = info->dlpi_addr;
		base_end = info->dlpi_addr + h->p_vaddr + h->p_memsz;
	}
	return 1;		/* the program comes first */
}

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("FAULTS_FILE");
	void *at, *frames[FRAMES];
	int fd;

	/* not in what it launches, nor in what launches it */
	if (!path || strcmp(program_invocation_short_name, "sonde") != 0)
		return;
	fd = (int)syscall(SYS_open, path, O_RDWR);
	if (fd < 0)
		return;
	at = (void *)syscall(SYS_mmap, NULL, sizeof *faults,
			     PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)syscall(SYS_close, fd);
	if (at == MAP_FAILED)
		return;
	dl_iterate_phdr(note_program, NULL);
	(void)backtrace(frames, FRAMES);	/* it allocates once */
	faults = at;
}

static uint64_t
place_passed(const char *name, uint64_t offset, uint64_t detail)
{
	const uint64_t first = (offset ^ detail) % PLACES;

	for (uint64_t i = 0; i < PLACES; i++) {
		struct place *p = &faults->places[(first + i) % PLACES];
		char none = 0;

		if (p->name[0] == 0 &&
		    __atomic_compare_exchange_n(&p->name[0], &none, name[0],
						0, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			p->offset = offset;
			p->detail = detail;
			(void)snprintf(p->name + 1, NAME_BYTES - 1, "%s",
				       name + 1);
		}
		if (p->offset == offset && p->detail == detail &&
		    strcmp(p->name, name) == 0)
			return __atomic_fetch_add(&p->passed, 1,
						  __ATOMIC_ACQ_REL);
	}
	faults->full = 1;
	return UINT64_MAX;
}

/* Does this call fail? It does not come back from a kill of ourselves. */
static int
fails(const char *name, const void *from, uint64_t detail)
{
	const uintptr_t pc = (uintptr_t)from;
	const int saved = errno;
	uint64_t n;
	int answer = 0;

	/* libraries' own calls are theirs, but for what they call by name */
	if (!faults || pc < base || pc >= base_end)
		return 0;
	n = place_passed(name, pc - base, detail);
	if (faults->action != COUNT && n == faults->at &&
	    faults->offset == pc - base && faults->detail == detail &&
	    strcmp(faults->name, name) == 0) {
		__atomic_store_n(&faults->met, (uint32_t)getpid(),
				 __ATOMIC_RELEASE);
		if (faults->action == KILL_SELF)
			(void)syscall(SYS_kill, getpid(), SIGKILL);
		if (faults->action == KILL_TARGET && faults->target > 0)
			(void)syscall(SYS_kill, faults->target, SIGKILL);
		answer = faults->action == FAIL;
	}
	errno = saved;
	return answer;
}

#define FROM __builtin_return_address(0)
#define NEXT(name) \
	static __typeof__(name) *next; \
	if (!next) \
		next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define REFUSE(name, detail, error, value) \
	do { \
		if (fails(#name, FROM, (uint64_t)(detail))) { \
			errno = (error); \
			return value; \
		} \
	} while (0)

/* One of fixed arguments: returns what the next one of that name does. */
#define WRAP(type, name, error, value, params, args) \
	type name params; \
	type name params \
	{ \
		NEXT(name); \
		REFUSE(name, 0, error, value); \
		return next args; \
	}

WRAP(void *, mmap, ENOMEM, MAP_FAILED,
     (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o))
WRAP(ssize_t, read, EIO, -1, (int fd, void *b, size_t n), (fd, b, n))
WRAP(ssize_t, pread, EIO, -1, (int fd, void *b, size_t n, off_t o),
     (fd, b, n, o))
WRAP(ssize_t, write, ENOSPC, -1, (int fd, const void *b, size_t n), (fd, b, n))
WRAP(ssize_t, pwrite, ENOSPC, -1, (int fd, const void *b, size_t n, off_t o),
     (fd, b, n, o))
WRAP(int, memfd_create, EMFILE, -1, (const char *s, unsigned f), (s, f))
WRAP(int, pipe2, EMFILE, -1, (int fd[2], int f), (fd, f))
WRAP(int, socket, EMFILE, -1, (int d, int t, int p), (d, t, p))
WRAP(int, socketpair, EMFILE, -1, (int d, int t, int p, int s[2]),
     (d, t, p, s))
WRAP(int, bind, EACCES, -1, (int s, const struct sockaddr *a, socklen_t n),
     (s, a, n))
WRAP(int, listen, EOPNOTSUPP, -1, (int s, int n), (s, n))
WRAP(ssize_t, sendmsg, ENOBUFS, -1, (int s, const struct msghdr *m, int f),
     (s, m, f))
WRAP(ssize_t, recv, ECONNRESET, -1, (int s, void *b, size_t n, int f),
     (s, b, n, f))
WRAP(pid_t, fork, EAGAIN, -1, (void), ())
WRAP(int, signalfd, EMFILE, -1, (int fd, const sigset_t *s, int f), (fd, s, f))
WRAP(int, ftruncate, EFBIG, -1, (int fd, off_t n), (fd, n))
WRAP(int, fallocate, ENOSPC, -1, (int fd, int m, off_t o, off_t n),
     (fd, m, o, n))
WRAP(int, mkdir, EACCES, -1, (const char *s, mode_t m), (s, m))
WRAP(int, mkdirat, EACCES, -1, (int d, const char *s, mode_t m), (d, s, m))
WRAP(int, renameat, EACCES, -1, (int d, const char *s, int e, const char *t),
     (d, s, e, t))
WRAP(int, fstat, EIO, -1, (int fd, struct stat *s), (fd, s))
WRAP(int, stat, EACCES, -1, (const char *p, struct stat *s), (p, s))
WRAP(ssize_t, readlink, EACCES, -1, (const char *p, char *b, size_t n),
     (p, b, n))
WRAP(ssize_t, readlinkat, EACCES, -1,
     (int d, const char *p, char *b, size_t n), (d, p, b, n))
WRAP(void *, opendir, EMFILE, NULL, (const char *p), (p))
WRAP(void *, fdopendir, ENOMEM, NULL, (int fd), (fd))
WRAP(FILE *, fopen, EMFILE, NULL, (const char *p, const char *m), (p, m))
WRAP(ssize_t, process_vm_readv, EFAULT, -1,
     (pid_t p, const struct iovec *l, unsigned long n,
      const struct iovec *r, unsigned long m, unsigned long f),
     (p, l, n, r, m, f))
WRAP(ssize_t, process_vm_writev, EFAULT, -1,
     (pid_t p, const struct iovec *l, unsigned long n,
      const struct iovec *r, unsigned long m, unsigned long f),
     (p, l, n, r, m, f))
WRAP(int, pthread_create, EAGAIN, EAGAIN,
     (void *t, const void *a, void *(*f)(void *), void *arg), (t, a, f, arg))

int open(const char *path, int flags, ...);
int
open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	NEXT(open);
	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	REFUSE(open, 0, EMFILE, -1);
	return next(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...);
int
openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	NEXT(openat);
	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	REFUSE(openat, 0, EMFILE, -1);
	return next(dir, path, flags, mode);
}

int fcntl(int fd, int command, ...);
int
fcntl(int fd, int command, ...)
{
	va_list args;
	void *arg;

	NEXT(fcntl);
	va_start(args, command);
	arg = va_arg(args, void *);
	va_end(args);
	REFUSE(fcntl, command, EINVAL, -1);
	return next(fd, command, arg);
}

int ioctl(int fd, unsigned long request, ...);
int
ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	NEXT(ioctl);
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	REFUSE(ioctl, request, EIO, -1);
	return next(fd, request, arg);
}

/* The return addresses in sonde, from whoever asked for memory on. */
static void
find_callers(uint64_t callers[CALLERS])
{
	void *frames[FRAMES];
	const int n = backtrace(frames, FRAMES);
	int len = 0;

	memset(callers, 0, CALLERS * sizeof *callers);
	for (int i = 0; i < n && len < CALLERS; i++) {
		const uintptr_t pc = (uintptr_t)frames[i];

		if (pc >= base && pc < base_end)
			callers[len++] = pc - base;
	}
}

static int
memory_fails(const char *name, const void *from)
{
	const uintptr_t pc = (uintptr_t)from;
	const int saved = errno;
	uint64_t callers[CALLERS], mixed = 0;

	if (!faults || pc < base || pc >= base_end)
		return 0;
	find_callers(callers);
	errno = saved;
	for (int i = 0; i < CALLERS; i++)
		mixed = (mixed ^ callers[i]) * UINT64_C(0x9e3779b97f4a7c15);
	if (!fails(name, from, mixed))
		return 0;
	memcpy(faults->callers, callers, sizeof callers);
	errno = ENOMEM;
	return 1;
}

/* The C library's own names: what dlsym needs may be memory. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *
malloc(size_t n)
{
	return memory_fails("malloc", FROM) ? NULL : __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	return memory_fails("calloc", FROM) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	return memory_fails("realloc", FROM) ? NULL : __libc_realloc(p, n);
}

int
vasprintf(char **text, const char *format, va_list args)
{
	NEXT(vasprintf);
	return memory_fails("vasprintf", FROM) ? -1 :
		next(text, format, args);
}

/* perf_event_open, pidfd_*, kcmp, bpf, ... but what surely cannot fail. */
long syscall(long number, ...);
long
syscall(long number, ...)
{
	long a[6];
	va_list args;

	NEXT(syscall);
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number != SYS_gettid && number != SYS_tgkill &&
	    number != SYS_kill && number != SYS_futex &&
	    fails("syscall", FROM, (uint64_t)number)) {
		errno = number == SYS_perf_event_open ? EMFILE : ENOMEM;
		return -1;
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/*
 * What puts a thread back or lets it go never fails on a tracee that stands:
 * the only failure is ESRCH, when it was killed. So these are places to die
 * at, not to fail.
 */
static int
is_only_undone_by_death(long request)
{
	return request == PTRACE_CONT || request == PTRACE_DETACH ||
		request == PTRACE_SYSCALL || request == PTRACE_SINGLESTEP ||
		request == PTRACE_LISTEN || request == PTRACE_SETREGSET ||
		request == PTRACE_SETREGS || request == PTRACE_SETSIGMASK ||
		request == PTRACE_SETSIGINFO || request == PTRACE_GETSIGINFO ||
		request == PTRACE_GETEVENTMSG || request == PTRACE_INTERRUPT;
}

long ptrace(enum __ptrace_request request, ...);
long
ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	pid_t pid;
	void *addr, *data;

	NEXT(ptrace);
	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	/* what it launches is known when it is traced */
	if (faults && !faults->target)
		faults->target = pid;
	if (fails("ptrace", FROM, (uint64_t)request) &&
	    !is_only_undone_by_death(request)) {
		errno = request == PTRACE_SEIZE ? EPERM : EIO;
		return -1;
	}
	return next(request, pid, addr, data);
}

pid_t waitpid(pid_t pid, int *status, int flags);
pid_t
waitpid(pid_t pid, int *status, int flags)
{
	NEXT(waitpid);
	/* a place to die at */
	(void)fails("waitpid", FROM, 0);
	return next(pid, status, flags);
}
