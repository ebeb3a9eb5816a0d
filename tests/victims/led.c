/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * led LIBRARY: at each mark it says how many import slots of all its objects
 * lead into a library of sonde's, as it reads them itself, and as many of
 * those of a child. At the first mark it loads the library, has it bind all of
 * its slots, and uses it; at the second one it forks the child.
 */
#include <sys/wait.h>

#include "led.h"
#include "victim.h"

static pid_t child;
static int orders[2], answers[2];
static void (*blocks)(int);

static void
live_as_child(void)
{
	uint64_t n;
	char c;

	close(orders[1]);
	while (read(orders[0], &c, 1) == 1) {
		blocks(10);
		n = led();
		if (write(answers[1], &n, sizeof n) != sizeof n)
			_exit(98);
	}
	_exit(7);
}

static void
load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		exit(99);
	*(void **)&blocks = dlsym(library, "blocks");
}

static const char *path;

static void
mark(void)
{
	uint64_t n = 0;
	char c = 0;

	if (!blocks) {
		load(path);
	} else if (!child) {
		child = fork();
		if (child == 0)
			live_as_child();
		victim_say("child", (uint64_t)child);
	}
	blocks(10);
	victim_say("led", led());
	if (!child)
		return;
	if (write(orders[1], &c, 1) != 1 ||
	    read(answers[0], &n, sizeof n) != sizeof n)
		exit(99);
	victim_say("child_led", n);
}

int
main(int argc, char **argv)
{
	int status = 7 << 8;

	if (argc != 2)
		return 99;
	path = argv[1];
	victim_init();
	if (pipe(orders) < 0 || pipe(answers) < 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	close(orders[0]);
	close(orders[1]);
	if (child > 0 && waitpid(child, &status, 0) != child)
		return 99;
	return victim_end(status == 7 << 8);
}
