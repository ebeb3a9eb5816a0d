/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looking: CPU time against the victim's own clock, names and counts of
 * threads, memory to read and to write (read-only text too), the stack of a
 * thread that sleeps, however large, the file of a mapping after its name is
 * gone or taken by another, and plain words for what does not exist.
 * mission: D9 S3
 */
#include "control-test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum { WORKERS = 3, FILE_BYTES = 8192, WORDS = 40000, STACK_MAX = 8 << 20 };

struct shared {
	_Atomic int ready, stop, ask;
	_Atomic uint64_t own_cpu;
	_Atomic pid_t tid[WORKERS];
	_Atomic uintptr_t mapped, deep;
	char path[64];
};

static struct shared *sh;
static volatile uint64_t writable = 7;
static const volatile uint64_t read_only = 9;

static uint64_t
own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* With a lot on its stack, each word by its number. */
static void
sleep_deep(void)
{
	volatile uint64_t words[WORDS];

	for (uint64_t i = 0; i < WORDS; i++)
		words[i] = i ^ (uintptr_t)words;
	sh->deep = (uintptr_t)words;
	while (!sh->stop)
		rest_ms(2);
}

static void *
worker(void *arg)
{
	const int i = (int)(intptr_t)arg;
	char name[16];

	(void)snprintf(name, sizeof name, "worker (%d) x", i);
	prctl(PR_SET_NAME, name);
	sh->tid[i] = own_tid();
	sh->ready++;
	if (i == 0)
		sleep_deep();
	while (!sh->stop)
		;
	return NULL;
}

static void
map_file(void)
{
	static char bytes[FILE_BYTES];
	const int fd = open(sh->path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	void *at;

	memset(bytes, 'o', sizeof bytes);
	if (fd < 0 || write_all(fd, bytes, sizeof bytes) < 0)
		_exit(2);
	at = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		_exit(2);
	sh->mapped = (uintptr_t)at;
}

static void
victim(void *arg)
{
	pthread_t th[WORKERS];

	(void)arg;
	prctl(PR_SET_NAME, "the) victim");
	map_file();
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&th[i], NULL, worker, (void *)(intptr_t)i))
			_exit(2);
	while (!sh->stop) {
		if (sh->ask) {
			sh->own_cpu = own_cpu_ns();
			sh->ask = 0;
		}
		rest_ms(1);
	}
	for (int i = 0; i < WORKERS; i++)
		(void)pthread_join(th[i], NULL);
	_exit(writable == 8 && read_only == 10 ? 0 : 1);
}

static bool
is_ready(void *arg)
{
	(void)arg;
	return sh->ready == WORKERS;
}

static bool
has_answered(void *arg)
{
	(void)arg;
	return !sh->ask;
}

/* ---- looks -------------------------------------------------------------- */

static void
clocks(struct target *t)
{
	for (int i = 0; i < 20; i++) {
		uint64_t before, after;

		check(target_cpu_ns(t, &before) == 0, "its CPU time");
		sh->ask = 1;
		check(await(has_answered, NULL), "it answers");
		check(target_cpu_ns(t, &after) == 0, "its CPU time");
		check(before <= sh->own_cpu && sh->own_cpu <= after,
		      "%llu <= %llu <= %llu", (unsigned long long)before,
		      (unsigned long long)sh->own_cpu,
		      (unsigned long long)after);
	}
}

static void
threads(struct target *t)
{
	struct thread_facts f;
	pid_t *tids = NULL;
	size_t cap = 0;
	uint64_t process, sum = 0;

	check(strcmp(target_name(t), "the) victim") == 0, "its name is %s",
	      target_name(t));
	check(target_threads(t, &tids, &cap) == WORKERS + 1, "its threads");
	free(tids);
	for (int i = 0; i < WORKERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "worker (%d) x", i);
		check(target_thread_facts(t, sh->tid[i], &f) == 0 &&
		      strcmp(f.name, name) == 0, "%s is %s", name, f.name);
		check(f.switches > 0 && f.cpu_ns > 0, "its counts");
		sum += f.cpu_ns;
	}
	check(target_cpu_ns(t, &process) == 0 && sum <= process,
	      "threads %llu, process %llu", (unsigned long long)sum,
	      (unsigned long long)process);
	check(await_blocked(t, sh->tid[0], SYS_clock_nanosleep),
	      "the sleeper sleeps");
	check(target_thread_facts(t, 1, &f) < 0 &&
	      fail_last()->kind == FAIL_MISSING, "not a thread of it");
	fail_clear();
}

/* ---- stacks -------------------------------------------------------------- */

struct peek {
	struct target *t;
	size_t most;
	struct snapshot_thread th;
};

static bool
sleeps_while_peeked(void *arg)
{
	struct peek *p = arg;

	return sh->deep && peek_thread(p->t, sh->tid[0], p->most, &p->th) == 0;
}

/* From the first of these words on, all that is in the copy. */
static size_t
right_words(const struct snapshot_thread *th)
{
	const uint64_t at = sh->deep - th->stack_base;
	size_t n = 0;

	for (; n < WORDS && at + 8 * (n + 1) <= th->stack_size; n++) {
		uint64_t word;

		memcpy(&word, th->stack + at + 8 * n, sizeof word);
		if (word != (n ^ sh->deep))
			break;
	}
	return n;
}

static void
stacks(struct target *t)
{
	static const size_t sizes[] = {
		STACK_MAX, 8 << 10, 60 << 10, (60 << 10) + 8, 64 << 10,
		256 << 10,
	};
	size_t whole = 0;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct peek p = { .t = t, .most = sizes[i] };

		check(await(sleeps_while_peeked, &p), "it is peeked at");

		const uint64_t above = p.th.stack_base + sizes[i] - sh->deep;
		const size_t n = above / 8 < WORDS ? above / 8 : WORDS;

		if (i == 0)
			whole = p.th.stack_size;
		check(whole > 8 * WORDS && whole < STACK_MAX &&
		      p.th.stack_size == (whole < sizes[i] ? whole : sizes[i]),
		      "%zu of %zu bytes, %zu asked for", p.th.stack_size,
		      whole, sizes[i]);
		check(right_words(&p.th) == n, "%zu of %zu words in %zu bytes",
		      right_words(&p.th), n, sizes[i]);
		check(p.th.facts.state == 'S' && p.th.facts.in_syscall &&
		      strcmp(p.th.facts.name, "worker (0) x") == 0,
		      "who sleeps: %s", p.th.facts.name);
		snapshot_thread_fini(&p.th);
	}
	fail_clear();
}

static void
memory(struct target *t)
{
	const uint64_t eight = 8, ten = 10;
	uint64_t word = 0;

	check(target_read(t, (uintptr_t)&writable, &word, 8) == 0 &&
	      word == 7, "read");
	check(target_write(t, (uintptr_t)&writable, &eight, 8) == 0 &&
	      target_read(t, (uintptr_t)&writable, &word, 8) == 0 &&
	      word == 8 && writable == 7, "write");
	check(target_write(t, (uintptr_t)&read_only, &ten, 8) == 0 &&
	      target_read(t, (uintptr_t)&read_only, &word, 8) == 0 &&
	      word == 10 && read_only == 9, "write what is read-only");
	check(target_read(t, 16, &word, 8) < 0 && strstr(fail_last()->reason,
	      "read 8 bytes at 0x10 of process"), "page 0");
	check(target_write(t, 16, &word, 8) < 0, "page 0");
	fail_clear();
}

static bool
is_original(int fd)
{
	char byte = 0;

	return fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'o';
}

/* Root finds the very file by its mapping; others only by its name, and must
 * not take the wrong one. */
static void
files(struct target *t)
{
	const uint64_t at = sh->mapped;
	struct stat st;
	char fake[80];
	int fd;

	check(stat(sh->path, &st) == 0, "stat");
	fd = target_open_mapped(t, at, at + FILE_BYTES, sh->path, st.st_dev,
				st.st_ino);
	check(is_original(fd), "the mapped file");
	close(fd);
	(void)snprintf(fake, sizeof fake, "%s.new", sh->path);
	fd = open(fake, O_RDWR | O_CREAT | O_TRUNC, 0644);
	check(fd >= 0 && write_all(fd, "fake", 4) == 0 &&
	      rename(fake, sh->path) == 0, "another takes its name");
	close(fd);
	fd = target_open_mapped(t, at, at + FILE_BYTES, sh->path, st.st_dev,
				st.st_ino);
	if (geteuid() == 0)
		check(is_original(fd), "the file that is mapped");
	else
		check(fd < 0, "not the wrong file");
	if (fd >= 0)
		close(fd);
	fail_clear();
	(void)unlink(sh->path);
}

static void
after_the_end(struct target *t, pid_t pid)
{
	uint64_t ns;
	siginfo_t info;

	sh->stop = 1;
	check(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0,
	      "it ends");
	check(target_cpu_ns(t, &ns) == 0 && ns > 0, "a zombie's CPU time");
	check(ended_well(pid), "what was written into it arrived");
	check(target_cpu_ns(t, &ns) < 0 &&
	      fail_last()->kind == FAIL_MISSING, "nobody's CPU time");
	check(target_live_thread(t) < 0, "no thread lives");
	check(!target_maps(t) && fail_last()->kind == FAIL_MISSING, "no map");
	check(target_check_rights(t) < 0 &&
	      fail_last()->kind == FAIL_MISSING, "no rights");
	target_note_exit(t, -1);
	check(target_gone(t) && str_starts(target_how_ended(t), "e"), "gone");
}

static void
body(void)
{
	sh = shared_page(sizeof *sh);
	(void)snprintf(sh->path, sizeof sh->path, "/tmp/control-look.%d",
		       (int)getpid());

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t;

	check(await(is_ready, NULL), "ready");
	t = target_open(pid);
	check(t && target_pid(t) == pid, "open");
	clocks(t);
	threads(t);
	stacks(t);
	memory(t);
	files(t);
	check(!target_open(sh->tid[1]) &&
	      strstr(fail_last()->reason, "is a thread of process"),
	      "a thread is not a process");
	after_the_end(t, pid);
	target_close(t);
	target_close(NULL);
}

int
main(void)
{
	return run_both(body, 60);
}
