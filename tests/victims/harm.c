/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * harm: what a visit could make of calls that are right without it, or a
 * program of the visit. By the argument, at each mark:
 * accept: 100 peers with long names, into room for 8 bytes, the last there are;
 *   and wild pointers, to calls that do not look at them;
 * plugin PATH: 100 blocks by a plug-in with an allocator of its own, which has
 *   called the one function of it before, and the other one not yet;
 * scribble: a word into the records of its calls, which is no record.
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "victim.h"
#include "trace.h"

enum { TIMES = 100, PAGE = 4096, ROOM = 8 };

static int listener;
static char *edge;
static struct sockaddr_un place = { .sun_family = AF_UNIX };

static void *(*plugin_get)(void);
static int (*plugin_put)(void *);

static bool is_right = true;
static const char *what = "";

/* ---- accept -------------------------------------------------------------- */

static socklen_t
abstract(struct sockaddr_un *at, char letter)
{
	memset(at->sun_path + 1, letter, sizeof at->sun_path - 1);
	memcpy(at->sun_path + 1, &(pid_t){ getpid() }, sizeof(pid_t));
	return sizeof *at;
}

static void
begin_accept(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) < 0 ||
	    bind(listener, (struct sockaddr *)&place,
		 abstract(&place, 'l')) < 0 || listen(listener, 1) < 0)
		exit(99);
	edge = pages + PAGE - ROOM;
}

static void
accept_one(void)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };
	const int peer = socket(AF_UNIX, SOCK_STREAM, 0);
	const socklen_t length = abstract(&own, 'p');
	socklen_t n = ROOM;
	int fd;

	if (bind(peer, (struct sockaddr *)&own, length) < 0 ||
	    connect(peer, (struct sockaddr *)&place, sizeof place) < 0)
		exit(99);
	fd = accept(listener, (struct sockaddr *)edge, &n);
	is_right &= fd >= 0 && n == length;
	close(fd);
	close(peer);
}

static FILE *volatile wild_stream = (FILE *)8;
static socklen_t *volatile wild_length = (socklen_t *)8;

/* The length of its room, by such a pointer, and streams of which nothing is
 * wanted. */
static void
say_nothing(void)
{
	struct sockaddr_un from;
	char text[ROOM] = "";
	volatile size_t none = 0;

	is_right &= accept(-1, (struct sockaddr *)&from, wild_length) < 0 &&
		errno == EBADF;
	is_right &= accept4(-1, (struct sockaddr *)&from, wild_length, 0) < 0;
	is_right &= fread(text, 1, none, wild_stream) == 0;
	is_right &= fwrite(text, 1, none, wild_stream) == 0;
	is_right &= fgets(text, (int)none + 1, wild_stream) == text;
}

/* ---- a plug-in ----------------------------------------------------------- */

static void
begin_plugin(const char *path)
{
	void *at = dlopen(path, RTLD_LAZY | RTLD_DEEPBIND);

	if (!at) {
		fprintf(stderr, "harm: %s\n", dlerror());
		exit(99);
	}
	plugin_get = (void *(*)(void))dlsym(at, "plugin_get");
	plugin_put = (int (*)(void *))dlsym(at, "plugin_put");
	is_right &= plugin_put(NULL) == 0;
}

/* ---- its records --------------------------------------------------------- */

static void
scribble_in(struct trace_area *a)
{
	const struct trace_chunk *chunks = (struct trace_chunk *)
		((char *)a + a->chunks_at);

	for (uint32_t i = 0; i < a->chunks; i++) {
		uint64_t *word = (uint64_t *)((char *)a + a->data_at +
					      i * TRACE_CHUNK_BYTES);

		if ((chunks[i].state & 3) != TRACE_OPEN)
			continue;
		while (*word)
			word += (uint16_t)(*word >> 8);
		*word = UINT64_C(1) << 32;
		victim_say("scribbled", 1);
	}
}

static void
scribble(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	void *area = NULL;

	free(malloc(1));
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "sonde-traces"))
			area = (void *)strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	if (area)
		scribble_in(area);
}

/* ---- marks --------------------------------------------------------------- */

static void
mark(void)
{
	for (int i = 0; i < TIMES; i++) {
		free(malloc(1));
		if (*what == 'a') {
			accept_one();
			say_nothing();
		}
		if (*what == 'p')
			is_right &= plugin_put(plugin_get()) == 0;
	}
	if (*what == 's')
		scribble();
	victim_say("right", is_right);
}

int
main(int argc, char **argv)
{
	what = argc > 1 ? argv[1] : "";
	victim_init();
	if (*what == 'a')
		begin_accept();
	if (*what == 'p' && argc > 2)
		begin_plugin(argv[2]);
	victim_ready();
	victim_serve(mark);
	return victim_end(is_right);
}
