/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waiter ipc: threads that wait for messages and semaphores of System V, and
 * for messages of POSIX. Truth: NAME_id N, NAME_fd N. What it has made is
 * removed at its end; whoever kills it removes NAME_id.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>

#include "victim.h"
#include "waiter.h"

static int queue = -1, set = -1, posix = -1;
static struct {
	long type;
	char text[8];
} message = { .type = 1 };

static void
remove_all(void)
{
	if (queue >= 0)
		msgctl(queue, IPC_RMID, NULL);
	if (set >= 0)
		semctl(set, 0, IPC_RMID);
}

static void
wait_receive(struct member *me)
{
	(void)me;
	note(msgrcv(queue, &message, sizeof message.text, 2, 0));
}

/* libc may make one of the two calls of the other. */
static void
wait_operation(struct member *me)
{
	struct sembuf one = { .sem_op = -1 };

	(void)me;
	note(syscall(SYS_semop, set, &one, 1));
}

static void
wait_timed_operation(struct member *me)
{
	struct sembuf one = { .sem_op = -1 };
	const struct timespec long_time = { 5000, 0 };

	(void)me;
	note(semtimedop(set, &one, 1, &long_time));
}

/* By the call: an older libc has it in a library of its own. */
static void
wait_posix(struct member *me)
{
	struct timespec until;
	char text[64];

	say_fd(me, posix);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5000;
	note(syscall(SYS_mq_timedreceive, posix, text, sizeof text, NULL,
		     &until));
}

void
start_ipc(void)
{
	const struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 64 };
	char name[32];

	atexit(remove_all);
	queue = msgget(IPC_PRIVATE, 0600);
	set = semget(IPC_PRIVATE, 1, 0600);
	if (queue < 0 || set < 0)
		exit(99);
	victim_say("queue_id", (uint64_t)queue);
	victim_say("set_id", (uint64_t)set);
	snprintf(name, sizeof name, "waiter.%d", (int)getpid());
	posix = (int)syscall(SYS_mq_open, name, O_CREAT | O_RDWR, 0600, &attr);
	syscall(SYS_mq_unlink, name);
	add("receive", SYS_msgrcv, wait_receive);
	add("operation", SYS_semop, wait_operation);
	add("timed", SYS_semtimedop, wait_timed_operation);
	if (posix >= 0)
		add("posix", SYS_mq_timedreceive, wait_posix);
}
