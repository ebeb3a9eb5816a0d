/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a core file holds, by the commands for a process that stands: where,
 * threads, thread, print, locals, dis, examine, regs, frame, up, down.
 */
#include "foreign.h"
#include "private.h"

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
core_is_one(const char *path)
{
	const int fd = foreign_open(path, 0);
	Elf64_Ehdr head = {0};

	if (fd < 0)
		return false;

	const bool whole = read(fd, &head, sizeof head) == sizeof head;

	close(fd);
	return whole && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
		head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_type == ET_CORE;
}

/* "SIGSEGV (Segmentation fault)"; those of real time have no names. */
static char *
signal_text(int sig)
{
	const char *name = sigabbrev_np(sig), *what = sigdescr_np(sig);

	return name && what ? xasprintf("SIG%s (%s)", name, what) :
		xasprintf("signal %d", sig);
}

static void
tell_end(struct shell *sh)
{
	uint64_t addr = 0;
	const int sig = core_signal(sh->core, &addr);
	const char *command = core_command(sh->core);
	char *died = signal_text(sig);

	if (!*command)
		command = core_program(sh->core);
	if (!sig)
		shell_note(sh, "core of process %d (%s)", core_pid(sh->core),
			   command);
	else if (addr)
		shell_note(sh, "core of process %d (%s), which died by %s at "
			   "address %#llx", core_pid(sh->core), command, died,
			   (unsigned long long)addr);
	else
		shell_note(sh, "core of process %d (%s), which died by %s",
			   core_pid(sh->core), command, died);
	free(died);
	if (core_trouble(sh->core))
		shell_note(sh, "%s", core_trouble(sh->core));
}

void
post_mortem_end(struct shell *sh)
{
	if (!sh->core)
		return;
	debuggee_free(sh);
	core_free(sh->core);
	sh->core = NULL;
	sh->thread = 0;
}

int
post_mortem_begin(struct shell *sh, const char *path, const char *program)
{
	struct core *core = core_open(path, program);

	if (!core)
		return -1;
	post_mortem_end(sh);
	debuggee_free(sh);
	if (program)
		shell_set_program(sh, 1, &(char *){ (char *)program });
	sh->core = core;
	sh->thread = core_threads(core) ? core_thread(core, 0)->tid : 0;
	tell_end(sh);
	(void)post_mortem_frame(sh);
	return 0;
}

/* ---- commands ------------------------------------------------------------ */

enum { FRAMES_MOST = 10000 };

/* count frames from the first on, 0: as many as dbxenv says. */
static enum result
print_stack(struct shell *sh, long long first, long long count)
{
	struct debug *d = debuggee_now(sh);
	const size_t most = count ? (size_t)(first + count) :
		sh->frames_max ? sh->frames_max : FRAMES_MOST;
	const size_t n = debug_frames(d, most);
	struct str out = {0};
	int r = n ? 0 : -1;

	for (size_t i = (size_t)first; i < n && r == 0; i++) {
		str_addf(&out, "  #%-3zu ", i);
		r = debug_frame_text(d, i, &out);
		if (out.len && out.data[out.len - 1] != '\n')
			str_add(&out, "\n");
	}
	if (out.len)
		fputs(str_tame_lines(out.data), sh->out);
	str_fini(&out);
	return r < 0 ? FAILED : DONE;
}

/* The selected frame, which is the innermost after a new thread. */
enum result
post_mortem_frame(struct shell *sh)
{
	struct debug *d = debuggee_now(sh);
	struct debug_frame f;
	struct str out = {0};

	if (!debug_frames(d, 1) || debug_frame_text(d, 0, &out) < 0) {
		str_fini(&out);
		return FAILED;
	}
	fprintf(sh->out, "#0  %s%s", str_tame_lines(out.data),
		out.data[out.len - 1] == '\n' ? "" : "\n");
	str_fini(&out);
	if (debug_frame(d, 0, &f) == 0 && f.file)
		source_print(f.file, f.line, sh->out);
	return DONE;
}

static enum result
no_thread(long long tid)
{
	fail(FAIL_MISSING, "the core has no thread %lld", tid);
	fail_remedy("threads lists them");
	return FAILED;
}

bool
post_mortem_has(struct shell *sh, long long tid)
{
	for (size_t i = 0; i < core_threads(sh->core); i++)
		if (core_thread(sh->core, i)->tid == tid)
			return true;
	return false;
}

enum result
post_mortem_where(struct shell *sh, long long tid, long long first,
		  long long count)
{
	const pid_t thread = sh->thread;

	if (tid && !post_mortem_has(sh, tid))
		return no_thread(tid);
	for (size_t i = 0; i < core_threads(sh->core); i++) {
		const struct core_thread *th = core_thread(sh->core, i);

		if (tid && th->tid != tid)
			continue;
		fprintf(sh->out, "thread %d%s\n", th->tid,
			th->tid == thread ? " (this one)" : "");
		sh->thread = th->tid;
		if (print_stack(sh, first, count) == FAILED) {
			fprintf(sh->out, "  %s\n", fail_last()->reason);
			fail_clear();
		}
	}
	sh->thread = thread;
	(void)debuggee_now(sh);
	return DONE;
}

enum result
post_mortem_threads(struct shell *sh)
{
	const pid_t thread = sh->thread;

	fprintf(sh->out, "%8s  %s\n", "TID", "STANDS AT");
	for (size_t i = 0; i < core_threads(sh->core); i++) {
		struct debug_frame f;
		struct debug *d;

		sh->thread = core_thread(sh->core, i)->tid;
		d = debuggee_now(sh);

		char *name = debug_frames(d, 1) &&
			debug_frame(d, 0, &f) == 0 && f.function ?
			str_tame(name_display(f.function, NAME_SHORT)) : NULL;

		fprintf(sh->out, "%c%7d  %s\n", sh->thread == thread ? '>' :
			' ', sh->thread, name ? name : "<Unknown>");
		free(name);
	}
	fail_clear();
	sh->thread = thread;
	(void)debuggee_now(sh);
	return DONE;
}

enum result
post_mortem_thread(struct shell *sh, long long tid)
{
	for (size_t i = 0; i < core_threads(sh->core); i++) {
		if (tid && core_thread(sh->core, i)->tid != tid)
			continue;
		if (tid)
			sh->thread = (pid_t)tid;
		return post_mortem_frame(sh);
	}
	return no_thread(tid);
}
