/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * judge PID...: the stacks of all threads of processes that stand (by
 * SIGSTOP), by our tables, by libunwind-ptrace over the same copied memory, and
 * by eu-stack, frame by frame. One line for each process, and one for each
 * stack that a judge sees otherwise:
 *
 *	frames NAME THREADS FRAMES COMPLETE
 *	differ JUDGE FRAMES BUILD-ID FUNCTION OBJECT TID AT OURS THEIRS
 *
 * JUDGE is libunwind or eu-stack; FRAMES, how many are not the same; BUILD-ID,
 * FUNCTION, OBJECT, of the last frame that is: there it goes wrong. OBJECT is
 * "generated" where code is in no file, or "generated-leaf" if that was about
 * to run.
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "symbol.h"
#include "../unit/unwind-help.h"

enum { THREADS_MAX = 512, FRAMES_MAX = 20000, COPY_MAX = 8 << 20 };

struct thread {
	pid_t tid;
	struct unwind_trace ours, full, eu;
};

struct process {
	pid_t pid;
	char name[64];
	struct help_space h;
	struct modules maps;
	struct thread *thread[THREADS_MAX];
	size_t count;
};

static unsigned char *copy;

static struct thread *
thread_of(struct process *p, pid_t tid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->thread[i]->tid == tid)
			return p->thread[i];
	if (p->count == THREADS_MAX)
		return NULL;
	p->thread[p->count] = xcalloc(1, sizeof *p->thread[0]);
	p->thread[p->count]->tid = tid;
	return p->thread[p->count++];
}

static void
push(struct unwind_trace *t, uint64_t pc)
{
	t->pcs = xgrow(t->pcs, &t->cap, t->len + 1, sizeof *t->pcs);
	t->pcs[t->len++] = pc;
}

/* ---- eu-stack ------------------------------------------------------------ */

/* Of its lines, "TID 12:" and "#3  0x... - 1": the mark is on return addresses. */
static void
ask_eu_stack(struct process *p)
{
	char command[96], line[512];
	struct thread *th = NULL;
	FILE *out;
	int tid;
	uint64_t pc;

	snprintf(command, sizeof command,
		 "eu-stack -q -a -n 0 -p %d 2>/dev/null", (int)p->pid);
	out = popen(command, "r");
	while (out && fgets(line, sizeof line, out)) {
		if (sscanf(line, "TID %d:", &tid) == 1) {
			th = thread_of(p, tid);
			continue;
		}
		if (!th || sscanf(line, "#%*d %" SCNx64, &pc) != 1)
			continue;
		if (strstr(line, "- 1"))
			pc = unwind_call_address(p->h.space, pc);
		push(&th->eu, pc);
	}
	if (out)
		pclose(out);
}

/* ---- the two engines ----------------------------------------------------- */

static void
walk_thread(struct process *p, struct thread *th)
{
	struct user_regs_struct user;
	struct iovec io = { &user, sizeof user };
	struct arch_regs regs;
	struct step_stack stack = { .data = copy };
	const struct module *m;

	if (ptrace(PTRACE_GETREGSET, th->tid, 1 /* NT_PRSTATUS */, &io) < 0)
		return;
	arch.from_ptrace(&user, &regs);
	stack.base = regs.reg[arch.reg_sp] & -8ull;
	m = modules_find(&p->maps, stack.base);
	stack.size = m ? m->end - stack.base : 0;
	if (stack.size > COPY_MAX)
		stack.size = COPY_MAX;
	if (stack.size && help_read((void *)(intptr_t)p->pid, stack.base, copy,
				    stack.size) < 0)
		stack.size = 0;
	unwind_walk(p->h.space, &regs, &stack, help_read,
		    (void *)(intptr_t)p->pid, FRAMES_MAX, &th->ours);
	unwind_walk_full(p->h.space, &regs, &stack, help_read,
			 (void *)(intptr_t)p->pid, FRAMES_MAX, &th->full);
}

static void
ask_engines(struct process *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const pid_t tid = p->thread[i]->tid;
		int status;

		if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
			continue;
		if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 &&
		    waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status))
			walk_thread(p, p->thread[i]);
		ptrace(PTRACE_DETACH, tid, 0, 0);
	}
}

/* ---- comparing ----------------------------------------------------------- */

static void
tell_place(struct process *p, uint64_t pc, bool leaf)
{
	const struct module *m = modules_find(&p->maps, pc);
	struct symfile *sf;
	struct symbol sym;
	const char *id, *name;

	if (!m || m->path[0] != '/') {
		printf("- - %s", m && m->path[0] ? m->path : leaf ?
		       "generated-leaf" : "generated");
		return;
	}
	sf = symfile_open(m->path, m->path, "");
	id = symfile_build_id(sf);
	name = symfile_find(sf, symfile_vaddr(sf, pc - m->start + m->offset),
			    &sym) ? sym.name : "-";
	printf("%s %s %s", id[0] ? id : "-", name, strrchr(m->path, '/') + 1);
	symfile_free(sf);
}

static void
compare(struct process *p, const struct thread *th, const char *judge,
	const struct unwind_trace *theirs)
{
	const struct unwind_trace *ours = &th->ours;
	const size_t longer = ours->len > theirs->len ? ours->len : theirs->len;
	const size_t shorter = ours->len + theirs->len - longer;
	size_t head = 0, tail = 0;

	while (head < shorter && ours->pcs[head] == theirs->pcs[head])
		head++;
	while (tail < shorter - head &&
	       ours->pcs[ours->len - 1 - tail] ==
	       theirs->pcs[theirs->len - 1 - tail])
		tail++;
	if (head == longer)
		return;
	printf("differ %s %zu ", judge, longer - head - tail);
	tell_place(p, ours->pcs[head ? head - 1 : 0], head == 1);
	printf(" %d %zu %#" PRIx64 " %#" PRIx64 " %zu/%zu\n", (int)th->tid,
	       head, head < ours->len ? ours->pcs[head] : 0,
	       head < theirs->len ? theirs->pcs[head] : 0, ours->len,
	       theirs->len);
}

static void
judge(pid_t pid)
{
	struct process p = { .pid = pid };
	size_t frames = 0, complete = 0;
	char path[64], *text;

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	text = file_read(path, NULL);
	if (!text)
		return;
	snprintf(p.name, sizeof p.name, "%.*s", (int)strcspn(text, "\n "),
		 text);
	free(text);
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	text = file_read(path, NULL);
	if (text)
		(void)modules_parse(&p.maps, text);
	free(text);
	help_space_open(&p.h, pid, 0, NULL);
	ask_eu_stack(&p);
	ask_engines(&p);
	for (size_t i = 0; i < p.count; i++) {
		struct thread *th = p.thread[i];

		if (!th->ours.len)
			continue;
		frames += th->ours.len;
		complete += th->ours.end == UNWIND_COMPLETE;
		compare(&p, th, "libunwind", &th->full);
		compare(&p, th, "eu-stack", &th->eu);
	}
	printf("frames %s %zu %zu %zu\n", p.name, p.count, frames, complete);
	for (size_t i = 0; i < p.count; i++) {
		unwind_trace_fini(&p.thread[i]->ours);
		unwind_trace_fini(&p.thread[i]->full);
		unwind_trace_fini(&p.thread[i]->eu);
		free(p.thread[i]);
	}
	help_space_close(&p.h);
	modules_fini(&p.maps);
}

int
main(int argc, char **argv)
{
	copy = xmalloc(COPY_MAX);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++)
		judge((pid_t)atoi(argv[i]));
	free(copy);
	return 0;
}
