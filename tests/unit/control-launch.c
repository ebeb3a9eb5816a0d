/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A launched program stands before its first constructor, with libc mapped
 * and the loader's text unharmed, and then runs on to its own exit status,
 * arguments, environment and redirections. A static one stands at its entry
 * point. What cannot be launched is refused with its cause. The shell's and
 * the tracer's side are two processes here as they are in life.
 * mission: C2 X1
 */
#include "control-test.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/user.h>

enum { STATUS = 37, WORD_FD = 9 };

static char self[4096], directory[64];

/* ---- the victim, by another name of this program ------------------------ */

static void __attribute__((constructor))
say_that_it_ran(void)
{
	/* what a shell must not leave behind */
	if (getenv("CONTROL_LAUNCH_VICTIM"))
		(void)!write(WORD_FD, "c", 1);
}

static int
victim_main(int argc, char **argv)
{
	struct sigaction sa;
	sigset_t mask;
	char line[32] = "";

	if (argc != 3 || strcmp(argv[0], "a name") || strcmp(argv[2], "two"))
		return 1;
	if (!fgets(line, sizeof line, stdin) || strcmp(line, "input\n"))
		return 2;
	if (sigaction(SIGPIPE, NULL, &sa) < 0 || sa.sa_handler != SIG_DFL ||
	    sigprocmask(SIG_BLOCK, NULL, &mask) < 0 ||
	    sigismember(&mask, SIGUSR1))
		return 3;
	printf("output\n");
	return STATUS;
}

/* ---- the tracer --------------------------------------------------------- */

static uint64_t
start_of(const char *maps, const char *part, const char *prot, uint64_t *end)
{
	for (const char *line = maps; line && *line;) {
		unsigned long long from, to;
		char mode[8], path[512] = "";

		if (sscanf(line, "%llx-%llx %7s %*s %*s %*s %511[^\n]", &from,
			   &to, mode, path) >= 3 &&
		    strstr(path, part) && strstr(mode, prot)) {
			*end = to;
			return from;
		}
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return 0;
}

/* The loader's text against the same text in this very process. */
static void
check_loader_text(struct target *t, const char *maps)
{
	char *ours = file_read("/proc/self/maps", NULL);
	uint64_t end, our_end;
	const uint64_t at = start_of(maps, "/ld-linux", "r-x", &end);
	const uint64_t our = start_of(ours, "/ld-linux", "r-x", &our_end);
	unsigned char *text = malloc(end - at);

	check(at && our && end - at == our_end - our, "the loader's text");
	check(target_read(t, at, text, end - at) == 0 &&
	      memcmp(text, (void *)(uintptr_t)our, end - at) == 0,
	      "the loader's text is unharmed");
	free(text);
	free(ours);
}

static void
check_started(struct target *t, int word_fd, bool is_static)
{
	struct pollfd said = { .fd = word_fd, .events = POLLIN };
	char *maps = target_maps(t);
	struct user_regs_struct user;

	check(target_held(t), "it is held");
	check(thread_get_regs(target_pid(t), &user) == 0, "registers");
	check(poll(&said, 1, 0) == 0, "no constructor has run");
	if (is_static) {
		check(maps && !strstr(maps, "libc.so"), "static");
	} else {
		check(maps && strstr(maps, "/libc.so"), "libc is mapped");
		check_loader_text(t, maps);
	}
	free(maps);
}

struct orders {
	pid_t *pid;
	int ready[2], go[2], word_fd;
	bool is_static;
};

/* Reads a byte from ready when the child is there, tells go when it is
 * seized. Exits with its number of failures. */
static void
tracer(void *arg)
{
	struct orders *o = arg;
	struct target *t;
	char byte;

	failures = 0;
	check(read(o->ready[0], &byte, 1) == 1, "ready");
	t = target_open(*o->pid);
	check(t && launch_seize(t) == 0, "seize");
	check(write(o->go[1], "g", 1) == 1, "go");
	if (t && launch_to_start(t) == 0)
		check_started(t, o->word_fd, o->is_static);
	else
		check(false, "to the start");
	check(target_release_all(t) == 0, "release");
	target_close(t);
	_exit(failures);
}

/* ---- the shell ---------------------------------------------------------- */

static int
launch(char *const *argv, char *const *envp, bool is_static, int word_fd)
{
	pid_t *shared = shared_page(sizeof *shared);
	struct orders o = { .pid = shared, .word_fd = word_fd,
			    .is_static = is_static };
	char in[128], out[128], byte;
	int go_fd, status;

	(void)snprintf(in, sizeof in, "%s/in", directory);
	(void)snprintf(out, sizeof out, "%s/out", directory);
	check(pipe(o.ready) == 0 && pipe(o.go) == 0, "pipes");

	const pid_t other = fork_victim(tracer, &o);
	const struct launch l = { .argv = argv, .envp = envp, .in = in,
				  .out = out, .tracer = other };

	*shared = launch_fork(&l, &go_fd);
	if (*shared < 0) {
		check(false, "fork");
		kill(other, SIGKILL);
		return -1;
	}
	check(write(o.ready[1], "r", 1) == 1 && read(o.go[0], &byte, 1) == 1,
	      "the tracer has it");
	check(launch_go(go_fd) == 0, "go");
	check(ended_well(other), "the tracer's findings");
	status = status_of(*shared);
	return status;
}

static void
dynamic(void)
{
	char *argv[] = { (char[]){ "a name" }, (char[]){ "one" },
			 (char[]){ "two" }, NULL };
	char *path = xasprintf("PATH=%s:/nowhere", directory);
	char *envp[] = { (char[]){ "CONTROL_LAUNCH_VICTIM=1" }, path, NULL };
	char out[128], *text, byte;
	sigset_t usr1;
	int word[2];

	check(pipe(word) == 0 && dup2(word[1], WORD_FD) == WORD_FD, "pipe");
	(void)signal(SIGPIPE, SIG_IGN);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);

	const int status = launch(argv, envp, false, word[0]);

	check(WIFEXITED(status) && WEXITSTATUS(status) == STATUS,
	      "its status is %#x", status);
	check(read(word[0], &byte, 1) == 1, "its constructor ran later");
	(void)snprintf(out, sizeof out, "%s/out", directory);
	text = file_read(out, NULL);
	check(text && strcmp(text, "output\n") == 0, "its output");
	free(text);
	free(path);
	close(word[0]);
	close(word[1]);
	close(WORD_FD);
}

static void
static_one(void)
{
	static char name[] = "tests/victims/spin31-static";
	char *argv[] = { name, (char[]){ "10" }, NULL };
	int word[2];

	if (access(name, X_OK) < 0) {
		printf("no %s here: the static case is skipped\n", name);
		return;
	}
	check(pipe(word) == 0, "pipe");

	const int status = launch(argv, NULL, true, word[0]);

	check(WIFEXITED(status), "its status is %#x", status);
}

static void
refused(const char *name, enum fail_kind kind, const char *in)
{
	char *argv[] = { xstrdup(name), NULL };
	const struct launch l = { .argv = argv, .in = in };
	int go_fd;

	check(launch_fork(&l, &go_fd) < 0 && fail_last()->kind == kind,
	      "launch %s: kind %d", name, fail_last()->kind);
	fail_clear();
	free(argv[0]);
}

/* The child ends when nobody ever says go, and a launch that execs nothing
 * is told with its status. */
static void
failures_later(void)
{
	char *bad = xasprintf("%s/bad", directory);
	char *argv[] = { bad, NULL };
	const struct launch l = { .argv = argv, .tracer = getpid() };
	struct target *t;
	int go_fd;
	pid_t pid = launch_fork(&l, &go_fd);

	check(pid > 0, "fork");
	close(go_fd);
	check(WEXITSTATUS(status_of(pid)) == 125, "nobody said go");

	pid = launch_fork(&l, &go_fd);
	t = target_open(pid);
	check(t && launch_seize(t) == 0 && launch_go(go_fd) == 0, "go");
	check(launch_to_start(t) < 0 && fail_last()->kind == FAIL_ENDED &&
	      strstr(fail_last()->reason, "exited with status 127"),
	      "an exec that fails is told");
	target_close(t);

	pid = launch_fork(&l, &go_fd);
	kill(pid, SIGKILL);
	(void)status_of(pid);
	check(launch_go(go_fd) < 0 && fail_last()->kind == FAIL_ENDED,
	      "go to a dead child");
	fail_clear();
	free(bad);
}

/* A 32-bit program: pause() for ever. Kernels without that emulation do not
 * start it, and then there is nothing to refuse. */
static const unsigned char program_32[] = {
	0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	2, 0, 3, 0, 1, 0, 0, 0, 0x54, 0x80, 0x04, 0x08,	/* entry */
	0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x34, 0, 0x20, 0, 1, 0,
	0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08,
	0x5d, 0, 0, 0, 0x5d, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0,
	0xb8, 0x1d, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7,
};

static void
other_machine(void)
{
	char *path = xasprintf("%s/bits32", directory);
	char *argv[] = { path, NULL };
	const struct launch l = { .argv = argv, .tracer = getpid() };
	int go_fd;
	const pid_t pid = launch_fork(&l, &go_fd);
	struct target *t = target_open(pid);

	check(t && launch_seize(t) == 0 && launch_go(go_fd) == 0, "go");
	check(launch_to_start(t) < 0, "a 32-bit program is not ours");
	if (fail_last()->kind == FAIL_ENDED) {
		printf("no 32-bit programs here: that case is skipped\n");
	} else {
		check(fail_last()->kind == FAIL_UNSUITABLE &&
		      strstr(fail_last()->reason, "32-bit"), "it says so");
		check(target_release_all(t) == 0, "release");
		check(target_check_ptrace(t) < 0 &&
		      fail_last()->kind == FAIL_UNSUITABLE, "nor attached to");
		kill(pid, SIGKILL);
		check(WTERMSIG(status_of(pid)) == SIGKILL, "it lived");
	}
	fail_clear();
	target_close(t);
	free(path);
}

static void
put_file(const char *name, const char *text, size_t n, mode_t mode)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	check(fd >= 0 && write_all(fd, text, n) == 0, "write %s", path);
	close(fd);
}

static void
body(void)
{
	static const char *const files[] = { "in", "out", "bad", "bits32",
					   "a name" };
	char path[128];

	(void)snprintf(directory, sizeof directory, "/tmp/control-launch.%d",
		       (int)getpid());
	check(mkdir(directory, 0755) == 0, "mkdir");
	put_file("in", "input\n", 6, 0644);
	put_file("bad", "#!/no/such/interpreter\n", 23, 0755);
	put_file("bits32", (const char *)program_32, sizeof program_32, 0755);
	(void)snprintf(path, sizeof path, "%s/a name", directory);
	check(symlink(self, path) == 0, "symlink");
	dynamic();
	static_one();
	refused("no-such-program-anywhere", FAIL_MISSING, NULL);
	refused("/no/such/program", FAIL_MISSING, NULL);
	refused("/etc/passwd", FAIL_DENIED, NULL);
	refused("/bin/true", FAIL_MISSING, "/no/such/input");
	failures_later();
	other_machine();
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, "%s/%s", directory,
			       files[i]);
		(void)unlink(path);
	}
	(void)rmdir(directory);
}

int
main(int argc, char **argv)
{
	if (getenv("CONTROL_LAUNCH_VICTIM"))
		return victim_main(argc, argv);
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return 99;
	return run_both(body, 60);
}
