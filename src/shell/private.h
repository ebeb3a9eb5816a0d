/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shell's own structures. Keyboard, -c, files and the bodies of `when`
 * go through one loop (shell.c); a command is a row of a table; a verb of the
 * command line is a canned script over the same rows.
 */
#ifndef SONDE_SHELL_PRIVATE_H
#define SONDE_SHELL_PRIVATE_H

#include "base.h"
#include "session.h"
#include "symbol.h"
#include "view.h"
#include "why.h"
#include "words.h"

/* ---- status.c: exit statuses (peers.md d) -------------------------------- */

enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127,
       EXIT_OWN_FAILURE = 125 };
/* Of a kind of failure: 1 failure, 2 usage, 3 missing, 4 denied,
 * 5 unsuitable, 6 target ended early, 7 partial data. */
int status_of_failure(enum fail_kind kind);
/* Of a launched program's wait status: its own, 128 + n for a signal. */
int status_of_program(int wait_status);

/* ---- shell.c: the loop --------------------------------------------------- */

/* TOLD: failed, and whoever failed has been printed already. ANSWERED: done,
 * and sh->status says how; no failure. */
enum result { DONE, FAILED, USAGE, QUIT, TOLD, ANSWERED };

enum needs {
	NEEDS_NOTHING = 0,
	NEEDS_TARGET = 1,	/* a live target */
	NEEDS_STOPPED = 2,	/* ... which is held */
	NEEDS_EXPERIMENT = 4,	/* an experiment to look at */
	NEEDS_COLLECTING = 8,
	NEEDS_SEEN = 32,	/* a live target, or a core file */
	NEEDS_STANDING = 64,	/* ... one that is held, or a core file */
	OF_PROGRAM = 256,	/* or a program that does not run: unstarted.c */
	OR_EXPERIMENT = 512,	/* ... while no experiment is looked at */
	LETS_RUN = 128,		/* and where it stops is an event: when stop */
	REDIRECTS_ITSELF = 16,	/* > and < are not for our own output */
};

struct shell;

struct command {
	const char *name, *args, *help;
	unsigned needs;
	enum result (*run)(struct shell *sh, size_t n, char **words);
	const char *example;
};

struct family {
	const char *title;
	const struct command *commands;	/* ended by name NULL */
};
extern const struct family families[];		/* ended by title NULL */
extern const struct command target_commands[], look_commands[], thread_commands[],
	collector_commands[], collector_subcommands[], shell_commands[],
	event_commands[], signal_commands[], experiment_commands[], step_commands[],
	list_commands[], data_commands[], examine_commands[], name_commands[];

struct source {			/* where lines come from, for messages */
	const char *name;	/* NULL: the keyboard */
	int line;
	bool is_script;		/* quit ends it alone */
	bool is_over;		/* it has said so */
	bool is_body;		/* of a function or `when`, not of a file */
	int taken;		/* lines of it, by `read` */
	struct source *up;
};

struct params {			/* $1 ... of a function or a file */
	char **items;
	size_t n;
	const char *name;	/* $0 */
};

struct expansion {
	const char *name;
	const struct expansion *up;
};

/* What leads out of a function but a return: landing.c. */
enum { LANDINGS_MAX = 8 };
struct landings {
	uint64_t print;		/* of what was mapped when they were sought */
	bool guarded;		/* jmp_bufs are, as glibc does it */
	size_t len;
	struct landing {
		enum landing_how { BY_UNWINDER, BY_JUMP, BY_CONTEXT } how;
		uint64_t address;
		int cfa;	/* where an unwinder's context has it; -1 */
	} items[LANDINGS_MAX];
};

struct shell {
	struct session *session;
	struct settings settings;
	struct viewer *viewer;
	struct live *live;	/* names in the target; NULL none yet */
	uint64_t judged;	/* the hit that is met: session_event.hits */
	pid_t thread;		/* the one that stopped; 0: the first */
	bool place_told;	/* where it stands, since it last went on */
	uint64_t caught;	/* signals that the session tells of */
	int signal, signal_code;	/* the last of them */
	uint64_t signal_address;
	struct str fired;	/* handlers of the last event */
	bool at_exec;		/* nothing has run, not even its loader */
	bool booting;		/* nothing of the program has run */
	bool prog_new;		/* ... that another one has executed */
	struct session_wants wants;	/* what else it tells of */
	enum session_follow_mode follow;	/* dbxenv follow_fork_mode */
	long call;		/* the last system call; -1: none */
	long long call_result;
	bool call_returned;
	struct until {		/* where a step is to end: until.c */
		bool on, reached;
		bool landed;	/* ... where it was not called from */
		bool ended;	/* its thread has */
		bool same_sp;	/* with that sp; else with that one or above */
		pid_t tid;
		uint64_t address, sp;
		uint64_t landing;	/* where else it may come to; 0 */
		bool filtered[1 + LANDINGS_MAX];	/* see landing.c */
		bool watched[LANDINGS_MAX];
	} until;
	struct landings landings;
	bool call_alone;	/* other threads stand all the time */
	bool call_late;		/* it was stopped since it did not return */
	bool call_fresh;	/* on a thread of its own */
	bool call_waits;	/* an expression does, for its function */
	int call_ended;		/* by this signal, or 0 */
	struct vec suspended;	/* pid_t *: by alone_begin */
	struct vec hidden_threads;	/* pid_t *: from threads */
	struct vec displays;	/* expressions (char *) */
	uint64_t examine_next;	/* for x +; 0: nothing was looked at */
	struct core *core;	/* instead of a process; NULL: none */
	struct debuggee *debuggee;	/* NULL: none yet */
	struct vec spots;	/* struct spot: breakpoints of the session */
	struct vec processes;	/* struct process: others under the prompt */
	pid_t home;		/* the current one, while news of another are
				 * served; 0 */
	struct loads *loads;	/* what the loader has; NULL: not looked */
	char *list_file;	/* that list goes on in; NULL */
	int list_line, list_first;	/* next; the first that was listed */
	char *group;		/* of experiments to come (.erg), or NULL */
	bool autostart;		/* cont runs what does not run yet */
	bool anywhere;		/* root records where others may write */
	char *safe_path;	/* where ./.sonderc is obeyed: /DIR:/DIR */
	unsigned call_seconds;	/* that a called function may run */
	size_t frames_max;	/* of a stack that where prints; 0: all */
	bool armed;		/* collect from the next run on */
	bool armed_paused;	/* and begin with a pause */
	char **program;		/* name and arguments, NULL none */
	struct unstarted *unstarted;	/* what its file has; NULL: not read */
	char *in, *out_file;	/* redirections of the program, or NULL */
	bool append;
	FILE *out;		/* where output goes now: main_out or > file */
	FILE *main_out;		/* stdout, stderr, or an outfile */
	FILE *piped;		/* what a program of the system reads; NULL */
	FILE *read_from;	/* < of what runs; NULL: standard input */
	struct vec handlers;
	uint64_t levels_due_ns;	/* levels.c */
	unsigned waits;		/* for the process, within another: timers.c */
	uint64_t waited_until_ns;
	char level[32];		/* $level: that was passed */
	int next_handler;
	struct vec aliases;	/* name, text, name, text ... */
	const struct expansion *expanding;	/* aliases, innermost first */
	const struct words *line;	/* being run; NULL: not from text */
	struct source *source;
	struct vec variables;	/* name, value, name, value ... */
	struct vec functions;	/* struct function (script.h) */
	struct params *params;	/* NULL: there are none */
	struct str value;	/* of the variable that was asked for last */
	int status;		/* $?: 0, or of the failure */
	bool told;		/* why a value failed */
	bool mistake;		/* what failed is no answer to anything */
	int tested;		/* > 0: a failure is an answer (script.c) */
	int loops, calls, texts, values;	/* that are being run */
	struct leaving {	/* what break, continue, return leave */
		int breaks;
		bool continues, returns;
	} leaving;
	bool interactive, batch, echo, quiet, color;
	bool quitting, wait_over;
	bool body_failed;	/* a handler's, in a file */
	bool in_body;		/* a handler's body runs */
	bool in_verb;		/* of the command line */
	const struct view *shown;	/* last */
	const struct command *usage_of;	/* the subcommand that was wrong */
	bool own_group;		/* the program's: terminal.c */
	bool run_pty;		/* programs that we start have their own terminal */
	bool in_commands;	/* standard input is */
	struct pty *pty;	/* of the program, or NULL: pty.c */
	int exit_status;	/* of the last failure, or `quit n` */
	int program_status;	/* wait status of the last process; -1 */
	char *experiment;	/* recorded last */
	struct vec viewed;	/* paths that views look at (char *) */
};

void shell_init(struct shell *sh);
void shell_fini(struct shell *sh);
/* Run the commands in text. false: stop here (failure in a file, quit). */
bool shell_run_text(struct shell *sh, const char *text);
/* The same of a body that stands in that file (NULL: none) at that line. */
bool shell_run_body(struct shell *sh, const char *text, const char *file,
		    int line);
/* One command. */
enum result shell_run_words(struct shell *sh, const struct words *w);
/* 0, or -1 and why it is not well formed (script.c). */
int script_check(const char *text);
/* Is text the beginning of something? */
bool script_unfinished(const char *text);
/* Behind `if`, `then`, `do` ... a command begins. */
size_t script_skip_keywords(const char *text, size_t at);
void functions_free(struct shell *sh);
/* A word that may stand where typed begins. */
typedef void offer_fn(const char *word, const char *typed);
void functions_each(const struct shell *sh, offer_fn *visit,
		    const char *typed);
/* Of statements, and commands of the language; false: it is none of these. */
void help_language(FILE *out);
void builtins_each(offer_fn *offer, const char *typed);
bool help_word(FILE *out, const char *name);
/* The file that is read, whatever body runs; NULL: the keyboard. */
struct source *shell_file(const struct shell *sh);
/* Behind a failure: somebody may say what is to become of it. */
bool shell_goes_on(const struct shell *sh);
/* true: the failure, which is printed, does not end the text. */
bool shell_judge(struct shell *sh, enum result r);
/* A file, "-" is standard input. 0 or -1 with the failure recorded. */
bool shell_run_file(struct shell *sh, const char *path);
/* The same for `script`: its quit ends nothing else. */
bool shell_run_script(struct shell *sh, const char *path);
/* words[0] with $1 ... : the others; as `.` or as `script`. */
bool shell_run_with(struct shell *sh, size_t n, char **words, bool is_script);
/* The same of one that is open; it is closed. */
bool shell_run_open_file(struct shell *sh, FILE *file, const char *name);
void shell_interact(struct shell *sh);
/* What a word stands for where a command begins; NULL: itself. */
const char *shell_alias(const struct shell *sh, const char *name);
/* One command given as words. */
enum result shell_command(struct shell *sh, size_t n, char **words);
/* Print the recorded failure as `file:line: reason` and `  fix: remedy`. */
void shell_print_failure(struct shell *sh);
/* A note for the person: standard error, not in -q. */
void shell_note(struct shell *sh, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A setting that state forbids: a warning at a terminal, else a failure. */
enum result shell_ignored(struct shell *sh, const char *what);
/* The command of a (unique prefix of a) name; NULL: fail_last says why. */
const struct command *shell_find(const struct command *table, const char *name);
const struct command *shell_find_any(const char *name);
/* The same among those that fit, for whoever asks with a dash before names. */
struct command_search {
	bool (*fits)(const char *name);		/* NULL: all */
	const char *dash, *help;		/* before names; what lists them */
};
const struct command *shell_find_in(const struct command_search *in,
				    const char *name);
/* Of all names that are considered the one nearest to the word; NULL: none is
 * near. */
struct near {
	const char *name;
	size_t distance;
};
void near_consider(struct near *n, const char *word, const char *name);
const struct command *shell_view_commands(void);
void shell_print_usage(struct shell *sh, const struct command *c);
/* The pid of a word that is a pid or a name; -1: fail_last says why. */
pid_t target_find(const char *word);
/* The same among the subcommands of collector. */
const struct command *collector_find(const char *name);
/* settings_interval, and a word if the interval had to be raised. */
int shell_interval(struct shell *sh, const char *word);
/* ---- unstarted.c: the file of a program that does not run ---------------- */

/* For a command of such needs: it is sh->core until the end. false: there is
 * a process, or no program. */
bool unstarted_begin(struct shell *sh, unsigned needs);
void unstarted_end(struct shell *sh);
void unstarted_free(struct shell *sh);

void shell_set_program(struct shell *sh, size_t n, char *const *words);
/* Send output there from now on; takes the file, closes the last one. */
int shell_set_output(struct shell *sh, FILE *file);
/* What $name stands for; see words_vars. */
const char *shell_variable(void *sh, const char *name);

/* ---- wait.c: the target runs, we wait ------------------------------------ */

/* Set by SIGINT, SIGTERM, SIGHUP. Ctrl-C ends the command that waits, and the
 * commands behind it go on; where none waits, it ends the commands. */
extern volatile int wait_signal;
/* Has one come, by which the asking command ends? */
bool wait_was_interrupted(void);
/* Between two commands: has one come by which none of them ended? */
bool wait_interrupts_commands(void);
void wait_forget_interrupt(void);
void wait_catch_signals(void);
/* ... and where nothing is visited: they end us at once, as by default. */
void wait_end_by_signals(void);
/* Wait until the target stops, ends, a handler ends it, a signal comes or
 * deadline_ns (0: none) passes. progress: show a line on a terminal. */
enum result wait_for_target(struct shell *sh, uint64_t deadline_ns,
			    bool progress);
/* true: SIGTERM or SIGHUP has come; we are quitting. */
bool wait_end_by_signal(struct shell *sh);
/* Wait, for seconds at most, until a process that we killed is gone. */
void wait_for_end(struct shell *sh);
/* Its process goes on, if it is that still: a body may have put another one
 * into its place. true: the wait is over. */
bool wait_run_again(struct shell *sh, pid_t pid);
/* Take what has happened already; prints news; never blocks. */
void wait_poll(struct shell *sh);
/* Until fd has something to read, serving news and `when` meanwhile. false: a
 * signal for us came. */
bool wait_readable(struct shell *sh, int fd);
/* The same until a child of ours has ended; its wait status. A signal that ends
 * us is passed on to it; wait_end_by_signal is to be asked. */
void wait_for_child(struct shell *sh, pid_t pid, int *status);

/* ---- timers.c ------------------------------------------------------------ */

/* A new process: its timers begin anew. */
void timers_reset(struct shell *sh);
/* It is waited for, and no more: meanwhile they go on. */
void timers_begin(struct shell *sh);
void timers_end(struct shell *sh);
/* Those that handlers have set since. */
void timers_arm(struct shell *sh);
/* When the next one comes; UINT64_MAX: none. */
uint64_t timers_due(struct shell *sh);
/* Those that are due; true: a body ended the wait. */
bool timers_fire(struct shell *sh);

/* ---- successor.c: another program in the process ------------------------- */

/* true: the wait is over. It stands at its start; at its exec; where it has come
 * to from there; a child does, that is followed. */
bool program_new(struct shell *sh);
bool program_exec(struct shell *sh);
bool program_started(struct shell *sh);
bool program_followed(struct shell *sh, const struct session_event *ev);
/* ... and its parent stays under the prompt. */
bool program_both(struct shell *sh, const struct session_event *ev);

/* ---- processes.c: several under the prompt ------------------------------- */

enum { PROCESSES_MAX = 80 };	/* more than a tracer process has targets */

bool processes_others(const struct shell *sh);
bool process_is_ours(const struct shell *sh, pid_t pid);
/* Commands are about that one from now on. -1: it is not ours. */
int process_choose(struct shell *sh, pid_t pid);
/* A child that is ours, too, is current from now on; takes its session. */
void process_add(struct shell *sh, struct session *child);
/* There is no current one: another takes its place. false: there is none. */
bool processes_next(struct shell *sh);
/* If the current one has ended, and there is another: that, which is told. */
void processes_settle(struct shell *sh);
/* Each but the current one, while it is current. */
typedef void process_fn(struct shell *sh, void *arg);
void processes_each(struct shell *sh, process_fn *visit, void *arg);
/* A handler goes that is in none of them any more. */
void processes_forget(struct shell *sh, int number);
/* session_wait for any of them, and whose the event is. */
int processes_wait(struct shell *sh, int ms, struct session_event *ev,
		   struct session **whose);
nfds_t processes_pollfds(const struct shell *sh, struct pollfd *fds,
			 nfds_t max);
/* That event; true: the wait is over. Of another one only if that stands. */
bool process_serve(struct shell *sh, struct session *whose,
		   bool (*take)(struct shell *sh,
				const struct session_event *ev),
		   const struct session_event *ev);
/* session_stopped_itself of any of them, and which: whom `run` has started is
 * not always current. */
int processes_halted(const struct shell *sh, pid_t *pid);
const char *process_state(const struct session *s);
void processes_offer(const struct shell *sh, offer_fn *offer,
		     const char *typed);
enum result cmd_processes(struct shell *sh, size_t n, char **words);
enum result cmd_process(struct shell *sh, size_t n, char **words);

/* ---- live.c: names of live addresses ------------------------------------- */

struct live;			/* symbols of one target, read on demand */
/* What is mapped now; the symbols of earlier looks. The shell's. */
struct live *live_of(struct shell *sh);
void live_free(struct live *l);
/* Of what is mapped: the same as long as nothing has come or gone. */
uint64_t live_print(const struct live *l);
/* The object around an address, and its address there; false: none. Views. */
struct live_place {
	struct symfile *sf;
	const char *path;
	uint64_t vaddr;
};
bool live_find(struct live *l, uint64_t addr, struct live_place *out);
/* Run-time address of a function by name; 0: FAIL_MISSING is recorded. */
uint64_t live_address(struct live *l, const char *function);
/* Those of all that the first object has which has any, until visit is false;
 * false: there is none, and it is recorded. */
bool live_each_named(struct live *l, const char *function,
		     bool (*visit)(void *arg, uint64_t addr), void *arg);
/* The same; if there is none, of the first whose name ends so. */
uint64_t live_function(struct live *l, const char *written);
/* That it has not what is named (takes it), and what could not be read, where it
 * may be. FAIL_MISSING, or FAIL_GENERAL where that is the program. -1. */
int live_fail_missing(struct live *l, char *what);
/* The run-time address of an ELF address of an object; 0: not mapped. */
uint64_t live_run_time(struct live *l, struct symfile *sf, uint64_t vaddr);
/* Each object that has code, until visit is false. */
void live_each_object(struct live *l,
		      bool (*visit)(void *arg, struct symfile *sf), void *arg);
struct live_object {		/* views; see debug_object */
	const char *path;
	uint64_t start, end, bias;
	struct symfile *sf;
};
size_t live_objects(struct live *l, struct live_object **out, size_t *cap);
void live_each_function(struct live *l,
			bool (*visit)(void *arg, const char *name), void *arg);
/* The same for a program that does not run; not its libraries. */
void program_object(const char *path,
		    bool (*visit)(void *arg, struct symfile *sf), void *arg);
void program_each_function(const char *path,
			   bool (*visit)(void *arg, const char *name),
			   void *arg);
/* ---- frames.c: what people read of an address ---------------------------- */

struct frame {
	char *function;		/* NULL unknown */
	uint64_t offset;	/* not of an inlined one */
	char *object;		/* path; NULL: no file */
	uint64_t object_address;
	char *file;		/* NULL unknown */
	int line;
	bool inlined;
};
struct frame_list {		/* the code's own function is the last */
	struct frame *items;
	size_t len;
};
struct frames;
struct frames *frames_new(struct live *l);
void frames_free(struct frames *f);
/* Never empty; a view that lives with f. */
const struct frame_list *frames_at(struct frames *f, uint64_t pc);
void frame_print(const struct frame *f, FILE *out);
/* The innermost frame that is the program's own and not libc's; NULL none. */
const struct frame *frames_own(struct frames *f, const uint64_t *pcs, size_t n);

/* ---- scene.c: stacks and waits of live threads --------------------------- */

struct scene {
	struct session *session;
	struct session_stacks stacks;
	struct live *live;
	struct frames *frames;
	struct why *why;
	const char **names;
	uint64_t began, look_ns;	/* of the stacks */
	size_t frames_max;	/* that are printed of a stack; 0: all */
	size_t frames_first;	/* ... from this one on */
	bool frames_asked;	/* it was asked for so many */
};
/* Of one thread or all (0). */
int scene_take(struct shell *sh, pid_t tid, enum session_look how,
	      struct scene *l);
void scene_fini(struct scene *l);
const struct session_stack *scene_stack(const struct scene *l, pid_t tid);
/* For why_graph_make, arg is the scene: names of a thread's frames. */
const char *const *scene_functions(void *arg, pid_t tid);
/* What it waits for where its stack says; false: it does not, or not there. */
bool scene_wait(struct scene *l, const struct session_stack *st, struct wait *w);
/* "", or that it waits for something else by now. */
const char *wait_change(const struct wait *w);
/* One line of what any thread waits for, be it without a stack; "" for none. */
char *scene_wait_text(struct scene *l, pid_t tid);
void scene_print(struct scene *l, FILE *out);

/* ---- verbs.c: the command line's verbs ----------------------------------- */

struct verb {
	const char *name, *args, *help, *details;
	int (*run)(struct shell *sh, int argc, char **argv); /* exit status */
};
extern const struct verb verb_table[];
const struct verb *verb_find(const char *name);
void verb_print_help(const struct verb *v, FILE *out);
/* NAME.er or NAME.erg, perhaps with slashes behind it. */
bool is_experiment_name(const char *word);	/* verb_report.c */
/* Print the failure just recorded; the exit status that goes with it. */
int verb_failed(struct shell *sh);
/* The value of `-p PID`, `-pPID`, `--pid PID` or `--pid=PID`, alone; NULL. */
const char *pid_option(int argc, char **argv);
/* The option that getopt has just refused. */
const char *option_wrong(char *const *argv);
int verb_record(struct shell *sh, int argc, char **argv);
int verb_report(struct shell *sh, int argc, char **argv);
int verb_collect(struct shell *sh, int argc, char **argv);
int verb_selftest(struct shell *sh, int argc, char **argv);
int verb_dump(struct shell *sh, int argc, char **argv);
int verb_why(struct shell *sh, int argc, char **argv);
/* The command why. */
enum result cmd_why(struct shell *sh, size_t n, char **words);

/* ---- terminal.c ---------------------------------------------------------- */

/* Is the program to be started in a process group of its own? */
bool terminal_is_shared(const struct shell *sh);
/* Gives the program the terminal when it asks for it. true: the user has
 * stopped it there; wait_signal is SIGINT. */
bool terminal_serve(struct shell *sh);
/* The terminal is ours again, with our settings. */
void terminal_reclaim(void);

/* ---- pty.c: a terminal for the program alone ----------------------------- */

/* Before it is started, if it shall have one. -1 with a failure. */
int pty_open(struct shell *sh);
const char *pty_name(const struct shell *sh);	/* NULL: it has none */
/* Copy both ways until the session has news, or for so long. */
void pty_serve(struct shell *sh, int ms);
/* What it has printed; a thread that has not written all cannot be stopped, so
 * that is taken also while the session is asked for something. */
void pty_print(struct shell *sh);
void pty_begin(struct shell *sh);
/* Our own terminal is as it was. */
void pty_rest(struct shell *sh);
void pty_close(struct shell *sh);

/* ---- complete.c ---------------------------------------------------------- */

void complete_install(struct shell *sh);
/* The names of events (events.c). */
bool event_is(const char *name);
void events_each(offer_fn *offer, const char *typed);
void modifiers_each(offer_fn *offer, const char *typed);
bool modifier_is(const char *word, size_t n);
void faults_each(offer_fn *offer, const char *typed);	/* faults.c */

/* ---- cmd_run.c, cmd_target.c --------------------------------------------- */

enum result cmd_attach(struct shell *sh, size_t n, char **words);
enum result cmd_where(struct shell *sh, size_t n, char **words);
enum result cmd_debug(struct shell *sh, size_t n, char **words);
enum result cmd_rerun(struct shell *sh, size_t n, char **words);
enum result cmd_run(struct shell *sh, size_t n, char **words);
enum result cmd_runargs(struct shell *sh, size_t n, char **words);
/* Wait for what we started; Ctrl-C stops it. */
enum result run_wait_started(struct shell *sh);

/* ---- cmd_dbxenv.c, group.c ----------------------------------------------- */

enum result cmd_dbxenv(struct shell *sh, size_t n, char **words);
bool dbxenv_has(const char *name);
/* Its variables; of one, the values that have names. */
void dbxenv_each(const char *of, offer_fn *offer, const char *typed);
/* Record the process; the experiment is named in its group, if there is one.
 * -1: nothing is recorded. */
int collecting_start(struct shell *sh);
/* -1: that file is something else. */
int group_check(const struct shell *sh);

/* ---- outward.c ------------------------------------------------------------ */

/* May an experiment of this name (NULL: one of ours) be written there? Not by
 * root where others may write, unless told to. */
int outward_check(const struct shell *sh, const char *name);
/* To append to a regular file that has no other name, or a new one. text: what
 * it has, NULL if it is new. NULL with errno. */
FILE *outward_append(const char *path, char **text);
/* A new file; with replace, instead of what has that name. */
FILE *outward_create(const char *path, bool replace);

/* ---- system.c ------------------------------------------------------------ */

enum result cmd_sh(struct shell *sh, size_t n, char **words);
/* The system's shell runs this line (NULL: the user's shell). It sees our
 * variables, reads from that descriptor (-1: ours), its output is ours. */
pid_t system_start(struct shell *sh, const char *line, int input);

/* ---- pipe.c -------------------------------------------------------------- */

struct piped {
	FILE *file;		/* that we write to; NULL: there is none */
	pid_t reader, between;
};
/* Start what reads. -1: nothing is started. */
int pipe_begin(struct shell *sh, const char *line, struct piped *p);
/* It has all; wait for its end. r: what became of who wrote. */
enum result pipe_end(struct shell *sh, struct piped *p, enum result r);
bool pipe_has_reader(FILE *file);

/* ---- output.c ------------------------------------------------------------ */

struct output {
	FILE *file, *in;	/* > and <; NULL */
	FILE *old, *old_in, *old_piped;
	const char *path;
	struct piped piped;
	bool is_open;
};
/* Until _end output goes where w says. -1: nothing has changed. */
int output_begin(struct shell *sh, const struct words *w, struct output *o);
/* r: what became of the command. */
enum result output_end(struct shell *sh, struct output *o, enum result r);
/* false: it goes to a program that reads no more. */
bool output_is_read(const struct shell *sh);

/* ---- dbx_line.c ---------------------------------------------------------- */

/* NULL: it is no option of dbx's. */
const char *dbx_option_instead(char letter);
/* The pid in - PID, or in PROGRAM PID if that runs the program; NULL. */
const char *dbx_process(int n, char **words);
/* -r. false: it has ended by itself, and so do we. */
bool dbx_run(struct shell *sh);

/* ---- rc.c ---------------------------------------------------------------- */

/* Settings of views: the system's, the user's, the directory's .er.rc. */
void rc_read(struct shell *sh);

/* ---- cmd_collector.c, cmd_tracing.c -------------------------------------- */

/* A setting that holds for a whole recording, while one is made. */
enum result collector_refuse(struct shell *sh, size_t n, char **words);
enum result collector_heaptrace(struct shell *sh, size_t n, char **words);
enum result collector_iotrace(struct shell *sh, size_t n, char **words);
enum result collector_tracewait(struct shell *sh, size_t n, char **words);
enum result collector_synctrace(struct shell *sh, size_t n, char **words);

/* ---- collector_show.c ---------------------------------------------------- */

enum result collector_show(struct shell *sh, size_t n, char **words);
enum result collector_status(struct shell *sh, size_t n, char **words);

/* ---- target.c ------------------------------------------------------------ */

bool target_alive(const struct shell *sh);
/* Now: the receipt of what ended before has been told. */
bool target_is_recorded(const struct shell *sh);
/* dbx: what we started is killed, what we attached to goes on. */
enum result target_end_session(struct shell *sh);
int target_attach(struct shell *sh, const char *pid_or_name, bool hold);
/* The experiment that the session records, for $experiment and views. */
void target_note_experiment(struct shell *sh);

char *words_joined(size_t n, char **words);	/* caller frees */

/* ---- shared by commands -------------------------------------------------- */

/* 0, or -1 when there is no such program. */
int target_check_program(const char *name);
/* The file that would run; NULL: none. The caller frees it. */
char *target_program_path(const char *name);
/* Is there an experiment of this name where experiments are stored? */
bool target_name_is_taken(const struct shell *sh, const char *name);
/* Run the view words[0], spelled out. */
enum result view_run(struct shell *sh, size_t n, char **words);
/* Is it an index object, and no command? It is shown then. */
bool view_is_object(const struct shell *sh, const char *word);
void view_forget(struct shell *sh);
/* Make the viewer look at what there is; -1: nothing to look at. */
int view_ready(struct shell *sh);

/* ---- people.c: what a view gets at a terminal ---------------------------- */

/* A line of a table, cut where it is for a terminal that is narrower. */
void people_print(struct shell *sh, const char *line);
int people_run(struct shell *sh, const struct view *view, size_t n,
	       char **words);
/* Tell the next command, once; before and dash stand in front of it. */
void people_suggest(struct shell *sh, const struct view *view,
		    const char *before, const char *dash);

/* ---- alone.c: threads that stand while others run ------------------------ */

/* All but this one, until _end. */
int alone_begin(struct shell *sh, pid_t tid);
void alone_end(struct shell *sh);
/* thread -suspend, -resume */
enum result alone_suspend(struct shell *sh, pid_t tid, bool suspend);

/* ---- called.c: functions that are called while the program stands -------- */

struct debug;
/* By the thread that commands are about. -1: it has not returned, and why. */
int called_run(struct shell *sh, struct debug *d,
	       const struct session_call *call,
	       struct session_call_news *news);
/* SESSION_EVENT_CALLED: one is over that was stopped before. */
void called_take(struct shell *sh, const struct session_event *ev);
/* pop -c */
int called_give_up(struct shell *sh);
/* Does this one change what all of a process shares: malloc and the like? */
bool called_changes_shared(const char *function);

/* ---- beside.c: functions that are called on a thread of their own --------- */

/* " in FUNCTION (OBJECT) at FILE:LINE", "" where nothing is known. Caller
 * frees. */
char *called_where(struct shell *sh, const struct session_called_at *at);
/* -1, with what stays of it as the remedy of the failure just recorded. */
int called_remedy(struct shell *sh, const struct session_called_at *at,
		  const char *first);
/* What libc does behind it (destructors of thread_local objects, of keys) got
 * this signal; 0: none. */
void called_tell_end(struct shell *sh, int signal,
		     const struct session_called_at *at);
/* While the others run. */
int beside_call(struct shell *sh, uint64_t function, const uint64_t *args,
		size_t nargs, uint64_t *result);

#include "events.h"

#endif
