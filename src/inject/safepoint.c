/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where does the only thread of a single-threaded libc stand? Such a libc
 * takes no locks, so nothing of it may be half done when a second thread
 * enters it. The stack is walked by CFI; unsafe are
 *
 *	- ld.so, and functions that change what threads share (malloc and its
 *	  family wherever they are, fork, exit, dlopen, pthread_create ...)
 *	- code of libc that was interrupted outside a waiting system call: an
 *	  internal function may have been reached by a tail call, so that no
 *	  frame shows which work it does
 *
 * From such a place the thread is let run, to the return address of the
 * outermost unsafe frame, a few times for 100 ms. Where the processor cannot
 * watch for that, it runs for as long in moments, each of which ends with its
 * next system call, and is looked at behind each.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"
#include "walk.h"

enum {
	FRAMES_MAX = 20000,	/* as many as inject records */
	ESCAPES = 3,
	MOMENTS_ALIKE = 32,	/* then they last twice as long, up to: */
	TWICE_MOST = 4,
};
#define ESCAPE_NS	UINT64_C(100000000)
#define MOMENT_NS	UINT64_C(1000000)

static const char *const anywhere[] = {
	"malloc", "calloc", "realloc", "free", "cfree", "memalign",
	"posix_memalign", "aligned_alloc", "valloc", "pvalloc",
	"reallocarray", "malloc_trim", "malloc_usable_size",
};

static const char *const in_libc[] = {
	"mallinfo", "mallinfo2", "malloc_info", "malloc_stats", "mallopt",
	"pthread_create", "pthread_exit", "fork", "_Fork", "vfork",
	"posix_spawn", "posix_spawnp", "system", "popen", "dlopen", "dlclose",
	"dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo", "dlmopen",
	"dl_iterate_phdr", "exit", "quick_exit", "_exit", "__cxa_finalize",
	"__cxa_atexit", "__cxa_thread_atexit_impl", "__libc_freeres",
	"setlocale", "newlocale", "iconv_open", "iconv_close", "getaddrinfo",
	"gethostbyname_r", "getpwnam_r", "getpwuid_r", "setuid", "setgid",
	"setresuid", "setresgid", "setreuid", "setregid", "setgroups",
	"pthread_key_create", "pthread_key_delete", "__libc_dlopen_mode",
};

struct range {
	uint64_t start, end;
};

struct safepoint {
	const struct plan *p;
	struct walker *walker;
	struct range *unsafe;
	size_t nunsafe, cap;
	struct walked *frames;
};

/* ---- what is unsafe ------------------------------------------------------ */

static void
add_range(struct safepoint *sp, uint64_t start, uint64_t end)
{
	sp->unsafe = xgrow(sp->unsafe, &sp->cap, sp->nunsafe + 1,
			   sizeof *sp->unsafe);
	sp->unsafe[sp->nunsafe++] = (struct range){ start, end };
}

static void
add_functions(struct safepoint *sp, const struct image *img,
	      const char *const *names, size_t n)
{
	struct symbol_at at;
	size_t i;

	for (i = 0; i < n; i++)
		if (locate_symbol(sp->p->look, img, names[i], &at))
			add_range(sp, at.addr, at.addr + (at.size ? at.size
							  : 1));
}

static void
list_unsafe(struct safepoint *sp)
{
	const struct plan *p = sp->p;
	size_t i;

	add_range(sp, p->ldso.text, p->ldso.text_end);
	for (i = 0; i < p->nimages; i++)
		if (locate_address(p->look, &p->images[i], "malloc"))
			add_functions(sp, &p->images[i], anywhere,
				      ARRAY_LEN(anywhere));
	add_functions(sp, &p->libc, in_libc, ARRAY_LEN(in_libc));
}

struct safepoint *
safepoint_open(const struct plan *p)
{
	struct safepoint *sp = xcalloc(1, sizeof *sp);

	sp->p = p;
	sp->frames = xcalloc(FRAMES_MAX, sizeof *sp->frames);
	list_unsafe(sp);
	sp->walker = walker_open(p);
	if (sp->walker)
		return sp;
	safepoint_close(sp);
	return NULL;
}

void
safepoint_close(struct safepoint *sp)
{
	if (!sp)
		return;
	walker_close(sp->walker);
	free(sp->unsafe);
	free(sp->frames);
	free(sp);
}

/* ---- one look ------------------------------------------------------------ */

/* All frames, or 0 when the walk did not reach the outermost one. */
static size_t
walk(struct safepoint *sp, const struct user_regs_struct *r)
{
	bool whole;
	const size_t n = walker_walk(sp->walker, r, sp->frames, FRAMES_MAX,
				     &whole);

	return whole ? n : 0;
}

static bool
in_unsafe(const struct safepoint *sp, const struct walked *f)
{
	const uint64_t pc = f->exact ? f->pc : f->pc - 1;
	size_t i;

	for (i = 0; i < sp->nunsafe; i++)
		if (pc >= sp->unsafe[i].start && pc < sp->unsafe[i].end)
			return true;
	return false;
}

static bool
in_libc_text(const struct safepoint *sp, const struct walked *f)
{
	return f->pc >= sp->p->libc.text && f->pc < sp->p->libc.text_end;
}

static bool
waits_in_call(const struct user_regs_struct *r)
{
	const long nr = (long)r->orig_rax;

	switch (nr) {
	case SYS_mmap: case SYS_munmap: case SYS_brk: case SYS_mprotect:
	case SYS_madvise: case SYS_mremap: case SYS_futex:
		return false;
	default:
		return nr >= 0;
	}
}

/*
 * The number of unsafe frames from the leaf: the frame of that index is the
 * first from which nothing unsafe is above. 0: safe.
 */
static size_t
unsafe_depth(const struct safepoint *sp, const struct user_regs_struct *r,
	     const struct walked *frames, size_t n)
{
	size_t depth = 0, i;
	bool interrupted = false;	/* in a run of libc below such code */

	for (i = 0; i < n; i++) {
		if (frames[i].exact)
			interrupted = i > 0 || !waits_in_call(r);
		if (!in_libc_text(sp, &frames[i]))
			interrupted = false;
		if (interrupted || in_unsafe(sp, &frames[i]))
			depth = i + 1;
	}
	return depth;
}

void
safepoint_add_stack(struct safepoint *sp, uint64_t at, size_t size)
{
	walker_add_stack(sp->walker, at, size);
}

/*
 * In a libc that takes locks nothing more is asked of a thread than that it is
 * in none of those functions. Outside a system call what is interrupted in
 * libc may belong to one of them, by a tail call.
 */
bool
safepoint_is_clear(struct safepoint *sp, const struct user_regs_struct *r)
{
	bool whole;
	const size_t n = walker_walk(sp->walker, r, sp->frames, FRAMES_MAX,
				     &whole);

	for (size_t i = 0; i < n; i++)
		if (in_unsafe(sp, &sp->frames[i]))
			return false;
	return n && ((int64_t)r->orig_rax >= 0 ||
		     !in_libc_text(sp, &sp->frames[0]));
}

/* ---- getting out of there ------------------------------------------------ */

static int
run_a_moment(struct safepoint *sp, struct held *h, unsigned i)
{
	const unsigned twice = i / MOMENTS_ALIKE;

	return thread_run_through_call(sp->p->t, h, MOMENT_NS <<
				       (twice < TWICE_MOST ? twice :
					TWICE_MOST));
}

int
safepoint_reach(struct safepoint *sp, struct held *h)
{
	const struct walked *frames = sp->frames;
	bool missed = false;	/* so it was stopped just anywhere */
	const uint64_t since = now_ns();
	unsigned moments = 0;
	int i;

	for (i = 0; i <= ESCAPES;) {
		struct user_regs_struct r;
		size_t n, depth;
		int reached;

		if (thread_get_regs(h->tid, &r) < 0)
			return -1;
		n = walk(sp, &r);
		depth = n ? unsafe_depth(sp, &r, frames, n) : 0;
		if (n && depth == 0)
			return 1;
		(void)fail(FAIL_UNSUITABLE, n ? "its thread does not come "
			   "out of libc" : "its stack cannot be walked");
		if (n == 0 || depth == n || i == ESCAPES ||
		    (missed && (long)r.orig_rax >= 0))
			return 0;
		reached = thread_run_to(sp->p->t, h, frames[depth].pc,
					ESCAPE_NS);
		if (reached == UNWATCHED &&
		    now_ns() - since < ESCAPES * ESCAPE_NS)
			reached = run_a_moment(sp, h, moments++) < 0 ? -1 :
				REACHED;
		else
			i++;
		if (reached < 0 || reached == UNWATCHED)
			return reached < 0 ? -1 : 0;
		/* by a jump it leaves and never comes back there; it stands
		 * somewhere else by now */
		missed = reached == NOT_REACHED;
	}
	return 0;
}
