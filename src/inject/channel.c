/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memfd between the guest and us: how it comes to both sides. The
 * file is made by the target (so that no path is needed), but sized,
 * allocated and sealed by us before the target touches it: its pages are
 * charged to us, and nobody can cut it.
 *
 * Each command to the guest is one errand of its own: between them nothing of
 * ours runs in the target but the handler.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"
#include "record.h"
#include "step.h"

enum {
	PAGE = 4096,
};

/* ---- the area ------------------------------------------------------------ */

static uint64_t
round_page(uint64_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static sigjmp_buf cannot;

static void
on_illegal(int signo)
{
	(void)signo;
	siglongjmp(cannot, 1);
}

/*
 * By an instruction (Linux 5.9, processors since 2012). AT_HWCAP2 does not say
 * so on every kernel that permits it (below PVM, Linux 6.18), so it is tried:
 * by a thread of this process, as the target's are.
 */
static bool
fs_is_readable(void)
{
	struct sigaction action = { .sa_handler = on_illegal }, before;
	uint64_t base = 0;

	if (sigaction(SIGILL, &action, &before) < 0)
		return false;
	if (!sigsetjmp(cannot, 1))
		__asm__ volatile("rdfsbase %0" : "=r"(base));
	(void)sigaction(SIGILL, &before, NULL);	/* it was there */
	return base != 0;
}

/* The processor has protection keys, and the kernel uses them. */
static bool
memory_has_keys(void)
{
	enum { FEATURES = 7, OSPKE = 1 << 4 };
	unsigned a, b, c, d;

	return __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) && c & OSPKE;
}

static int
lay_out(struct record_area *a, const struct guest_options *opt)
{
	uint64_t at = RECORD_HEADER_BYTES;

	if (opt->windows == 0 || opt->windows > 1 << 20 ||
	    opt->window_bytes < RECORD_WINDOW_MIN || opt->window_bytes % 8)
		return fail(FAIL_USAGE, "%u windows of %u bytes make no area",
			    opt->windows, opt->window_bytes);
	a->magic = RECORD_MAGIC;
	a->version = RECORD_VERSION;
	a->header_bytes = RECORD_HEADER_BYTES;
	a->windows = opt->windows;
	a->window_bytes = opt->window_bytes;
	a->windows_at = at;
	at = round_page(at + (uint64_t)a->windows *
			sizeof(struct record_window));
	a->tickers_at = at;
	at += RECORD_TICKERS * sizeof(uint32_t);
	a->memo_at = at;
	a->fs_readable = fs_is_readable();
	a->keyed = memory_has_keys();
	a->alternate = opt->alternate;
	at += STEP_MEMO * sizeof(struct step_memo);
	a->rings_at = at;
	at = round_page(at + (uint64_t)a->windows * a->window_bytes);
	a->table_bytes = round_page(opt->table_bytes + PAGE);
	a->tables_at[0] = at;
	a->tables_at[1] = at + a->table_bytes;
	a->size = at + 2 * a->table_bytes;
	a->tables = RECORD_HALF_NONE;
	a->beat = 1;
	return 0;
}

/* Ours are the pages, and there will be no fault for want of one. */
static int
allocate(int fd, uint64_t size)
{
	if (handled(HAZARD_AREA_CHARGED) &&
	    fallocate(fd, 0, 0, (off_t)size) < 0)
		return fail_errno("allocate %llu KB of record memory",
				  (unsigned long long)(size / 1024));
	return 0;
}

/* Until the seals were there, other processes of its user could cut it. */
static int
check_size(int fd, uint64_t size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno("look at the record memory");
	if ((uint64_t)st.st_size == size)
		return 0;
	return fail(FAIL_UNSUITABLE, "another process resized the record "
		    "memory to %lld bytes (%llu expected) before it was sealed",
		    (long long)st.st_size, (unsigned long long)size);
}

/* Pages come last: what is sealed cannot lose them for good. */
int
channel_size(int fd, uint64_t size, uint64_t now)
{
	if (ftruncate(fd, (off_t)size) < 0)
		return fail_errno("size the record memory");
	if (handled(HAZARD_AREA_CUT) &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
		  F_SEAL_SEAL) < 0)
		return fail_errno("seal the record memory");
	if (check_size(fd, size) < 0)
		return -1;
	return allocate(fd, now);
}

void *
channel_map(int fd, uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at != MAP_FAILED)
		return at;

	const bool no_room = errno == ENOMEM;

	(void)fail_errno("map the record memory");
	if (no_room)
		(void)fail_remedy("raise the limit on your own address "
				  "space (ulimit -v), or: " PLAN_ENGINE_RING);
	return NULL;
}

/* The helper stands: make the file, map it here, hand over its number. */
static int
prepare_area(struct errand *e, pid_t helper,
	     const struct user_regs_struct *regs)
{
	struct guest *g = e->arg;
	struct record_area layout = *g->area;
	void *at = NULL;
	const int fd = descriptor_make(e, helper, regs, "sonde-records",
				       AREA_FILE);

	if (fd < 0)
		return -1;
	layout.main_stack_end = e->p->main_stack.end;
	layout.main_stack_floor = e->p->main_stack.floor;
	layout.main_stack_low = e->p->main_stack.low;
	layout.leader = (uint32_t)target_pid(g->t);
	layout.ndeaf = e->p->ndeaf;
	memcpy(layout.deaf, e->p->deaf, sizeof layout.deaf);
	/* the guest looks at the header as soon as it has the file */
	if (channel_size(fd, layout.size, layout.rings_at) == 0)
		at = channel_map(fd, layout.size);
	g->fd = fd;
	if (!at)
		return -1;
	free(g->area);
	g->area = at;
	g->size = layout.size;
	*g->area = layout;
	g->layout = layout;
	e->call->fd = e->block.area_fd;
	e->call->size = layout.size;
	return 0;
}

/* Before the first handler runs: the rest of the pages, and what it walks by.
 * The scratch is no stack that a handler will ever stand on. */
static int
fill_area(struct guest *g)
{
	if (g->filled)
		return 0;
	if (allocate(g->fd, g->size) < 0 ||
	    (g->tables && guest_publish(g, g->tables) < 0))
		return -1;
	g->filled = true;
	return 0;
}

static void
fill_meanwhile(struct errand *e)
{
	struct guest *g = e->arg;

	g->passing = e->s.at;
	g->passing_end = e->s.at + e->s.size;
	(void)fill_area(g);		/* tried again, and told, later */
	g->passing = g->passing_end = 0;
}

/* ---- guest_open, guest_close --------------------------------------------- */

/* What asks for nothing that the visit's end would not ask for as well. */
static bool
takes_away(uint32_t command)
{
	return command == COLLECTOR_STOP || command == COLLECTOR_UNMAP ||
		command == COLLECTOR_UNTRACE || command == COLLECTOR_UNNAME;
}

int
guest_command(struct guest *g, struct collector_call *call,
	      errand_prepare prepare, struct inject_report *report)
{
	const struct errand how = {
		.prepare = prepare, .arg = g, .seed = g->seed,
		/* Once it is in, a program without it is another one. */
		.only_present = g->only_present || g->library,
		.leaves = takes_away(call->command),
	};

	call->owner = g->self;
	return load_command(g->t, &how, call, report, &g->library);
}

bool
guest_is_there(struct guest *g)
{
	struct collector_identity id;

	if (target_gone(g->t) || !g->library)
		return false;
	return target_read(g->t, g->library - sizeof id, &id,
			   sizeof id) == 0 && id.magic == COLLECTOR_MAGIC;
}

static bool
in_other_namespace(struct target *t)
{
	char ours[64], theirs[64];
	const ssize_t n = readlink("/proc/self/ns/pid", ours, sizeof ours);
	const ssize_t m = readlinkat(target_proc(t), "ns/pid", theirs,
				     sizeof theirs);

	return n > 0 && m > 0 &&
	       (n != m || memcmp(ours, theirs, (size_t)n) != 0);
}

/* Map the area there, and start where that is wanted: in one visit. */
static int
visit(struct guest *g, const struct guest_options *opt,
      struct inject_report *report)
{
	struct collector_call map = {
		.command = COLLECTOR_MAP, .owner = g->self,
	};
	struct collector_call start;
	const struct errand how = {
		.prepare = prepare_area, .meanwhile = fill_meanwhile,
		.then = opt->start ? &start : NULL, .tables = opt->tables,
		.arg = g, .seed = g->seed, .only_present = g->only_present,
		.room = g->area->size,
	};

	if (opt->start && opt->clock == GUEST_POSIX_TIMER &&
	    room_check_timers(g->t) < 0)
		return -1;
	guest_start_call(g, opt->clock, &start);
	if (load_command(g->t, &how, &map, report, &g->library) < 0) {
		g->refused = map.result == -EBUSY;
		return -1;
	}
	if (fill_area(g) < 0)
		return -1;
	if (opt->start)
		guest_started(g, &start);
	return 0;
}

/* What a visit that failed half way has left there. Its failure is told. */
static void
take_back(struct guest *g, bool started)
{
	struct failure *first = fail_keep();
	struct inject_report report;

	g->started = started;
	if (g->size && g->library)
		(void)guest_stop(g, &report);
	fail_again(first);
}

static struct guest *
open_guest(struct target *t, const struct guest_options *opt,
	   struct inject_report *report, bool only_present)
{
	struct guest *g = xcalloc(1, sizeof *g);

	memset(report, 0, sizeof *report);
	g->t = t;
	g->fd = -1;
	g->tables = opt->tables;
	g->seed = opt->donor_seed;
	g->interval_ns = opt->interval_ns;
	g->only_present = only_present;
	owner_make(&g->self);
	g->other_namespace = in_other_namespace(t);
	g->area = xcalloc(1, sizeof *g->area);
	if (lay_out(g->area, opt) < 0 || visit(g, opt, report) < 0) {
		if (!g->refused) {
			(void)fail_in("process %d: load the collector",
				      target_pid(t));
			take_back(g, opt->start);
		}
		guest_close(g);
		return NULL;
	}
	close(g->fd);
	g->fd = -1;
	g->tables = NULL;
	return g;
}

struct guest *
guest_open(struct target *t, const struct guest_options *opt,
	   struct inject_report *report)
{
	return open_guest(t, opt, report, false);
}

struct guest *
guest_open_preloaded(struct target *t, const struct guest_options *opt,
		     struct inject_report *report)
{
	return open_guest(t, opt, report, true);
}

void
guest_close(struct guest *g)
{
	if (!g)
		return;
	if (g->fd >= 0)
		close(g->fd);
	if (g->size)
		(void)munmap(g->area, g->size);
	else
		free(g->area);
	map_fini(&g->tids);
	free(g->taken);
	free(g);
}

struct record_area *
guest_area(struct guest *g)
{
	return g->area;
}
