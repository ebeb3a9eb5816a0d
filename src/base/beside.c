/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process beside us: beside.h.
 */
#include "beside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PATIENCE_MS = 1000, BUSY_MS = 50, BUSY_MAX_MS = 10 * 1000,
	LATE_MAX = 6, SULK_S = 2, SOUND_FORGIVES = 64,
};

static void __attribute__((noreturn))
stand(const struct beside *b, int fd, void *arg)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, b->name);
	(void)dup2(fd, 0);
	(void)close_range(1, ~0u, 0);
	(void)!chdir("/");
	b->serve(0, arg);
	_exit(0);
}

static void
reap(struct beside *b)
{
	for (int i = 0; i < BESIDE_GIVEN_UP_MAX; i++)
		if (b->given_up[i] > 0 &&
		    waitpid(b->given_up[i], NULL, WNOHANG | __WALL))
			b->given_up[i] = 0;
}

void
beside_part(struct beside *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
	if (b->pid > 0)
		(void)kill(b->pid, SIGKILL);
	for (int i = 0; i < BESIDE_GIVEN_UP_MAX && b->pid > 0; i++) {
		if (!b->given_up[i]) {
			b->given_up[i] = b->pid;
			b->pid = 0;
		}
	}
	b->pid = 0;
	reap(b);
}

bool
beside_is_there(struct beside *b)
{
	if (b->owner != getpid()) {
		b->owner = getpid();
		b->pid = 0;
		b->fd = -1;
		memset(b->given_up, 0, sizeof b->given_up);
	}
	return b->fd >= 0;
}

bool
beside_begin(struct beside *b, void *arg)
{
	int pair[2];

	if (now_ns() < b->sulks_until)
		return false;
	if (beside_is_there(b))
		return true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	b->pid = fork();
	if (b->pid == 0)
		stand(b, pair[1], arg);
	close(pair[1]);
	b->fd = pair[0];
	if (b->pid < 0)
		beside_part(b);
	return b->fd >= 0;
}

static void
give_up(struct beside *b)
{
	b->late += b->late < LATE_MAX;
	b->sound = 0;
	if (b->late == LATE_MAX && b->sulks)
		b->sulks_until = now_ns() + SULK_S * UINT64_C(1000000000);
	beside_part(b);
	errno = ETIMEDOUT;
}

static int
patience_ms(const struct beside *b)
{
	const int ms = PATIENCE_MS >> b->late;

	return ms > b->least_ms ? ms : b->least_ms;
}

/*
 * A process that is runnable waits for a processor, not for the page or file:
 * on a busy machine that takes longer than those may.
 */
bool
beside_await(struct beside *b)
{
	const uint64_t ms = UINT64_C(1000000), begun = now_ns();
	uint64_t until = begun + (uint64_t)patience_ms(b) * ms;
	struct pollfd fd = { .fd = b->fd, .events = POLLIN };

	for (;;) {
		const uint64_t now = now_ns();
		const int left = now < until ?
			(int)((until - now) / 1000000 + 1) : 0;
		const int r = poll(&fd, 1, left);

		if (r > 0)
			return true;
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 || thread_state(b->pid, b->pid) != 'R' ||
		    now_ns() - begun > BUSY_MAX_MS * ms)
			break;
		until = now_ns() + BUSY_MS * ms;
	}
	give_up(b);
	return false;
}

void
beside_praise(struct beside *b)
{
	if (b->late && (b->sulks || ++b->sound % SOUND_FORGIVES == 0))
		b->late--;
}
