/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sonde dump: the stacks of all threads of a process and what each waits for,
 * as text or as JSON, whose fields the manual page tells: they are a promise.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FORMAT_VERSION = 1 };

/* ---- what a thread waits for -------------------------------------------- */

static const char *
kind_word(enum wait_kind kind)
{
	static const char *const words[] = {
		[WAIT_NONE] = "none", [WAIT_CALL] = "call",
		[WAIT_FUTEX] = "futex", [WAIT_FILES] = "files",
		[WAIT_CHILD] = "child", [WAIT_TIME] = "time",
		[WAIT_SIGNAL] = "signal", [WAIT_FILE_LOCK] = "file lock",
		[WAIT_STOPPED] = "stopped", [WAIT_KERNEL] = "kernel",
		[WAIT_IPC] = "ipc",
	};

	return words[kind];
}

static void
put_call(struct json *j, const struct wait *w)
{
	json_text(j, "call", w->call < 0 ? NULL : wait_call_name(w->call));
	if (w->call < 0)
		return;
	json_number(j, "number", w->call);
	json_begin(j, "args", '[');
	for (size_t i = 0; i < ARRAY_LEN(w->args); i++)
		json_address(j, NULL, w->args[i]);
	json_end(j, ']');
}

static void
put_lock(struct json *j, struct why *y, const struct wait *w)
{
	json_begin(j, "lock", '{');
	json_text(j, "kind", lock_kind_name(w->lock));
	json_address(j, "address", w->address);
	json_address(j, "word", w->word);
	json_unsigned(j, "value", w->value);
	if (w->owner) {
		json_number(j, "owner", w->owner);
		json_text(j, "owner_name", why_name(y, w->owner_pid, w->owner));
		json_number(j, "owner_pid", w->owner_pid);
		json_bool(j, "owner_ended", w->owner_ended);
	}
	if (w->lock == LOCK_RWLOCK)
		json_unsigned(j, "readers", w->readers);
	json_end(j, '}');
}

static void
put_words(struct json *j, const struct wait *w)
{
	json_begin(j, "words", '[');
	for (size_t i = 0; i < w->word_count; i++) {
		json_begin(j, NULL, '{');
		json_address(j, "word", w->words[i].address);
		json_unsigned(j, "value", w->words[i].value);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void
put_files(struct json *j, const struct wait *w)
{
	if (w->epoll)
		json_number(j, "epoll", (int)w->args[0]);
	json_begin(j, "files", '[');
	for (size_t i = 0; i < w->file_count; i++) {
		const struct wait_file *f = &w->files[i];

		json_begin(j, NULL, '{');
		json_number(j, "fd", f->fd);
		json_text(j, "what", f->what);
		json_bool(j, "reads", f->reads);
		json_bool(j, "writes", f->writes);
		json_begin(j, "peers", '[');
		for (size_t k = 0; k < f->peer_count; k++) {
			json_begin(j, NULL, '{');
			json_number(j, "pid", f->peers[k].pid);
			json_number(j, "fd", f->peers[k].fd);
			json_end(j, '}');
		}
		json_end(j, ']');
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void
put_wait(struct json *j, struct scene *l, const struct session_stack *st)
{
	struct wait w;

	if (!scene_wait(l, st, &w)) {
		json_text(j, "wait", NULL);
		return;
	}

	char *text = why_text(l->why, &w);

	json_begin(j, "wait", '{');
	json_text(j, "kind", kind_word(w.kind));
	json_text(j, "text", text);
	json_bool(j, "changed", w.past && w.turns);
	put_call(j, &w);
	json_bool(j, "timed", w.timed);
	if (w.timed && w.timeout_ns >= 0)
		json_number(j, "timeout_ns", w.timeout_ns);
	if (w.kind == WAIT_FUTEX)
		put_lock(j, l->why, &w);
	if (w.word_count)
		put_words(j, &w);
	if (w.kind == WAIT_FILES || w.kind == WAIT_FILE_LOCK)
		put_files(j, &w);
	if (w.kind == WAIT_IPC) {
		json_begin(j, "ipc", '{');
		json_text(j, "kind", ipc_kind_name(&w));
		json_number(j, "id", (int)w.args[0]);
		json_end(j, '}');
	}
	if (w.holder)
		json_number(j, "holder", w.holder);
	if (w.kind == WAIT_CHILD) {
		json_begin(j, "children", '[');
		for (size_t i = 0; i < w.child_count; i++)
			json_number(j, NULL, w.children[i]);
		json_end(j, ']');
	}
	json_end(j, '}');
	free(text);
	wait_fini(&w);
}

/* ---- threads and frames ------------------------------------------------- */

static void
put_frame(struct json *j, uint64_t pc, const struct frame *f)
{
	json_begin(j, NULL, '{');
	json_address(j, "pc", pc);
	json_text(j, "function", f->function);
	json_bool(j, "inlined", f->inlined);
	if (f->function && !f->inlined)
		json_unsigned(j, "offset", f->offset);
	json_text(j, "object", f->object);
	if (f->object)
		json_address(j, "object_address", f->object_address);
	json_text(j, "file", f->file);
	if (f->file)
		json_number(j, "line", f->line);
	json_end(j, '}');
}

static void
put_thread(struct json *j, struct scene *l, const struct session_stack *st)
{
	const char state[2] = { st->state, '\0' };

	json_begin(j, NULL, '{');
	json_number(j, "tid", st->tid);
	json_text(j, "name", st->name);
	json_text(j, "state", state);
	json_unsigned(j, "cpu_ns", st->cpu_ns);
	put_wait(j, l, st);
	json_bool(j, "complete", st->complete);
	json_begin(j, "frames", '[');
	for (size_t i = 0; i < st->len; i++) {
		const struct frame_list *at = frames_at(l->frames,
							st->pcs[i]);

		for (size_t k = 0; k < at->len; k++)
			put_frame(j, st->pcs[i], &at->items[k]);
	}
	json_end(j, ']');
	json_end(j, '}');
}

static void
print_json(struct scene *l, enum session_look how, time_t when, FILE *out)
{
	struct json j = { .out = out };
	struct tm tm;
	char text[32] = "";

	if (gmtime_r(&when, &tm))
		(void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_begin(&j, NULL, '{');
	json_text(&j, "format", "sonde-dump");
	json_number(&j, "version", FORMAT_VERSION);
	json_number(&j, "pid", session_pid(l->session));
	json_text(&j, "program", session_name(l->session));
	json_text(&j, "time", text);
	json_bool(&j, "consistent", how == LOOK_AT_ONE_MOMENT);
	json_unsigned(&j, "look_ns", l->look_ns);
	json_unsigned(&j, "stood_ns", l->stacks.pause_ns);
	json_unsigned(&j, "ran_stood_ns", l->stacks.run_pause_ns);
	json_begin(&j, "threads", '[');
	for (size_t i = 0; i < l->stacks.len; i++)
		put_thread(&j, l, &l->stacks.items[i]);
	json_end(&j, ']');
	json_end(&j, '}');
}

/* ---- the verb ----------------------------------------------------------- */

struct dump_options {
	const char *pid;
	bool json;
	enum session_look how;
};

static int
parse(struct dump_options *o, int argc, char **argv)
{
	*o = (struct dump_options){ .how = LOOK_GENTLY };
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (strcmp(word, "--json") == 0 || strcmp(word, "-json") == 0)
			o->json = true;
		else if (strcmp(word, "-consistent") == 0 ||
			 strcmp(word, "--consistent") == 0)
			o->how = LOOK_AT_ONE_MOMENT;
		else if ((strcmp(word, "-p") == 0 ||
			  strcmp(word, "--pid") == 0) && i + 1 < argc)
			o->pid = argv[++i];
		else if (str_starts(word, "--pid=") && word[6])
			o->pid = word + 6;
		else if (str_starts(word, "-p") && word[2])
			o->pid = word + 2;
		else
			return fail(FAIL_USAGE, "dump: give -p PID, not "
				    "'%s'", word);
	}
	return o->pid ? 0 : fail(FAIL_USAGE, "dump: give -p PID");
}

/* What needs no trace here is not another engine, but a look. */
static void
advise_look(void)
{
	char *remedy = xstrdup(fail_last()->remedy);
	char *ring = strstr(remedy, "--engine ring");

	if (ring) {
		*ring = '\0';
		fail_remedy("%swithout -consistent, which needs no ptrace",
			    remedy);
	}
	free(remedy);
}

int
verb_dump(struct shell *sh, int argc, char **argv)
{
	struct dump_options o;
	struct scene l;

	if (parse(&o, argc, argv) < 0) {
		fail_remedy("sonde dump -p 4711");
		return verb_failed(sh);
	}
	sh->quiet = true;
	if (target_attach(sh, o.pid, false) < 0 ||
	    scene_take(sh, 0, o.how, &l) < 0) {
		fail_in("dump");
		if (o.how == LOOK_AT_ONE_MOMENT)
			advise_look();
		return verb_failed(sh);
	}
	if (o.json)
		print_json(&l, o.how, time(NULL), sh->out);
	else
		scene_print(&l, sh->out);
	scene_fini(&l);
	return target_end_session(sh) == DONE ? 0 : verb_failed(sh);
}
