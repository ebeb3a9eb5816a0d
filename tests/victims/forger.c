/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that has found the record memory in its own maps and fills all
 * rings with records that look right, as fast as it can: `ids` with another
 * thread in each, `owners` with other threads as the windows' owners, too,
 * `times` as its own, `heavy` with a weight that no clock has, `losses` with
 * more of them lost than there was time for. With `cutter` a
 * child of it cuts the memory as soon as it is there, before it is sealed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "record.h"
#include "victim.h"

enum { SECOND_US = 1000000, DEPTH = 4 };

static const char *how;
static uint32_t made_up = 1000;
static atomic_ulong sum;

static void *
work(void *arg)
{
	(void)arg;
	while (!atomic_load(&victim_over)) {
		for (int i = 0; i < 100000; i++)
			atomic_fetch_add(&sum, 1);
		usleep(100);
	}
	return NULL;
}

/* ---- records ------------------------------------------------------------- */

static struct record_area *
find_area(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	unsigned long at = 0;

	while (maps && !at && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:sonde-records"))
			at = strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	return (struct record_area *)at;
}

static void
forge(struct record *r)
{
	static uint64_t pc;

	r->size = sizeof *r + DEPTH * sizeof r->pcs[0];
	r->kind = RECORD_SAMPLE;
	r->depth = DEPTH;
	r->tid = strcmp(how, "ids") == 0 ? made_up++ : (uint32_t)getpid();
	r->weight = strcmp(how, "heavy") == 0 ? UINT32_MAX : 1;
	r->time_ns = victim_clock(CLOCK_MONOTONIC);
	r->cpu = 0;
	r->end = RECORD_COMPLETE;
	r->late = r->in_call = 0;
	for (int i = 0; i < DEPTH; i++)
		r->pcs[i] = (pc++ * 4096 + 0x400000) & 0x7fffffffffff;
}

static void
fill(struct record_area *a, uint32_t i)
{
	const uint64_t bytes = a->window_bytes;
	const uint64_t size = sizeof(struct record) + DEPTH * sizeof(uint64_t);
	struct record_window *w = (struct record_window *)
		((char *)a + a->windows_at) + i;
	char *ring = (char *)a + a->rings_at + i * bytes;
	uint64_t head = w->head, tail = w->tail;

	w->tid = strcmp(how, "owners") == 0 ? made_up++ : (uint32_t)getpid();
	if (head - tail > bytes)
		head = tail;
	while (head - tail + size <= bytes) {
		struct record *r = (struct record *)(ring + head % bytes);
		const uint64_t rest = bytes - head % bytes;

		if (rest >= size) {
			forge(r);
			if (strcmp(how, "owners") == 0)
				r->tid = w->tid;
		} else {
			r->size = (uint32_t)rest;
			r->kind = RECORD_FILLER;
		}
		head += r->size;
		if (head - tail > bytes)
			break;
		__atomic_store_n(&w->head, head, __ATOMIC_RELEASE);
	}
}

/* It goes when they go. */
static void
on_fault(int signal)
{
	(void)signal;
	for (;;)
		pause();
}

static void *
forge_all(void *arg)
{
	struct record_area *a;

	(void)arg;
	(void)signal(SIGSEGV, on_fault);
	(void)signal(SIGBUS, on_fault);
	while (!(a = find_area()))
		usleep(2000);
	usleep(SECOND_US / 5);
	for (;;) {
		for (int i = 0; strcmp(how, "losses") == 0 &&
		     i < RECORD_LOSSES; i++)
			a->lost[i] += UINT64_MAX / 16;
		for (uint32_t i = 0; i < a->windows; i++)
			fill(a, i);
		usleep(1000);
	}
	return NULL;
}

/* ---- the memory itself --------------------------------------------------- */

static void
cut(const char *path)
{
	char name[128];
	const ssize_t n = readlink(path, name, sizeof name - 1);
	int fd;

	name[n > 0 ? n : 0] = 0;
	if (!strstr(name, "sonde-records") && !strstr(name, "sonde-traces"))
		return;
	fd = open(path, O_RDWR);
	while (fd >= 0 && ftruncate(fd, 0) == 0)
		;
	if (fd >= 0)
		close(fd);
}

static void
cut_all(pid_t of)
{
	char path[96];
	struct dirent *d;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", of);
	tasks = opendir(path);
	while (tasks && (d = readdir(tasks)))
		for (int fd = 3; fd < 60 && atoi(d->d_name) != of; fd++) {
			snprintf(path, sizeof path, "/proc/%d/task/%d/fd/%d",
				 of, atoi(d->d_name), fd);
			cut(path);
		}
	if (tasks)
		closedir(tasks);
}

int
main(int argc, char **argv)
{
	const pid_t self = getpid();
	pthread_t thread;

	how = argc > 1 ? argv[1] : "ids";
	if (strcmp(how, "cutter") == 0 && fork() == 0) {
		(void)syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			cut_all(self);
	}
	victim_init();
	if (pthread_create(&thread, NULL, work, NULL) ||
	    (strcmp(how, "cutter") != 0 &&
	     pthread_create(&thread, NULL, forge_all, NULL)))
		return 99;
	victim_ready();
	victim_serve(NULL);
	return victim_end(atomic_load(&sum) > 0);
}
