/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * selftest: attach, collect, detach, so many times, from a victim that is
 * bundled with us, on this host and kernel. The victim counts what it saw;
 * the receipts tell how long threads stood; what is refused here is named.
 */
#include "private.h"
#include "selftest.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CYCLES = 20, CYCLES_MAX = 100000, COLLECT_MS = 50, PATIENCE_MS = 20000 };

static void
rest(void)
{
	const struct timespec ts = { .tv_nsec = 1000000 };

	(void)nanosleep(&ts, NULL);
}

/* ---- the victim's life --------------------------------------------------- */

static bool
alive(struct selftest *t)
{
	if (t->status < 0 && waitpid(t->pid, &t->status, WNOHANG) != t->pid)
		t->status = -1;
	return t->status < 0;
}

static void
be_victim(const char *program, int fd)
{
	char number[16];

	(void)snprintf(number, sizeof number, "%d", fd);
	/* of its own, so that a Ctrl-C is ours alone; and it ends with us */
	(void)setsid();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl("/proc/self/exe", "sonde", "selftest", "--victim", program,
	      number, (char *)NULL);
	_exit(99);
}

static bool
grows(struct selftest *t, uint64_t rounds)
{
	const uint64_t give_up = now_ns() + PATIENCE_MS * UINT64_C(1000000);

	while (t->page->rounds <= rounds || !t->page->ready) {
		if (!alive(t) || now_ns() > give_up)
			return false;
		rest();
	}
	return true;
}

static void
victim_end(struct selftest *t)
{
	const uint64_t give_up = now_ns() + PATIENCE_MS * UINT64_C(1000000);

	t->page->stop = 1;
	while (alive(t) && now_ns() < give_up)
		rest();
	t->eintr += t->page->eintr;
	t->wrong += t->page->wrong;
	t->missed += t->page->missed;
	if (alive(t)) {
		(void)kill(t->pid, SIGKILL);
		(void)waitpid(t->pid, &t->status, 0);
	}
	/* 1: it has seen harm, and counted it */
	if (!WIFEXITED(t->status) || WEXITSTATUS(t->status) > 1)
		t->lost++;
	(void)munmap(t->page, SELFTEST_PAGE);
	t->page = NULL;
}

static int
victim_start(struct selftest *t, const char *program)
{
	const int fd = memfd_create("selftest", 0);

	if (fd < 0 || ftruncate(fd, SELFTEST_PAGE) < 0)
		return fail_errno("selftest: make a page in common");
	t->page = mmap(NULL, SELFTEST_PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);
	if (t->page == MAP_FAILED)
		return fail_errno("selftest: map a page in common");
	t->status = -1;
	t->pid = fork();
	if (t->pid == 0)
		be_victim(program, fd);
	close(fd);
	if (t->pid < 0)
		return fail_errno("selftest: start the victim");
	if (grows(t, 0))
		return 0;
	victim_end(t);
	return fail(FAIL_GENERAL, "selftest: the victim did not begin");
}

/* ---- a cycle ------------------------------------------------------------- */

static void
note_refusal(struct row *row)
{
	const struct failure *f = fail_last();

	row->refused++;
	free(row->reason);
	free(row->remedy);
	row->reason = xstrdup(f->reason);
	row->remedy = xstrdup(f->remedy);
}

static void
note_end(struct row *row, const struct session_progress *p, char *receipt)
{
	row->cycles++;
	row->samples += p->samples;
	row->stops = xgrow(row->stops, &row->cap, row->nstops + 1,
			   sizeof *row->stops);
	row->stops[row->nstops++] = (double)p->stop_ns / 1e6;
	if (!row->unclean && strstr(receipt, "NOT clean"))
		row->unclean = xstrdup(receipt);
	free(receipt);
}

static void
collect_for_a_while(struct session *s)
{
	const uint64_t end = now_ns() + COLLECT_MS * UINT64_C(1000000);
	struct session_event ev;

	while (now_ns() < end && !wait_signal)
		if (session_wait(s, COLLECT_MS / 5, &ev) == 1 &&
		    (ev.kind == SESSION_EVENT_ENDED ||
		     ev.kind == SESSION_EVENT_TRACER_GONE))
			return;
}

static int
collect(struct session *s, struct row *row, const struct settings *what)
{
	struct session_progress p = {0};
	char *receipt = NULL;

	if (session_enable(s, what) < 0)
		return -1;
	collect_for_a_while(s);
	(void)session_progress(s, &p);	/* the target has ended: told below */
	if (session_detach(s, LEAVE_RUNNING, &receipt) < 0)
		return -1;
	note_end(row, &p, receipt);
	return 0;
}

static void
find_engines(struct selftest *t)
{
	struct settings what;

	settings_init(&what);
	for (size_t i = 0; i < SELFTEST_ENGINES; i++)
		if (settings_engine(&what, selftest_engines[i]) == 0)
			t->known[t->nknown++] = i;
	settings_fini(&what);
}

static void
cycle(struct selftest *t, struct row *row, const char *engine, unsigned seed)
{
	struct session *s = session_attach(t->pid, false);
	struct settings what;

	settings_init(&what);
	(void)settings_engine(&what, engine);	/* it is known */
	what.interval_ns = 1007000;
	what.archive = SESSION_ARCHIVE_OFF;
	what.experiment = xasprintf("%s/selftest.er", t->directory);
	what.overwrite = true;
	what.seed = seed;
	if (!s || collect(s, row, &what) < 0)
		note_refusal(row);
	session_close(s);
	settings_fini(&what);
}

/* 0, or -1: it could not begin. A victim that is lost is not begun again. */
static int
visit(struct selftest *t, size_t which, unsigned cycles)
{
	uint64_t rounds;

	if (victim_start(t, selftest_programs[which]) < 0)
		return -1;
	for (unsigned i = 0; i < cycles && !wait_signal; i++) {
		const size_t e = t->known[i % t->nknown];

		cycle(t, &t->rows[which][e], selftest_engines[e], i + 1);
		rounds = t->page->rounds;
		if (!grows(t, rounds))
			break;
	}
	victim_end(t);
	return 0;
}

/* ---- the verb ------------------------------------------------------------ */

static int
remove_one(const char *path, const struct stat *st, int how, struct FTW *at)
{
	(void)st;
	(void)how;
	(void)at;
	(void)remove(path);	/* what stays is in a temporary directory */
	return 0;
}

static int
make_directory(struct selftest *t)
{
	const char *base = getenv("TMPDIR");

	t->directory = xasprintf("%s/sonde-selftest.XXXXXX",
				 base && *base ? base : "/tmp");
	if (mkdtemp(t->directory))
		return 0;
	fail_errno("selftest: make a directory %s", t->directory);
	free(t->directory);
	t->directory = NULL;
	return -1;
}

static void
fini(struct selftest *t)
{
	if (t->directory)
		(void)nftw(t->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(t->directory);
	for (size_t i = 0; i < SELFTEST_PROGRAMS; i++)
		for (size_t k = 0; k < SELFTEST_ENGINES; k++) {
			free(t->rows[i][k].stops);
			free(t->rows[i][k].reason);
			free(t->rows[i][k].remedy);
			free(t->rows[i][k].unclean);
		}
}

int
verb_selftest(struct shell *sh, int argc, char **argv)
{
	struct selftest t = { .sh = sh };
	long long cycles = CYCLES;
	int status = 0;

	if (argc == 4 && strcmp(argv[1], "--victim") == 0)
		return selftest_victim(argv[2], argv[3]);
	if (argc > 2 || (argc == 2 && !str_number(argv[1], 1, CYCLES_MAX,
						  &cycles))) {
		fail(FAIL_USAGE, "selftest: give a number of cycles, or "
		     "nothing");
		fail_remedy("sonde selftest 100");
		shell_print_failure(sh);
		return EXIT_USAGE;
	}
	find_engines(&t);
	if (make_directory(&t) < 0)
		status = -1;
	for (size_t i = 0; status == 0 && i < SELFTEST_PROGRAMS; i++)
		status = visit(&t, i, ((unsigned)cycles + 1 - (unsigned)i) /
			       2);
	if (status == 0)
		selftest_print(&t);
	if (status < 0) {
		shell_print_failure(sh);
		status = status_of_failure(fail_last()->kind);
	} else if (selftest_was_harm(&t)) {
		fail(FAIL_GENERAL, "selftest: harm was done, see above");
		fail_remedy("do not use it here on a process that you need; "
			    "please report it with this output");
		shell_print_failure(sh);
		status = status_of_failure(FAIL_GENERAL);
	}
	fini(&t);
	return status;
}
