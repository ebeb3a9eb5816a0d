/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything that it can name has terminal sequences in it: its own name, a
 * thread's, its command line, a mapped file. Its arguments are not looked at.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "victim.h"

static const char evil[] = "\033]0;owned\a\r\033[2J";
static atomic_ulong sink;

static void *
spin(void *arg)
{
	(void)prctl(PR_SET_NAME, "\033[31mthread\a");
	while (!atomic_load(&victim_over))
		atomic_fetch_add(&sink, 1);
	return arg;
}

/* Its own program under such a name, executable. */
static void
map_evil_file(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/lib%s.so", dir, "\033[2J\007evil");
	fd = open(path, O_RDONLY);
	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			   0) == MAP_FAILED)
		exit(99);
}

int
main(int argc, char **argv)
{
	pthread_t th;

	victim_init();
	if (argc > 1)
		map_evil_file(argv[1]);
	(void)prctl(PR_SET_NAME, evil);
	if (pthread_create(&th, NULL, spin, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(NULL);
	pthread_join(th, NULL);
	return victim_end(atomic_load(&sink) > 0);
}
