/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: E1 E4
 * Where experiments go: names, what may be replaced and what may not, that
 * no two writers share one; and the archive of load objects, also when the
 * program was deleted or replaced while it ran.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiment-help.h"

/* As the recorder does, by a descriptor. */
static int
archive_at(const char *path, enum archive_mode mode, const char *root)
{
	const struct experiment_archiving what = {
		.dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.path = path, .root = root,
	};
	const int r = what.dir_fd < 0 && mode != ARCHIVE_OFF ?
		fail_errno("open %s", path) : experiment_archive(&what, mode);

	if (what.dir_fd >= 0)
		close(what.dir_fd);
	return r;
}

static int
archive_of(const char *path, enum archive_mode mode)
{
	return archive_at(path, mode, "");
}

static size_t
entries(const char *dir)
{
	char *command = xasprintf("ls -A '%s' >list.txt", dir);
	size_t n = 0, size;

	if (system(command) != 0)
		exit(99);
	free(command);

	char *text = slurp("list.txt", &size);

	for (size_t i = 0; i < size; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static void
expect_refusal(const char *path, bool overwrite, enum fail_kind kind,
	       const char *words)
{
	struct experiment_info info = test_info(path);

	info.overwrite = overwrite;

	struct experiment *exp = experiment_create(&info);

	if (!check(!exp, "%s was created", path)) {
		experiment_close(exp, TEST_START, "not expected");
		return;
	}
	check(fail_last()->kind == kind, "%s: kind is %d: %s", path,
	      fail_last()->kind, fail_last()->reason);
	check(strstr(fail_last()->reason, words), "\"%s\" does not say: %s",
	      fail_last()->reason, words);
	if (kind == FAIL_USAGE)
		check(*fail_last()->remedy, "%s: no remedy", path);
}

static void
create_and_close(const char *path, bool overwrite)
{
	struct experiment_info info = test_info(path);

	info.overwrite = overwrite;
	check(experiment_close(test_create(&info), TEST_START, "end") == 0,
	      "close: %s", fail_last()->reason);
}

static void
test_refusals(void)
{
	if (mkdir("p", 0777) < 0 || mkdir("p/dir.er", 0777) < 0)
		exit(99);
	spill("p/file.er", "x", 1);
	spill("p/dir.er/precious", "x", 1);
	if (symlink("dir.er", "p/link.er") < 0)
		exit(99);
	expect_refusal("p/name", false, FAIL_USAGE, "ends in .er");
	expect_refusal("p/.er", false, FAIL_USAGE, "ends in .er");
	expect_refusal("p/no/x.er", false, FAIL_MISSING, "p/no");
	expect_refusal("p/file.er", false, FAIL_USAGE, "exists");
	expect_refusal("p/file.er", true, FAIL_USAGE, "not an experiment");
	expect_refusal("p/dir.er", false, FAIL_USAGE, "exists");
	expect_refusal("p/dir.er", true, FAIL_USAGE, "no log.xml");
	expect_refusal("p/link.er", true, FAIL_USAGE, "not an experiment");
	check_number("entries", entries("p"), 3);
	check_number("precious entries", entries("p/dir.er"), 1);
}

/* Where no descriptor is left, that is the reason, and nothing stays. */
static void
test_descriptors(void)
{
	const int first = open(".", O_PATH | O_CLOEXEC);
	struct rlimit was, few;

	if (first < 0 || getrlimit(RLIMIT_NOFILE, &was) < 0)
		exit(99);
	close(first);
	few = was;
	for (rlim_t more = 0; more < 6; more++) {
		few.rlim_cur = (rlim_t)first + more;
		if (setrlimit(RLIMIT_NOFILE, &few) < 0)
			exit(99);
		expect_refusal("p/few.er", false, FAIL_GENERAL,
			       "Too many open files");
		(void)setrlimit(RLIMIT_NOFILE, &was);
		check(access("p/few.er", F_OK) < 0,
		      "with %d descriptors it stays", (int)more);
	}
}

static void
test_overwrite(void)
{
	create_and_close("p/old.er", false);
	spill("p/old.er/notes", "old", 3);
	expect_refusal("p/old.er", false, FAIL_USAGE, "exists");
	check(access("p/old.er/notes", F_OK) == 0, "the old one was touched");
	create_and_close("p/old.er/", true);
	check(access("p/old.er/notes", F_OK) < 0, "the old one is still there");
	check_number("entries", entries("p"), 4);
}

/* While one writes, no other may, nor when only a descendant is written. */
static void
test_lock(void)
{
	const struct experiment_info info = test_info("p/old.er/_f1.er");
	struct experiment *exp = test_create(&info);

	expect_refusal("p/old.er", true, FAIL_USAGE, "is being recorded");
	expect_refusal("p/old.er/_f1.er", true, FAIL_USAGE,
		       "is being recorded");
	experiment_close(exp, TEST_START, "end");
	create_and_close("p/old.er", true);
	check(access("p/old.er/_f1.er", F_OK) < 0, "the descendant stayed");
	check_number("entries", entries("p"), 4);
}

static void
race(void)
{
	struct experiment_info info = test_info("p/race.er");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	info.overwrite = true;
	if (!experiment_create(&info))
		_exit(fail_last()->kind == FAIL_USAGE ? 1 : 2);
	for (;;)
		pause();	/* keep it until we are killed */
}

/* Of many at once that want one name, one gets it. */
static void
test_race(void)
{
	enum { RACERS = 16 };
	pid_t racers[RACERS];
	int status;

	for (int i = 0; i < RACERS; i++) {
		racers[i] = fork();
		if (racers[i] == 0)
			race();
	}
	/* the losers end by themselves; who is left is the winner */
	for (int i = 0; i < RACERS - 1; i++) {
		const pid_t pid = wait(&status);

		check(WIFEXITED(status) && WEXITSTATUS(status) == 1,
		      "a loser ended with %#x", status);
		for (int j = 0; j < RACERS; j++)
			if (racers[j] == pid)
				racers[j] = 0;
	}
	for (int i = 0; i < RACERS; i++)
		if (racers[i])
			kill(racers[i], SIGTERM);
	wait(&status);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
	      "the winner ended with %#x", status);

	struct experiment_reader *rd = test_open("p/race.er");

	check(!experiment_recording(rd), "the lock outlived its owner");
	experiment_reader_free(rd);
	check_number("entries", entries("p"), 5);
}

/* A writer whose directory changes writes on where it began. */
static void
test_chdir(void)
{
	const struct experiment_info info = test_info("p/moved.er");
	struct experiment *exp = test_create(&info);

	if (chdir("p") < 0 || rename("moved.er", "away.er") < 0)
		exit(99);
	experiment_comment(exp, TEST_START, "after the move");
	check(experiment_close(exp, TEST_START, "end") == 0, "close: %s",
	      fail_last()->reason);
	if (chdir("..") < 0)
		exit(99);

	struct experiment_reader *rd = test_open("p/away.er");

	check(experiment_finished(rd), "it has no end");
	experiment_reader_free(rd);
}

static void
test_owner(void)
{
	struct experiment_info info = test_info("p/owned.er");
	struct stat st;

	if (geteuid() != 0)
		return;
	info.owner = 4711;
	info.group = 4712;
	experiment_close(test_create(&info), TEST_START, "end");
	for (const char *const *name = (const char *const []){ "p/owned.er",
		     "p/owned.er/log.xml", "p/owned.er/profile", NULL };
	     *name; name++)
		check(stat(*name, &st) == 0 && st.st_uid == 4711 &&
		      st.st_gid == 4712, "%s is not theirs", *name);
}

static void
check_next(const char *dir, const char *stem, const char *want)
{
	char *name = experiment_next_name(dir, stem);

	check_text("next name", name, want);
	free(name);
}

static void
check_archived(const char *path, const char *want)
{
	char *name = experiment_archived_name(path);

	check_text(path, name, want);
	free(name);
}

/* The hashes are those that gprofng's own archives show. */
static void
test_names(void)
{
	if (mkdir("n", 0777) < 0)
		exit(99);
	check_next("n", "test", "test.1.er");
	for (const char *const *name = (const char *const []){ "test.2.er",
		     "test.10.er", "test.x.er", "test.99.erg", "other.77.er",
		     "test.-5.er", "test.300", "test..er", NULL };
	     *name; name++) {
		char *path = xasprintf("n/%s", *name);

		spill(path, "", 0);
		free(path);
	}
	check_next("n", "test", "test.11.er");
	check_next("n", "other", "other.78.er");
	check_next("n/none", "test", "test.1.er");

	char longest[300] = "/usr/lib/x86_64-linux-gnu/";
	char want[300];

	check_archived("/usr/lib/x86_64-linux-gnu/libc.so.6",
		       "libc.so.6_dnWuQRcLhw9");
	check_archived("prog", "prog_dbrs1000000");
	memset(longest + 26, 'x', 244);
	longest[26 + 244] = '\0';
	snprintf(want, sizeof want, "%.231s_dnWuQRcLhw9_DvlGGG1XHC7",
		 longest + 26);
	check_archived(longest, want);
	longest[26 + 243] = '\0';
	snprintf(want, sizeof want, "%s_dnWuQRcLhw9", longest + 26);
	check_archived(longest, want);
}

/* ---- archives -------------------------------------------------------- */

/* An experiment that saw one program mapped at start. */
static void
record_program(const char *path, const char *program, uint64_t start,
	       uint64_t size, const char *build_id)
{
	const struct experiment_info info = test_info(path);
	struct experiment *exp = test_create(&info);

	experiment_map(exp, TEST_START, start, size, 0, 5, program, build_id);
	experiment_map(exp, TEST_START, 0x1000, 0x1000, 0, 5, "[vdso]", NULL);
	experiment_map(exp, TEST_START, 0x3000, 0x1000, 0, 5, "", NULL);
	experiment_map(exp, TEST_START, 0x5000, 0x1000, 0, 4, "/etc/passwd",
		       NULL);
	experiment_map(exp, TEST_START, 0x7000, 0x1000, 0, 5, "/memfd:x",
		       NULL);
	experiment_close(exp, TEST_START, "end");
}

static bool
is_archived(const char *exp, const char *program, const char *original)
{
	char *name = experiment_archived_name(program);
	char *command = xasprintf("cmp -s '%s/archives/%s' '%s'", exp, name,
				  original);
	const bool same = system(command) == 0;

	free(name);
	free(command);
	return same;
}

static void
copy_file(const char *from, const char *to)
{
	char *command = xasprintf("cp '%s' '%s'", from, to);

	if (system(command) != 0)
		exit(99);
	free(command);
}

static void
test_archive(const char *dir)
{
	char *program = xasprintf("%s/prog", dir);

	copy_file("/bin/true", program);
	record_program("a.er", program, 0x400000, 0x1000, NULL);
	check(archive_of("a.er", ARCHIVE_OFF) == 0 &&
	      access("a.er/archives", F_OK) < 0, "OFF does something");
	check(archive_of("a.er", ARCHIVE_ON) == 0, "archive: %s",
	      fail_last()->reason);
	check(is_archived("a.er", program, program), "no copy");
	check_number("archived, and its sum", entries("a.er/archives"), 2);
	/* again, with the program gone: nothing to do */
	unlink(program);
	check(archive_of("a.er", ARCHIVE_ON) == 0, "again: %s",
	      fail_last()->reason);
	check(archive_of("a.er", ARCHIVE_COPY) < 0 &&
	      fail_last()->kind == FAIL_PARTIAL &&
	      strstr(fail_last()->reason, program), "it does not say what is "
	      "missing");
	check(is_archived("a.er", program, "/bin/true"),
	      "a failed copy spoiled the old one");
	/* what is no program is not copied */
	spill(program, "secret", 6);
	record_program("b.er", program, 0x400000, 0x1000, NULL);
	check(archive_of("b.er", ARCHIVE_ON) < 0,
	      "a text was archived");
	check_number("archived", entries("b.er/archives"), 0);
	unlink(program);
	/* the right name, but another build */
	copy_file("/bin/true", program);
	record_program("c.er", program, 0x400000, 0x1000, "00112233");
	check(archive_of("c.er", ARCHIVE_ON) < 0,
	      "another build was archived");
	unlink(program);
	free(program);
}

/* A program that is deleted, and replaced, while it runs. */
static void
test_deleted(const char *dir)
{
	char *program = xasprintf("%s/prog", dir);
	int ready[2];

	copy_file("/bin/sleep", program);
	if (pipe2(ready, O_CLOEXEC) < 0)
		exit(99);

	const pid_t pid = fork();

	if (pid == 0) {
		execl(program, "prog", "1000", NULL);
		_exit(99);
	}
	close(ready[1]);

	char byte;

	/* the exec closes its end of the pipe */
	if (read(ready[0], &byte, 1) != 0)
		exit(99);
	close(ready[0]);
	unlink(program);
	copy_file("/bin/true", program);
	record_program("d.er", program, 0x400000, 0x1000, NULL);

	char *root = xasprintf("/proc/%d/root", (int)pid);

	check(archive_at("d.er", ARCHIVE_ON, root) == 0, "archive: %s",
	      fail_last()->reason);
	check(is_archived("d.er", program, "/bin/sleep"),
	      "the archived copy is not the program that ran");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(root);
	free(program);
}

/* A descendant's objects go to its founder. */
static void
test_family(const char *dir)
{
	char *one = xasprintf("%s/one", dir), *two = xasprintf("%s/two", dir);

	copy_file("/bin/true", one);
	copy_file("/bin/sleep", two);
	record_program("f.er", one, 0x400000, 0x1000, NULL);
	record_program("f.er/_f1.er", two, 0x400000, 0x1000, NULL);
	check(archive_of("f.er/_f1.er", ARCHIVE_ON) == 0,
	      "descendant: %s", fail_last()->reason);
	check(is_archived("f.er", two, two), "not in the founder");
	check(access("f.er/_f1.er/archives", F_OK) < 0, "archives of its own");
	unlink(two);
	check(archive_of("f.er", ARCHIVE_ON) == 0, "founder: %s",
	      fail_last()->reason);
	check(is_archived("f.er", one, one), "the founder's own is missing");
	free(one);
	free(two);
}

int
main(void)
{
	char *dir = scratch_enter();

	test_refusals();
	test_descriptors();
	test_overwrite();
	test_lock();
	test_race();
	test_chdir();
	test_owner();
	test_names();
	test_archive(dir);
	test_deleted(dir);
	test_family(dir);
	scratch_leave(dir);
	return failures > 0;
}
