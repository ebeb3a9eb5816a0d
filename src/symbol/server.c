/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files from debuginfod: only where the user has set DEBUGINFOD_URLS, one
 * object at a time and when its names are first asked for. libdebuginfod does
 * the work and keeps its cache; it is loaded when there is something to ask.
 *
 * Nobody waits long for a server: when nothing has come for a while, when one
 * cannot be reached, or at Ctrl-C, the servers are given up, with one line that
 * says so. That they do not have a file is an answer.
 */
#include "symfile.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE_S = 10,	/* without DEBUGINFOD_TIMEOUT */
	BYTES_MIN = 4096,	/* libdebuginfod counts rounds before bytes */
};

struct debuginfod_client;

typedef int progress_fn(struct debuginfod_client *client, long at, long whole);
typedef int find_fn(struct debuginfod_client *client,
		    const unsigned char *build_id, int build_id_len,
		    char **path);

struct client {			/* of libdebuginfod */
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	void (*set_progress)(struct debuginfod_client *client,
			     progress_fn *progress);
	void (*set_user_data)(struct debuginfod_client *client, void *arg);
	void *(*get_user_data)(struct debuginfod_client *client);
	find_fn *find_debuginfo, *find_executable;
};

enum why { WHY_NONE, WHY_SILENT, WHY_SIGNAL };

struct symbol_server {
	symbol_server_tell *tell;
	void *arg;
	void *library;
	struct client call;
	struct debuginfod_client *client;
	char *trouble;		/* it is not asked any more */
	const char *shown;	/* what is being fetched */
	uint64_t since_ns;	/* the last news */
	long at;
	enum why why;
};

struct symbol_server *
symbol_server_new(symbol_server_tell *tell, void *arg)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!urls || !*urls)
		return NULL;

	struct symbol_server *s = xcalloc(1, sizeof *s);

	s->tell = tell;
	s->arg = arg;
	return s;
}

void
symbol_server_free(struct symbol_server *s)
{
	if (!s)
		return;
	if (s->client)
		s->call.end(s->client);
	if (s->library)
		(void)dlclose(s->library);
	free(s->trouble);
	free(s);
}

const char *
symbol_server_trouble(const struct symbol_server *s)
{
	return s->trouble;
}

/* ---- the library ---------------------------------------------------- */

/* ISO C has no way from an object's address to a function's. */
static bool
load_call(struct symbol_server *s, const char *name, void *call)
{
	void *address = dlsym(s->library, name);

	memcpy(call, &address, sizeof address);
	return address != NULL;
}

static bool
load_calls(struct symbol_server *s)
{
	struct client *c = &s->call;

	return load_call(s, "debuginfod_begin", &c->begin) &&
	       load_call(s, "debuginfod_end", &c->end) &&
	       load_call(s, "debuginfod_set_progressfn", &c->set_progress) &&
	       load_call(s, "debuginfod_set_user_data", &c->set_user_data) &&
	       load_call(s, "debuginfod_get_user_data", &c->get_user_data) &&
	       load_call(s, "debuginfod_find_debuginfo",
			 &c->find_debuginfo) &&
	       load_call(s, "debuginfod_find_executable",
			 &c->find_executable);
}

static bool
needs_to_stop(struct symbol_server *s)
{
	sigset_t pending, interrupt;
	const struct timespec now = {0};

	if (sigpending(&pending) < 0)
		return false;
	/* the others end us, once they are let through */
	if (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGHUP))
		return true;
	if (!sigismember(&pending, SIGINT))
		return false;
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	(void)sigtimedwait(&interrupt, NULL, &now);	/* it has served */
	s->why = WHY_SIGNAL;
	return true;
}

static uint64_t
patience_ns(void)
{
	const char *text = getenv("DEBUGINFOD_TIMEOUT");
	long long seconds;

	if (!text || !str_number(text, 1, 3600, &seconds))
		seconds = PATIENCE_S;
	return (uint64_t)seconds * 1000000000;
}

static void
tell_progress(struct symbol_server *s, long at, long whole)
{
	char *line = whole > 0 ?
		xasprintf("debuginfod: %s, %ld of %ld KB (Ctrl-C stops)",
			  s->shown, at >> 10, whole >> 10) :
		xasprintf("debuginfod: %s (Ctrl-C stops)", s->shown);

	s->tell(s->arg, str_tame(line));	/* it has the file's name */
	free(line);
}

/* In a callback there is nothing but the client: ask it who we are. The library
 * was opened for everybody (RTLD_GLOBAL). */
static struct symbol_server *
server_of(struct debuginfod_client *client)
{
	void *(*get)(struct debuginfod_client *client);
	void *address = dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");

	memcpy(&get, &address, sizeof get);
	return get(client);
}

/* Called once a second, more often while bytes come. */
static int
on_progress(struct debuginfod_client *client, long at, long whole)
{
	struct symbol_server *s = server_of(client);
	const bool bytes = whole > 0 || at >= BYTES_MIN;

	if (bytes && at != s->at) {
		s->at = at;
		s->since_ns = now_ns();
	}
	if (s->tell)
		tell_progress(s, at, whole);
	if (needs_to_stop(s))
		return 1;
	if (now_ns() - s->since_ns < patience_ns())
		return 0;
	s->why = WHY_SILENT;
	return 1;
}

/* Opens the library when it is needed first. */
static bool
ready(struct symbol_server *s)
{
	if (s->client)
		return true;
	/* what it loads for TLS was never meant to be unloaded */
	s->library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_GLOBAL |
			    RTLD_NODELETE);
	if (s->library && load_calls(s))
		s->client = s->call.begin();
	if (!s->client) {
		s->trouble = xstrdup("DEBUGINFOD_URLS is set, but there is no"
				     " libdebuginfod.so.1 to ask with: install"
				     " libdebuginfod1");
		return false;
	}
	s->call.set_user_data(s->client, s);
	s->call.set_progress(s->client, on_progress);
	return true;
}

/* ---- asking --------------------------------------------------------- */

static void
give_up(struct symbol_server *s, int error)
{
	static const char behind[] = "names and lines may be missing, and it"
		" is not asked again until an experiment is opened";

	/* it has a clock of its own */
	if (s->why == WHY_NONE && error == ETIME)
		s->why = WHY_SILENT;
	switch (s->why) {
	case WHY_SIGNAL:
		s->trouble = xasprintf("debuginfod: stopped by Ctrl-C; %s",
				       behind);
		return;
	case WHY_SILENT:
		s->trouble = xasprintf(
			"debuginfod: nothing came for %llu s; %s; check"
			" DEBUGINFOD_URLS, or give it longer:"
			" DEBUGINFOD_TIMEOUT=90",
			(unsigned long long)(patience_ns() / 1000000000),
			behind);
		return;
	default:
		s->trouble = xasprintf("debuginfod: %s; %s; check"
				       " DEBUGINFOD_URLS", strerror(error),
				       behind);
	}
}

static int
ask(struct symbol_server *s, find_fn *find, const char *build_id, char **path)
{
	sigset_t stops, before;

	/* they are looked at between two pieces of the file */
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	sigprocmask(SIG_BLOCK, &stops, &before);
	s->since_ns = now_ns();
	s->at = 0;
	s->why = WHY_NONE;

	/* length 0: it is text */
	const int fd = find(s->client, (const unsigned char *)build_id, 0,
			    path);

	if (s->tell)
		s->tell(s->arg, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

/*
 * libdebuginfod 0.188 notes a download that was stopped as a file that no
 * server has: an empty one in its cache, which counts for minutes.
 */
static void
forget_answer(const char *build_id, enum server_file file)
{
	static const struct {
		const char *variable, *behind;
	} places[] = {
		{ "DEBUGINFOD_CACHE_PATH", "" },
		{ "HOME", "/.debuginfod_client_cache" },
		{ "XDG_CACHE_HOME", "/debuginfod_client" },
		{ "HOME", "/.cache/debuginfod_client" },
	};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const char *dir = getenv(places[i].variable);
		struct stat st;

		if (!dir || !*dir)
			continue;

		char *path = xasprintf("%s%s/%s/%s", dir, places[i].behind,
				       build_id, file == SERVER_DEBUG ?
				       "debuginfo" : "executable");

		if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_size == 0)
			(void)unlink(path);	/* then it counts on */
		free(path);
	}
}

int
server_fetch(struct symbol_server *s, enum server_file file,
	     const char *build_id, const char *shown)
{
	char *path = NULL;

	if (!s || s->trouble || !str_is_build_id(build_id) ||
	    !ready(s))
		return -1;
	s->shown = strrchr(shown, '/') ? strrchr(shown, '/') + 1 : shown;

	const int fd = ask(s, file == SERVER_DEBUG ? s->call.find_debuginfo :
			   s->call.find_executable, build_id, &path);

	free(path);
	if (fd < 0 && s->why != WHY_NONE)
		forget_answer(build_id, file);
	/* when it was stopped it says that there is none, too */
	if (fd < 0 && (fd != -ENOENT || s->why != WHY_NONE))
		give_up(s, -fd);
	return fd < 0 ? -1 : fd;
}

char *
symbol_server_program(struct symbol_server *s, const char *build_id,
		      const char *shown, int *fd)
{
	*fd = server_fetch(s, SERVER_PROGRAM, build_id, shown);
	return *fd < 0 ? NULL : xasprintf("/proc/self/fd/%d", *fd);
}
