/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: E2 V12
 * A disk that takes no more: what is written stays sound, what is refused is
 * counted to the record, its weight goes to <Lost samples> as soon as there
 * is room, and the log gets its end. By a limit on file sizes, which every
 * user can set, and by a small file system, where one can be mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "experiment-help.h"

#define US UINT64_C(1000)

/* RESERVE is kept for what must be written last. */
enum { PACKETS = 20000, CLOCK_PACKET = 40, RESERVE = 4096 };

static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		exit(99);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		exit(99);
}

static uint64_t
size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

/* The last loss that the log tells of the disk. */
static uint64_t
told_loss(const struct experiment_reader *rd, const char *what)
{
	uint64_t n = 0;

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		if (strcmp(ev->kind, "sonde_loss") == 0 &&
		    strcmp(ev->attr(ev, "cause"), "disk") == 0)
			n = strtoull(ev->attr(ev, what), NULL, 10);
	}
	return n;
}

static uint64_t
clock_some(struct experiment *exp, int n, uint64_t frinfo)
{
	for (int i = 0; i < n; i++)
		experiment_clock(exp, TEST_START + (uint64_t)i * US, 7, 0,
				 i % 2 ? MSTATE_USER : MSTATE_SYSTEM, 3 * US,
				 frinfo);
	return (uint64_t)n * 3 * US;
}

static uint64_t lost_frinfo;

static bool
add_lost(void *arg, const struct experiment_packet *p)
{
	if (p->frinfo == lost_frinfo)
		*(uint64_t *)arg += p->weight_ns;
	return true;
}

/* No multiple of a record, so that the kernel takes a part of one. */
static void
test_limit(void)
{
	enum { LIMIT = 100 * 1024 + 13 };
	const struct experiment_info info = test_info("limit.er");
	struct experiment *exp = test_create(&info);
	const uint64_t pc = 0x1000;
	const uint64_t id = experiment_stack(exp, &pc, 1, STACK_COMPLETE);

	lost_frinfo = experiment_artificial(exp, "<Lost samples>");
	limit_files(LIMIT);

	uint64_t given = clock_some(exp, PACKETS, id);
	const uint64_t room = (LIMIT - RESERVE) / CLOCK_PACKET;

	check(experiment_flush(exp) < 0 && fail_last()->kind == FAIL_PARTIAL,
	      "a flush to a full disk is fine");
	check_number("profile", size_of("limit.er/profile"),
		     room * CLOCK_PACKET);
	check_number("refused", experiment_disk_lost(exp), PACKETS - room);

	struct experiment_reader *rd = test_open("limit.er");

	check_number("packets while full", test_sum(rd).packets, room);
	check_number("warnings", experiment_warning_count(rd), 0);
	experiment_reader_free(rd);

	limit_files(RLIM_INFINITY);
	given += clock_some(exp, 100, id);
	check(experiment_flush(exp) == 0, "flush: %s", fail_last()->reason);
	check(experiment_close(exp, TEST_START + PACKETS * US, "end") < 0 &&
	      fail_last()->kind == FAIL_PARTIAL, "the loss is forgotten");

	uint64_t lost = 0;

	rd = test_open("limit.er");
	check_number("total", test_sum(rd).weight_ns, given);
	experiment_packets(rd, add_lost, &lost);
	check_number("weight of <Lost samples>", lost,
		     (PACKETS - room) * 3 * US);
	check_number("told samples", told_loss(rd, "samples"),
		     PACKETS - room);
	check_number("told weight", told_loss(rd, "weight_ns"), lost);
	check(experiment_finished(rd), "the log has no end");
	experiment_reader_free(rd);
}

/* Lines are kept and come when there is room, in order. */
static void
test_lines(void)
{
	const struct experiment_info info = test_info("lines.er");
	struct experiment *exp = test_create(&info);
	char text[32];

	limit_files(size_of("lines.er/log.xml") + 200);
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof text, "line %d", i);
		experiment_comment(exp, TEST_START, text);
		experiment_map(exp, TEST_START, 4096 * (uint64_t)(i + 1),
			       4096, 0, 5, "/bin/x", NULL);
	}

	struct experiment_reader *rd = test_open("lines.er");

	check(experiment_log_count(rd) < 10, "the limit has no effect");
	check_number("warnings", experiment_warning_count(rd), 0);
	experiment_reader_free(rd);
	limit_files(RLIM_INFINITY);
	check(experiment_close(exp, TEST_START + US, "end") == 0, "close: %s",
	      fail_last()->reason);

	size_t seen = 0;

	rd = test_open("lines.er");
	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		snprintf(text, sizeof text, "line %zu", seen);
		seen += strcmp(experiment_log_at(rd, i)->text, text) == 0;
	}
	check_number("comments", seen, 50);
	/* and <Lost samples>, which is there from the beginning */
	check_number("mappings", experiment_map_count(rd), 51);
	experiment_reader_free(rd);
}

/* A file system of our own, in a namespace of our own. */
static bool
mount_small(const char *dir)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mkdir(dir, 0777) < 0)
		return false;
	return mount("none", dir, "tmpfs", 0, "size=512k") == 0;
}

/* Each packet with a stack of its own, until long after the disk is full. */
static void
test_full(void)
{
	const struct experiment_info info = test_info("small/full.er");
	struct experiment *exp = test_create(&info);
	uint64_t *ids = xcalloc(PACKETS, sizeof *ids), pcs[50];
	uint64_t *words = NULL, unnamed = 0;
	size_t cap = 0;
	enum stack_end end;

	for (size_t i = 0; i < PACKETS; i++) {
		for (size_t j = 0; j < ARRAY_LEN(pcs); j++)
			pcs[j] = i * 64 + j;
		ids[i] = experiment_stack(exp, pcs, ARRAY_LEN(pcs),
					  STACK_COMPLETE);
		experiment_clock(exp, TEST_START + i * US, 7, 0, MSTATE_USER,
				 US, ids[i]);
	}
	check(ids[PACKETS - 1] == 0, "all stacks were kept");
	check(experiment_flush(exp) < 0, "the disk is not full");

	const uint64_t lost = experiment_disk_lost(exp);

	check(experiment_close(exp, TEST_START + PACKETS * US, "disk full") < 0,
	      "the loss is forgotten");

	struct experiment_reader *rd = test_open("small/full.er");
	const struct test_sums sums = test_sum(rd);

	/* one packet more has the time of the lost ones */
	check_number("packets and refused", sums.packets + lost, PACKETS + 1);
	check_number("told", told_loss(rd, "samples"), lost);
	check_number("total", sums.weight_ns, PACKETS * US);
	check_text("end", experiment_property(rd, "end"), "disk full");
	for (size_t i = 0; i < PACKETS; i++)
		unnamed += ids[i] && experiment_stack_of(rd, ids[i], &words,
							 &cap, &end) < 0;
	check(strstr(fail_last()->reason, "records were refused"),
	      "it does not say how many");

	unsigned long long said = 0;

	sscanf(fail_last()->reason, "small/full.er: %llu", &said);
	check_number("said", said, lost + unnamed);
	experiment_reader_free(rd);
	free(ids);
	free(words);
}

/* Never any room again, not even when it ends: all the same the loss is told
 * and has its place. */
static void
test_limit_stays(void)
{
	enum { LIMIT = 60 * 1024 };
	const struct experiment_info info = test_info("stays.er");
	struct experiment *exp = test_create(&info);
	const uint64_t pc = 0x1000;
	const uint64_t id = experiment_stack(exp, &pc, 1, STACK_COMPLETE);
	uint64_t lost = 0;

	lost_frinfo = experiment_artificial(exp, "<Lost samples>");
	limit_files(LIMIT);

	const uint64_t given = clock_some(exp, PACKETS, id);
	const uint64_t room = (LIMIT - RESERVE) / CLOCK_PACKET;

	check(experiment_close(exp, TEST_START + PACKETS * US, "full") < 0,
	      "the loss is forgotten");

	struct experiment_reader *rd = test_open("stays.er");

	check_number("total", test_sum(rd).weight_ns, given);
	experiment_packets(rd, add_lost, &lost);
	check_number("weight of <Lost samples>", lost,
		     (PACKETS - room) * 3 * US);
	check_number("told samples", told_loss(rd, "samples"),
		     PACKETS - room);
	check_text("end", experiment_property(rd, "end"), "full");
	check_number("warnings", experiment_warning_count(rd), 0);
	experiment_reader_free(rd);
	limit_files(RLIM_INFINITY);
}

/* Creating fails as a whole. */
static void
test_no_room(void)
{
	const struct experiment_info info = test_info("none.er");

	limit_files(100);
	check(!experiment_create(&info), "created without room for its log");
	limit_files(RLIM_INFINITY);
	check(access("none.er", F_OK) < 0 && errno == ENOENT,
	      "something is left");
}

int
main(void)
{
	char *dir = scratch_enter();

	signal(SIGXFSZ, SIG_IGN);
	test_limit();
	test_lines();
	test_limit_stays();
	test_no_room();
	if (mount_small("small")) {
		test_full();
		if (umount2("small", MNT_DETACH) < 0)
			perror("umount");
	} else {
		puts("no small file system can be mounted: only limits tried");
	}
	scratch_leave(dir);
	return failures > 0;
}
