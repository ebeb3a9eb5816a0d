/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: D1, S3. Beside samples a clock tells of new mappings, names,
 * threads, child processes and exec, in order of time, and follows the process
 * through an exec called by a thread that is not its first.
 */
#include "clock-victim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

static void *
short_life(void *arg)
{
	(void)arg;
	spin_for(1000000);
	return NULL;
}

static void *
exec_self(void *arg)
{
	char in[16], out[16];

	(void)arg;
	spin_for(5000000);
	(void)snprintf(in, sizeof in, "%d", victim_in);
	(void)snprintf(out, sizeof out, "%d", victim_out);
	execl("/proc/self/exe", "second", "second", in, out, (char *)NULL);
	_exit(BROKEN);
}

static void
child_process(void)
{
	const pid_t pid = fork();

	if (pid < 0)
		_exit(BROKEN);
	if (pid == 0) {
		spin_for(5000000);
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		_exit(BROKEN);
}

static void
eventful(void)
{
	pthread_t t;

	victim_ready();
	victim_wait();
	if (!dlopen("libresolv.so.2", RTLD_NOW))
		_exit(BROKEN);
	prctl(PR_SET_NAME, "renamed");
	if (pthread_create(&t, NULL, short_life, NULL) != 0)
		_exit(BROKEN);
	pthread_join(t, NULL);
	child_process();
	if (pthread_create(&t, NULL, exec_self, NULL) != 0)
		_exit(BROKEN);
	pthread_join(t, NULL);
}

/* After exec: some work, then wait to be ended. */
static int
second_life(char **argv)
{
	victim_in = atoi(argv[2]);
	victim_out = atoi(argv[3]);
	spin_for(100000000);
	victim_ready();
	victim_wait();
	return PASS;
}

struct seen {
	struct tally t;
	size_t library, renamed, thread_forks, process_forks, execs;
	size_t maps_after_exec, samples_after_exec, child_samples;
	uint64_t exec_time;
};

static void
see(void *arg, const struct clock_record *r)
{
	struct seen *s = arg;

	tally_add(&s->t, r);
	switch (r->kind) {
	case CLOCK_MMAP:
		s->library += strstr(r->u.map.path, "libresolv") != NULL &&
			(r->u.map.prot & PROT_EXEC) && r->u.map.inode != 0;
		s->maps_after_exec += s->execs > 0;
		break;
	case CLOCK_COMM:
		s->renamed += strcmp(r->u.comm.name, "renamed") == 0;
		break;
	case CLOCK_FORK:
		s->thread_forks += r->pid == s->t.pid;
		s->process_forks += r->pid != s->t.pid &&
			r->u.fork.ppid == s->t.pid;
		break;
	case CLOCK_EXEC:
		s->execs++;
		s->exec_time = r->time_ns;
		CHECK(r->tid == s->t.pid, "exec of thread %d", (int)r->tid);
		break;
	case CLOCK_SAMPLE:
		s->samples_after_exec += s->execs > 0;
		s->child_samples += r->pid != s->t.pid;
		break;
	default:
		break;
	}
}

static void
check_seen(enum clock_form form, const struct seen *s)
{
	CHECK(s->library == 1, "%zu mappings of the library", s->library);
	CHECK(s->renamed == 1, "%zu renamings", s->renamed);
	CHECK(s->thread_forks == 2, "%zu threads born", s->thread_forks);
	CHECK(s->process_forks == 1, "%zu children", s->process_forks);
	CHECK(s->execs == 1, "%zu execs", s->execs);
	CHECK(s->maps_after_exec > 2, "%zu maps", s->maps_after_exec);
	/* 100 ms at 1 ms; the CPU form by chance on busy CPUs */
	CHECK(s->samples_after_exec > 50, "%zu samples of the new program",
	      s->samples_after_exec);
	CHECK(s->child_samples == 0, "%zu samples of the child",
	      s->child_samples);
	CHECK(s->t.early == 0, "%zu out of order", s->t.early);
	CHECK(s->t.foreign == 0, "%zu records of others", s->t.foreign);
	CHECK(form == CLOCK_FORM_CPU || s->t.kind[CLOCK_SWITCH] > 4,
	      "%zu switches", s->t.kind[CLOCK_SWITCH]);
}

/* The process clock counts on through exec. */
static void
check_cpu(struct clock *c, const struct seen *s, uint64_t cpu)
{
	struct rest rest = {0};

	clock_rest(c, rest_add, &rest);

	const double ratio = (double)(s->t.cpu_ns + rest.cpu_ns) / (double)cpu;

	printf("  clock %.1f ms, given %.1f + rest %.1f, ratio %.4f\n",
	       (double)cpu / 1e6, (double)s->t.cpu_ns / 1e6,
	       (double)rest.cpu_ns / 1e6, ratio);
	CHECK(as_clock((double)(s->t.cpu_ns + rest.cpu_ns), cpu,
		       s->t.kind[CLOCK_SWITCH]),
	      "cpu_ns / clock %.4f", ratio);
}

static bool
heard(const struct victim *v)
{
	struct pollfd p = { .fd = v->hear, .events = POLLIN };

	if (poll(&p, 1, 0) <= 0)
		return false;
	victim_hear(v);
	return true;
}

static bool
run(enum clock_form form)
{
	struct victim v = victim_start(eventful);
	const struct clock_options opt = {
		.pid = v.pid,
		.interval_ns = 1000000,
		.stack_bytes = 4096,
		.form = form,
	};
	struct seen s = { .t.pid = v.pid };

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c) {
		victim_kill(&v);
		return false;
	}

	const uint64_t from = measure_from(v.pid);

	victim_go(&v);
	while (!heard(&v)) {
		(void)wait_rings(c, 20);
		(void)clock_drain(c, false, see, &s);
	}
	clock_disable(c);

	const uint64_t cpu = cpu_of(v.pid) - from;

	(void)clock_drain(c, true, see, &s);
	printf("%s: %zu records, %zu samples (%zu after exec), %zu maps\n",
	       form_name(form), s.t.records, s.t.kind[CLOCK_SAMPLE],
	       s.samples_after_exec, s.t.kind[CLOCK_MMAP]);
	check_seen(form, &s);
	if (form == CLOCK_FORM_THREAD)
		check_cpu(c, &s, cpu);
	clock_close(c);
	victim_go(&v);
	CHECK(victim_wait_end(&v) == 0, "the victim did not end well");
	return true;
}

int
main(int argc, char **argv)
{
	size_t ran = 0;

	if (argc == 4 && strcmp(argv[1], "second") == 0)
		return second_life(argv);
	alarm(300);
	ran += run(CLOCK_FORM_CPU);
	ran += run(CLOCK_FORM_THREAD);
	if (failures)
		return FAILED;
	return ran == 0 ? CANNOT : PASS;
}
