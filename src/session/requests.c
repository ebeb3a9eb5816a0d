/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the shell, or `sonde stop`, may ask of the tracer process: one handler
 * per kind of request, each answers or fails. Here: what is recorded, and what
 * is to be seen of the target; the rest is in requests_target.c.
 */
#include "look_back.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- collecting --------------------------------------------------------- */

/* Is anybody of it still ours to trace? */
static enum look_back_when
look_now(const struct tracer *tr)
{
	return target_held(tr->target) || tr->trap_count ? LOOK_HELD :
		LOOK_RELEASED;
}

void
tracer_close_collection(struct tracer *tr, const char *how, const char *look)
{
	tracer_close_listener(tr);
	free(tr->last_receipt);

	bool partial;

	tr->last_receipt = collection_close(tr->col, how, look, &partial);
	tr->partial |= partial;
	tr->col = NULL;
}

void
tracer_end_collection(struct tracer *tr, const char *how)
{
	char *look;

	if (!tr->col)
		return;
	collection_stop(tr->col);
	look_back_part(tr->look);
	look = look_back_text(tr->look, look_now(tr));
	tracer_close_collection(tr, how, look);
	free(look);
}

const char *
tracer_receipt(const struct tracer *tr)
{
	return tr->last_receipt ? tr->last_receipt : "";
}

int
tracer_need_target(struct tracer *tr)
{
	if (!tr->target)
		return fail(FAIL_USAGE, "no target");
	if (target_gone(tr->target))
		return fail(FAIL_ENDED, "process %d %s",
			    target_pid(tr->target),
			    target_how_ended(tr->target));
	return 0;
}

int
tracer_need_collection(struct tracer *tr)
{
	if (!tr->col)
		return fail(FAIL_USAGE, "no experiment is being recorded");
	return 0;
}

static int
do_enable(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	struct settings s = {0};

	wire_take_settings(in, &s);
	if (tracer_need_target(tr) < 0 || tracer_need_started(tr) < 0)
		goto failed;
	if (tr->col) {
		fail(FAIL_USAGE, "experiment %s is active",
		     collection_path(tr->col));
		goto failed;
	}
	tr->col = collection_start(tr->target, &s, !tr->launched ? ATTACHED :
				   tr->at_start ? AT_START : LAUNCHED,
				   tr->look);
	if (!tr->col)
		goto failed;
	tracer_open_listener(tr);
	wire_put_text(out, collection_path(tr->col));
	settings_fini(&s);
	return 0;
failed:
	settings_fini(&s);
	return -1;
}

static int
do_disable(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in;
	if (tracer_need_collection(tr) < 0)
		return -1;
	tracer_end_collection(tr, NULL);
	wire_put_text(out, tracer_receipt(tr));
	wire_put(out, tr->partial);
	return 0;
}

static int
do_pause(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in, (void)out;
	return tracer_need_collection(tr) < 0 ? -1 : collection_pause(tr->col, "API");
}

static int
do_resume(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in, (void)out;
	return tracer_need_collection(tr) < 0 ? -1 : collection_resume(tr->col);
}

static int
do_sample(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)out;
	return tracer_need_collection(tr) < 0 ? -1 :
		collection_sample(tr->col, wire_take_text(in));
}

static int
do_write_kept(struct tracer *tr, struct wire_message *in,
	      struct wire_message *out)
{
	char *path = tracer_need_collection(tr) < 0 ? NULL :
		collection_write(tr->col, wire_take_text(in));

	if (!path)
		return -1;
	wire_put_text(out, path);
	free(path);
	return 0;
}

static int
do_progress(struct tracer *tr, struct wire_message *in,
	    struct wire_message *out)
{
	struct session_progress p;

	(void)in;
	if (tracer_need_collection(tr) < 0)
		return -1;
	collection_progress(tr->col, &p);
	str_addn(&out->body, (const char *)&p, sizeof p);
	return 0;
}

/* ---- a look ------------------------------------------------------------- */

static int
do_where(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const enum session_look how = (enum session_look)wire_take(in);
	uint64_t pause_ns = 0;

	if (tracer_need_target(tr) < 0 ||
	    stacks_answer(tr->target, tid, how, out, &pause_ns) < 0)
		return -1;
	if (tr->col && pause_ns)
		collection_note_stop(tr->col, pause_ns);
	return 0;
}

static int
do_threads(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	pid_t *tids = NULL;
	size_t cap = 0;

	(void)in;
	if (tracer_need_target(tr) < 0)
		return -1;

	const ssize_t n = target_threads(tr->target, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		struct thread_facts f;

		if (target_thread_facts(tr->target, tids[i], &f) < 0)
			continue;	/* it ended meanwhile */
		wire_put(out, (uint64_t)tids[i]);
		wire_put(out, (uint64_t)f.state);
		wire_put_text(out, f.name);
		wire_put(out, f.cpu_ns);
	}
	free(tids);
	return n < 0 ? -1 : 0;
}

static int
do_maps(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in;
	if (tracer_need_target(tr) < 0)
		return -1;

	char *text = target_maps(tr->target);

	if (!text)
		return -1;
	wire_put_text(out, text);
	free(text);
	return 0;
}

static int
do_stop_recording(struct tracer *tr, struct wire_message *in,
		  struct wire_message *out)
{
	struct session_event ev = { .kind = SESSION_EVENT_MESSAGE };

	if (do_disable(tr, in, out) < 0)
		return -1;
	snprintf(ev.text, sizeof ev.text, "stopped from outside: %s",
		 tracer_receipt(tr));
	tracer_send_event(tr, &ev);
	if (tr->keep)
		tr->stopping = true;
	return 0;
}

/* ---- requests ----------------------------------------------------------- */

static const struct request_handler handlers[] = {
	{ WIRE_ENABLE, do_enable, false },
	{ WIRE_DISABLE, do_disable, false },
	{ WIRE_PAUSE, do_pause, false },
	{ WIRE_RESUME, do_resume, false },
	{ WIRE_SAMPLE, do_sample, false },
	{ WIRE_WRITE_KEPT, do_write_kept, false },
	{ WIRE_PROGRESS, do_progress, true },
	{ WIRE_WHERE, do_where, false },
	{ WIRE_THREADS, do_threads, false },
	{ WIRE_MAPS, do_maps, false },
	{ WIRE_STOP_RECORDING, do_stop_recording, true },
	{ 0 }
};

static const struct request_handler *
find_in(const struct request_handler *h, uint32_t kind, bool outside)
{
	for (; h->run; h++)
		if (h->kind == kind && (!outside || h->from_outside))
			return h;
	return NULL;
}

static const struct request_handler *
find_handler(uint32_t kind, bool outside)
{
	const struct request_handler *h = find_in(handlers, kind, outside);

	if (!h)
		h = find_in(target_requests, kind, outside);
	if (!h)
		h = find_in(event_requests, kind, outside);
	if (!h)
		h = find_in(debug_requests, kind, outside);
	if (!h)
		h = find_in(filter_requests, kind, outside);
	return h ? h : find_in(call_requests, kind, outside);
}

bool
tracer_shell_speaks(const struct tracer *tr)
{
	struct pollfd shell = { tr->shell, POLLIN, 0 };

	return poll(&shell, 1, 0) > 0;
}

/* Whoever says half a request would hold us and the target: those of outside
 * are short, and come whole. */
static bool
comes_whole(int fd)
{
	struct { uint32_t kind, last; } head;

	return recv(fd, &head, sizeof head, MSG_PEEK | MSG_DONTWAIT) ==
		(ssize_t)sizeof head && head.last;
}

bool
request_serve(struct tracer *tr, int fd, bool outside)
{
	struct wire_message in, out;

	if (outside && !comes_whole(fd))
		return false;
	if (wire_recv(fd, &in) != 1) {
		wire_fini(&in);
		return false;
	}

	if (in.kind == WIRE_CANCEL) {	/* it came too late */
		wire_fini(&in);
		return true;
	}

	const struct request_handler *h = find_handler(in.kind, outside);
	int result;

	wire_init(&out, WIRE_OK);
	if (h)
		result = h->run(tr, &in, &out);
	else
		result = fail(FAIL_USAGE, "request %u is not understood",
			      in.kind);
	if (result == 0 && in.broken)
		result = fail(FAIL_GENERAL, "a request was damaged");
	if (result < 0) {
		wire_fini(&out);
		wire_init(&out, WIRE_FAILED);
		wire_put_failure(&out);
	}
	if (!outside)
		deeds_tell(tr);	/* what is answered comes after it */
	result = wire_send(fd, &out);
	wire_fini(&in);
	wire_fini(&out);
	return result == 0;
}

