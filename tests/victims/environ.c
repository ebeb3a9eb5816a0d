/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * environ MILLISECONDS: a program that looks at what it was given, from its
 * first constructor on, and so does its child; then it burns CPU for that
 * long. Its environment must hold nothing that its caller did not put there,
 * and lead on to the auxiliary vector, as start-up code of some languages
 * expects. Says `seen WHAT` for whatever is not as it should be.
 */
#include <dirent.h>
#include <elf.h>
#include <limits.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "burn.h"
#include "victim.h"

extern char **environ;
static unsigned seen;

static void
look(bool ok, const char *what, const char *text)
{
	if (ok)
		return;
	printf("seen %s %s\n", what, text);
	seen++;
}

static void
look_at_variables(void)
{
	const char *user = getenv("USERS_PRELOAD");
	const char *preload = getenv("LD_PRELOAD");
	unsigned preloads = 0;

	for (char **v = environ; *v; v++) {
		look(!strstr(*v, "sonde-collector") &&
		     !strstr(*v, "/proc/self/fd"), "variable", *v);
		look(**v, "variable", "that is empty");
		preloads += strncmp(*v, "LD_PRELOAD=", 11) == 0;
	}
	look(preloads == (user != NULL), "preloads", preload ? preload : "");
	look(!user || (preload && strcmp(user, preload) == 0), "preload",
	     preload ? preload : "is gone");
}

/* The collector, if it is there; its tester knows whether it should be. */
static void
say_libraries(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	uint64_t libraries = 0;
	char line[4096];

	while (file && fgets(line, sizeof line, file))
		libraries += strstr(line, "r-xp") &&
			strstr(line, "sonde-collector");
	if (file)
		fclose(file);
	victim_say("libraries", libraries);
}

/* From the environment's end on, by way of start-up code without libc. */
static void
look_at_vector(void)
{
	char **end = environ;

	while (*end)
		end++;

	const Elf64_auxv_t *aux = (const void *)(end + 1);
	uint64_t entry = 0, page = 0;

	for (; aux->a_type != AT_NULL; aux++) {
		if (aux->a_type == AT_ENTRY)
			entry = aux->a_un.a_val;
		if (aux->a_type == AT_PAGESZ)
			page = aux->a_un.a_val;
	}
	look(entry == getauxval(AT_ENTRY) && page == getauxval(AT_PAGESZ),
	     "auxv", "is not behind the environment");
}

static void
look_at_proc(void)
{
	static char text[1 << 20];
	FILE *file = fopen("/proc/self/environ", "re");
	const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

	look(n > 0 && !memmem(text, n, "sonde-collector", 15) &&
	     !memmem(text, n, "/proc/self/fd", 13), "environ",
	     "in /proc");
	if (file)
		fclose(file);
}

static void
look_at_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char path[PATH_MAX + 1];
		const ssize_t n = readlinkat(dirfd(dir), e->d_name, path,
					     PATH_MAX);

		path[n > 0 ? n : 0] = '\0';
		look(!strstr(path, "sonde-collector") &&
		     !strstr(path, "sonde-records"), "descriptor", path);
	}
	closedir(dir);
}

__attribute__((constructor)) static void
first(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	look_at_variables();
	look_at_vector();
	look_at_proc();
	look_at_descriptors();
}

static void
run_child(const char *program)
{
	char *argv[] = { (char *)program, (char *)"child", NULL };
	pid_t pid;
	int status;

	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		look(false, "child", "that failed");
}

int
main(int argc, char **argv)
{
	uint64_t x = 1;

	if (argc < 2)
		return 99;
	say_libraries();
	if (strcmp(argv[1], "child") != 0) {
		run_child("/proc/self/exe");

		const uint64_t end = victim_clock(CLOCK_THREAD_CPUTIME_ID) +
			strtoull(argv[1], NULL, 10) * 1000000;

		while (victim_clock(CLOCK_THREAD_CPUTIME_ID) < end)
			x = burn(x, 10000);
	}
	/* and a descriptor is given the lowest number that is free */
	const int fd = dup(0);

	look(fd == 3 || argc > 2, "descriptor", "numbers in use");
	return x && victim_end(seen == 0);
}
