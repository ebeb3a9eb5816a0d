/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The action of the signal that ticks: the program's own comes first, and is
 * what it was when we have gone.
 */
#include "hazard.h"
#include "private.h"

#include <asm/unistd.h>
#include <errno.h>

enum { MASK_BYTES = 8 };

static int64_t
disposition_swap(uint32_t signo, const struct disposition *set,
		 struct disposition *old)
{
	return sys4(__NR_rt_sigaction, signo, (uint64_t)set, (uint64_t)old,
		    MASK_BYTES);
}

/*
 * Nothing of the program runs on top of our handler: one of its handlers that
 * left by siglongjmp would leave us inside for ever.
 */
static uint64_t
handler_mask(void)
{
	return handled(HAZARD_SIGNAL_MASK) ? ~UINT64_C(0) : 0;
}

/* The program may choose an action of its own in the moment between our look
 * and our change: then that is put back, -EBUSY. */
static int64_t
disposition_change(uint32_t signo, const void *expected,
		   const struct disposition *set)
{
	struct disposition old;
	const int64_t r = disposition_swap(signo, set, &old);

	if (r < 0 || old.handler == expected)
		return r;
	(void)disposition_swap(signo, &old, NULL);
	return -EBUSY;
}

static struct disposition
our_disposition(void)
{
	return (struct disposition) {
		.handler = (void *)hot_signal,
		.flags = SA_SIGINFO | SA_RESTART | 0x04000000 |
			(guest.area->alternate ? SA_ONSTACK : 0),
		.restorer = (void *)hot_restorer,
		.mask = handler_mask(),
	};
}

/* Only where the default is in place: a program that has an action of its own
 * uses the signal, and so does one that ignores it, for whom it starts. */
int64_t
handler_in(uint32_t signo)
{
	const struct disposition ours = our_disposition();
	struct disposition now;
	int64_t r;

	r = disposition_swap(signo, NULL, &now);
	if (r < 0)
		return r;
	/* Left by an owner who was killed, or put back by the program. */
	if (now.handler == (void *)hot_signal && guest.signo == signo)
		return 0;
	if (now.handler != (void *)SIG_DFL)
		return -EBUSY;
	/* said first: whoever works for us may be let go in the midst of it */
	guest.before = now;
	sonde_owner.signo = guest.signo = signo;
	r = disposition_change(signo, (void *)SIG_DFL, &ours);
	if (r < 0)
		sonde_owner.signo = guest.signo = 0;
	return r;
}

/* The default is to ignore the signal: what is pending of it is dropped. */
int64_t
handler_out(struct collector_call *call)
{
	struct disposition now;
	int64_t r;

	if (!guest.signo)
		return 0;
	r = disposition_swap(guest.signo, NULL, &now);
	if (r < 0)
		return r;
	if (now.handler == guest.before.handler)
		r = 0;		/* we came no further than to say it */
	else
		r = now.handler != (void *)hot_signal ? -EBUSY :
			disposition_change(guest.signo, (void *)hot_signal,
					   &guest.before);
	call->handler_kept = r == -EBUSY;
	if (r == 0 || r == -EBUSY)
		sonde_owner.signo = guest.signo = 0;
	return r == -EBUSY ? 0 : r;
}

/* The kernel forgets what is pending of a signal when it is to be ignored, as
 * the default of this one says; but who blocks it can get it even so. */
bool
handler_rest(void)
{
	return guest.signo && handled(HAZARD_LATE_TICK) &&
		disposition_change(guest.signo, (void *)hot_signal,
				   &guest.before) == 0;
}

void
handler_rested(void)
{
	const struct disposition ours = our_disposition();

	if (disposition_change(guest.signo, (void *)SIG_DFL,
			       &guest.before) == 0)
		(void)disposition_change(guest.signo, (void *)SIG_DFL, &ours);
}

int64_t
handler_look(struct collector_call *call)
{
	struct disposition now;
	const int64_t r = disposition_swap(guest.signo, NULL, &now);

	call->handler_kept = r == 0 && now.handler != (void *)hot_signal;
	return r;
}
