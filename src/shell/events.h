/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that is stopped somewhere: handlers of events, breakpoints, where
 * a thread stands, where a step ends.
 */
#ifndef SONDE_SHELL_EVENTS_H
#define SONDE_SHELL_EVENTS_H

#include "debug.h"
#include "private.h"

enum event_kind { EVENT_TIMER, EVENT_PLACE, EVENT_RETURNS, EVENT_EXIT,
		  EVENT_STOPS, EVENT_FAULT,
		  EVENT_ATTACH, EVENT_DETACH, EVENT_DLOPEN, EVENT_DLCLOSE,
		  EVENT_CHANGE, EVENT_ACCESS, EVENT_SIG, EVENT_LEVEL,
		  EVENT_THR_CREATE, EVENT_THR_EXIT, EVENT_SYSIN, EVENT_SYSOUT,
		  EVENT_PROG_NEW, EVENT_DIES, EVENT_SYNC, EVENT_SYNCRTLD,
		  EVENT_GONE };
enum handler_does { DOES_STOP, DOES_RUN, DOES_TRACE };

struct level {			/* cpu > N for SECONDS, rss > SIZE */
	bool is_cpu, passed;
	uint64_t limit, span_ns;
	struct level_seen {
		uint64_t at, cpu;
	} *seen;		/* the span, a second apart */
	size_t len, cap;
};

struct handler {		/* stop, when, trace */
	int number;
	enum event_kind kind;
	enum handler_does does;
	bool once;		/* -temp */
	bool hidden, perm;	/* from status; from delete all */
	bool alone;		/* -resumeone: functions of its condition */
	bool may_trap;		/* -trap */
	bool disabled;
	long long count, hits;	/* only each count-th hit counts; 0: each */
	bool filtered;		/* hits are judged, and counted, elsewhere */
	bool no_filter;		/* that was tried */
	uint64_t sites[SESSION_SITES];	/* then: where it returns to, as seen
					 * lately; a breakpoint is at each */
	size_t sites_len;
	pid_t thread;		/* of this one only; 0: of any */
	char *condition;	/* -if; NULL: none */
	char *within;		/* -in: a function that is on the stack */
	char *code;		/* of its signal; NULL: any */
	char *what;		/* as typed, for `status` */
	char *body;		/* of when */
	char *file;		/* where that stands; NULL: in none */
	int line;
	uint64_t period_ns, due_ns;	/* timer */
	struct level level;
	uint64_t longer_ns;	/* returns: of calls that lasted so; 0: any */
	uint64_t shortest_ns, calls;	/* ... of those that were seen */
	char *place;		/* FUNCTION, [FILE:]LINE, &ADDRESS; LIB; data */
	bool at_line;		/* it is no function */
	bool of_name;		/* ... but all functions of that name */
	bool of_file;		/* ... or of that source file */
	uint64_t *spots;	/* where that is; none: it waits for a process */
	size_t spots_len, spots_cap;
	bool reads;		/* of data, not writes alone */
	struct data *data;	/* where it is watched; NULL */
	bool late;		/* its object was not loaded: it is pending, or
				 * was, and can be again */
	char *object;		/* then: where it was found; NULL */
	struct vec searched;	/* ... and struct symfile *: where not */
	struct pending {	/* functions that are to return */
		pid_t tid;
		uint64_t address, least_sp, since_ns;
		bool late;	/* longer.c */
	} *pending;
	size_t pending_len, pending_cap;
};

/* ---- place.c: where a thread stands -------------------------------------- */

struct place {
	pid_t tid;
	uint64_t pc, sp, behind_call;	/* as of session_step */
	struct live_place at;		/* of pc; sf NULL: no file */
	const char *linkage;		/* of the function; NULL unknown */
	uint64_t function_start;
	bool is_plt;
	const char *file;		/* of the line; NULL: there is none */
	int line;
	uint64_t row_start, row_end;	/* of code that is of that line */
};
/* Views into what the shell has of the target. -1: it runs, or has ended. */
int place_now(struct shell *sh, pid_t tid, struct place *p);
void place_at(struct shell *sh, pid_t tid, const struct session_step *at,
		   struct place *p);
void place_print(struct shell *sh, const struct place *p);
/* Of a function that begins there: where its arguments can be looked at. */
uint64_t place_behind_prologue(struct shell *sh, uint64_t addr);
char *place_function(const struct place *p);	/* for people; caller frees */
/* The text of a line; NULL: it cannot be read. The caller frees it. */
char *source_line(const char *path, int line);
void source_print(const char *path, int line, FILE *out);
/* The path of a source that was compiled, by its end; else the name itself. The
 * caller frees it. cmd_names.c */
char *source_named(struct shell *sh, const char *name);
/* list, and lines without a file, are of that place from now on. */
void list_around(struct shell *sh, const char *file, int line);
/* The source that lines without a file are of; NULL: none is known. */
const char *list_file(struct shell *sh);
/* The thread that commands are about. */
pid_t thread_now(const struct shell *sh);
/* A thread by its tid: 4711, t@4711, l@4711. cmd_where.c */
bool thread_word(const char *word, long long *tid);
/* t@TID: it is that from now on. -1: there is none. */
int thread_choose(struct shell *sh, const char *word);
/* It goes on at [FILE:]LINE of its function. */
int place_jump(struct shell *sh, const char *line);

/* ---- debuggee.c: what debug information says of the thread --------------- */

/* Of the thread that commands are about, as it is now; its frame stays selected
 * while it does not move. NULL: there is no process. */
struct debug *debuggee_now(struct shell *sh);
/* Leave the n innermost functions of the thread. */
int debuggee_pop(struct shell *sh, size_t n);
void debuggee_free(struct shell *sh);
/* Is that function on the stack? */
bool debuggee_is_in(struct debug *d, const char *function);

/* Of a process or a core file; NULL: there is none. Takes out, and prints what
 * it has. cmd_data.c */
struct debug *need_debug(struct shell *sh, const char *command);
/* That the command needs one, and what to do. shell.c */
int fail_no_process(const struct shell *sh, const char *command);
enum result say(struct shell *sh, struct str *out, int r);
/* Expressions of display, at a stop. */
void displays_show(struct shell *sh);		/* cmd_data.c */
/* ---- post_mortem.c: core files ------------------------------------------- */

bool core_is_one(const char *path);
/* program NULL: the core says which. -1: it cannot be read. */
int post_mortem_begin(struct shell *sh, const char *path, const char *program);
void post_mortem_end(struct shell *sh);
enum result post_mortem_frame(struct shell *sh);
bool post_mortem_has(struct shell *sh, long long tid);
/* tid 0: of all threads; count 0: all frames. */
enum result post_mortem_where(struct shell *sh, long long tid, long long first,
			      long long count);
enum result post_mortem_threads(struct shell *sh);
/* 0: the one that commands are about. */
enum result post_mortem_thread(struct shell *sh, long long tid);

/* ---- until.c: a breakpoint for one thread, once -------------------------- */

/* It is met by that thread with that sp, or one that is not below; or where
 * that thread comes to in such a frame by an exception or a jump. One at a
 * time. */
enum until_sp { UNTIL_SAME_SP, UNTIL_LEAST_SP };
int until_begin(struct shell *sh, uint64_t addr, pid_t tid, uint64_t sp,
		enum until_sp which);
/* Of a hit: has that one been reached? */
bool until_takes(struct shell *sh, uint64_t addr, pid_t tid);
/* Of the end of a thread: was it that one? */
bool until_thread_ends(struct shell *sh, pid_t tid);
enum until_over { UNTIL_NOT_REACHED, UNTIL_REACHED, UNTIL_LANDED,
		  UNTIL_THREAD_ENDED };
enum until_over until_end(struct shell *sh);
/* The tracer reports a hit of the step's i-th breakpoint only where the
 * condition holds. No change where another event waits at that address. */
void until_filter(struct shell *sh, size_t i, uint64_t address,
		  const struct condition *c);
void until_unfilter(struct shell *sh, uint64_t address);
/* Where the function of a thread returns to; where its sp is then, 0: not
 * known. */
int frame_return(struct shell *sh, pid_t tid, uint64_t *addr);
uint64_t frame_return_sp(struct shell *sh, pid_t tid);

/* ---- landing.c: ways out of a function that are no return ---------------- */

void landings_begin(struct shell *sh);
void landings_end(struct shell *sh, const struct until *u);
/* The thread of the step is at that breakpoint: is it such a way? */
void landing_follow(struct shell *sh, uint64_t address);

/* ---- spots.c: the session's breakpoints, shared by who wants one at an address  */

/* -1: there can be none. */
int spot_take(struct shell *sh, uint64_t address, bool may_trap);
void spot_drop(struct shell *sh, uint64_t address);
/* false: none of ours. */
bool spot_address(const struct shell *sh, int breakpoint, uint64_t *address);
/* -1: it is none. */
int spot_number(const struct shell *sh, uint64_t address);
/* The process is gone, and all of them with it. */
void spots_forget(struct shell *sh);

/* How many wait there. */
unsigned spot_users(const struct shell *sh, uint64_t address);
/* One that is there gets one user more, by whom no filter there is ended. */
void spot_share(struct shell *sh, uint64_t address);
/* ---- filters.c: hits that need not come to us ---------------------------- */

/* A thread stands where handlers wait, and has been served: from now on their
 * hits are judged there, where they can be. */
void filters_begin_at(struct shell *sh, uint64_t address, pid_t tid);
/* h->hits is what it is now; and no more hits are judged elsewhere. */
void filter_look(struct shell *sh, struct handler *h);
void filter_end(struct shell *sh, struct handler *h);
/* The same when its breakpoints are gone. */
void filter_forget(struct shell *sh, struct handler *h);
/* Of whoever has one there. */
void filters_end_at(struct shell *sh, uint64_t address);
bool filter_is_at(const struct handler *h, uint64_t address);

/* ---- deeds.c: bodies that only drive the recording ----------------------- */

/* How many they are; 0: there is something else in it. */
unsigned deeds_of(const struct shell *sh, const char *body,
		  struct session_deed *deeds);
/* A handler has done its own so many times. */
void deeds_told(struct shell *sh, int number, uint64_t times);
/* What was done until now is told now. */
void deeds_settle(struct shell *sh);

/* ---- loads.c: dlopen, dlclose, and handlers whose object is not loaded yet  */

/* From now on know what is loaded. -1: it cannot be had, and why. */
int loads_watch(struct shell *sh);
/* No more, if no handler wants to know. */
void loads_review(struct shell *sh);
void loads_forget(struct shell *sh);
/* A thread has met a breakpoint: if it is the loader's, place what is pending,
 * and tell. true: the wait is over. */
bool loads_meet(struct shell *sh, uint64_t address, pid_t tid);
/* $dllist, $dlobj; NULL: none of them, or unset. */
const char *loads_variable(const struct shell *sh, const char *name);

/* ---- signals.c: what a thread is about to get ---------------------------- */

/* By name or number; -1: none. */
int signal_number(const char *word);
/* -1: a handler cannot wait for it, and why. */
int signal_check(const char *command, const char *word);
/* Handlers came or went: the session asks for their signals. */
int signals_review(struct shell *sh);
/* true: the wait is over. */
bool signals_meet(struct shell *sh, const struct session_event *ev);
/* $sig, $sigstr, $sigcode, $sigaddr; NULL: none of them, or unset. */
const char *signals_variable(struct shell *sh, const char *name);

/* ---- faults.c: why a thread gets a signal -------------------------------- */

/* The signals of a fault by its name, as bits; 0: it is none. */
uint64_t fault_signals(const char *name);
bool fault_is(const char *name, int signal, int code);
/* -1: a handler cannot wait for it, and why. */
int fault_check(const char *command, const char *name);
/* The code of a signal, by name or number. */
bool signal_code(const char *word, int signal, int *code);
int signal_code_check(const char *command, const char *signal,
		      const char *word);

/* ---- event_variables.c: $firedhandlers, $func, ... ----------------------- */

/* NULL: none of them, or unset. */
const char *event_variable(struct shell *sh, const char *name);

/* ---- wanted.c: threads that begin and end, system calls ------------------ */

/* Handlers came or went: the session is asked for what they wait for. */
int wants_review(struct shell *sh);
bool wants_any(const struct shell *sh);
/* true: the wait is over. */
bool wants_meet(struct shell *sh, const struct session_event *ev);
/* By name or number; -1: none. */
long call_number(const char *word);
int call_check(const char *command, const char *word);
/* $sysname, $syscode, $sysresult; NULL: none of them, or unset. */
const char *wants_variable(struct shell *sh, const char *name);

/* ---- data.c: data that is watched ---------------------------------------- */

/* -1: it cannot be, and why. */
int data_place(struct shell *sh, struct handler *h);
void data_unplace(struct shell *sh, struct handler *h);
void data_free(struct data *d);
/* A thread has touched some: false, it was not this. over: the wait is. */
bool data_meet(struct shell *sh, int breakpoint, pid_t tid, bool *over);
/* A thread has met a breakpoint: what lay in a frame that has returned is
 * watched no more. true: the wait is over. */
bool data_returned(struct shell *sh, uint64_t address, pid_t tid);
/* A thread has been stepped: what it has changed is told now. true: as above. */
bool data_stepped(struct shell *sh, pid_t tid);
void data_forget(struct shell *sh);

/* ---- levels.c: cpu and rss ----------------------------------------------- */

struct level_words {
	const char *name, *limit, *span;	/* span NULL: none */
};
int level_parse(const struct level_words *w, struct level *out);
/* Once in a second: has one been passed? true: the wait is over. */
bool levels_look(struct shell *sh);
/* Another process: nothing is known of it. */
void levels_reset(struct shell *sh);

/* ---- longer.c: calls that last ------------------------------------------- */

/* A call has ended that took so long: is it told? True of any handler that does
 * not ask for that. Our two stops are measured along: the shortest call says
 * what they cost at most. */
bool longer_lasted(struct shell *sh, struct handler *h, uint64_t ns);
/* The thread enters the function: was an earlier call late, and left by a jump?
 * Those that were are forgotten. */
bool longer_entered(struct shell *sh, struct handler *h, pid_t tid,
		    uint64_t sp);
/* Which have become late, and when the next one would; UINT64_MAX: none. */
void longer_look(struct shell *sh);
uint64_t longer_due(const struct shell *sh);
/* A thread ends, or all of them (0): what it was in is told. true: the wait is
 * over. */
bool longer_ended(struct shell *sh, pid_t tid);

/* ---- event_place.c: where handlers wait ---------------------------------- */

/* The addresses of h->place in the process there is. -1: there is none. */
int event_find(struct shell *sh, struct handler *h);
/* A line without a file becomes one of list_file, if that is known. */
void event_pin(struct shell *sh, struct handler *h);

/* ---- events.c, handlers.c: stop, when, trace, delete --------------------- */

/* "stop sig USR1" in words. */
enum result event_add(struct shell *sh, size_t n, char **words);
struct handler *handler_add(struct shell *sh, enum event_kind kind,
			    enum handler_does does);
/* Is there one that is not disabled? */
bool handlers_want(const struct shell *sh, enum event_kind kind);
struct handler *handler_numbered(struct shell *sh, long long number);
void handler_remove(struct shell *sh, struct handler *h);
void handler_free(struct handler *h);
/* Into the process there is; without one it waits. -1: it cannot be. */
int handler_place(struct shell *sh, struct handler *h);
void handler_unplace(struct shell *sh, struct handler *h);
/* The same in all processes under the prompt. */
int handler_place_all(struct shell *sh, struct handler *h);
void handler_unplace_all(struct shell *sh, struct handler *h);
void handlers_drop_breakpoints(struct shell *sh);
/* Insert the breakpoints of handlers into a new process. -1: one could not
 * be; the others are. */
int handlers_place(struct shell *sh);
/* Is this hit one that counts? tid 0: no thread's. */
bool handler_counts(struct shell *sh, struct handler *h, pid_t tid);
/* Run what a handler says; true: the wait is over. */
bool handler_fire(struct shell *sh, struct handler *h);
/* Of a thread; it may be said that the wait is over. false: and another process
 * is there now, or none. */
bool handler_fire_of(struct shell *sh, struct handler *h, pid_t tid,
		     bool *over);
/* A thread has met a breakpoint: whoever waits there. true: as above. */
bool handlers_meet(struct shell *sh, int breakpoint, pid_t tid);
/* Something has happened to the process. true: as above. */
bool handlers_hear(struct shell *sh, enum event_kind kind);

#endif
