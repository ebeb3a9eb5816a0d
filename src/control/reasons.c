/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why the kernel refused, by the facts alone: its own rules in its own order
 * (__ptrace_may_access, Linux 6.18), so the first that fits is the one. Each
 * with a remedy that helps: no sudo where that is forbidden or is not the
 * point, no ring where looking is refused, too.
 *
 *	the same uid and gid, all three of each, or CAP_SYS_PTRACE over it
 *	dumpable, or that
 *	no capability that we have not, in our user namespace, or that
 *	to trace, not only to look: nobody traces it yet; Yama
 */
#include "private.h"

#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>

static bool
may_trace_anyone(const struct refusal *r)
{
	return (r->us.cap_effective >> CAP_SYS_PTRACE & 1) &&
		(r->same_namespace || r->we_are_outside);
}

/* What gives us the right over any process. */
static char *
more_rights(const struct refusal *r)
{
	if (!r->same_namespace && !r->we_are_outside)
		return xstrdup("run sonde as root outside of our own user "
			       "namespace, on the host");
	if (r->us.uid[1] == 0)
		return xstrdup("run sonde with CAP_SYS_PTRACE: docker run "
			       "--cap-add SYS_PTRACE ...; Kubernetes: "
			       "securityContext.capabilities.add: "
			       "[SYS_PTRACE]");
	return fail_root_command((int)r->pid);
}

/* Nothing needs a trace to sample by ring; but the right to look. */
static char *
or_by_ring(const struct refusal *r, char *remedy)
{
	char *both;

	if (r->what == REFUSED_LOOK)
		return remedy;
	both = xasprintf("%s%s--engine ring, which needs no ptrace (in the "
			 "shell: collector engine ring)", remedy,
			 *remedy ? ", or: " : "");
	free(remedy);
	return both;
}

static char *
user_name(unsigned uid)
{
	const struct passwd *pw = getpwuid(uid);

	return pw ? xasprintf("%s (%u)", pw->pw_name, uid) :
		xasprintf("user %u", uid);
}

static bool
because_traced(const struct refusal *r, struct reason *out)
{
	if (r->what == REFUSED_LOOK || !r->tracer)
		return false;
	out->kind = FAIL_UNSUITABLE;
	out->why = xasprintf("already traced by %d (%s)", (int)r->tracer,
			     r->tracer_name);
	out->remedy = xasprintf("end the session of process %d first",
				(int)r->tracer);
	return true;
}

static bool
because_other_user(const struct refusal *r, struct reason *out)
{
	const unsigned us = r->us.uid[0];
	unsigned them = r->them.uid[1];

	for (int i = 0; i < 3 && them == us; i++)
		them = r->them.uid[i];
	if (may_trace_anyone(r) || them == us)
		return false;

	char *whose = user_name(them), *ours = user_name(us);

	out->why = xasprintf("it runs as %s and we as %s%s", whose, ours,
			     us ? "" : " without CAP_SYS_PTRACE");
	free(whose);
	free(ours);
	return true;
}

static bool
because_other_group(const struct refusal *r, struct reason *out)
{
	const unsigned us = r->us.gid[0];
	unsigned them = r->them.gid[1];

	for (int i = 0; i < 3 && them == us; i++)
		them = r->them.gid[i];
	if (may_trace_anyone(r) || them == us)
		return false;
	out->why = xasprintf("it runs as group %u and we as group %u", them,
			     us);
	return true;
}

static bool
because_not_dumpable(const struct refusal *r, struct reason *out)
{
	if (may_trace_anyone(r) || !r->is_private)
		return false;
	out->why = xstrdup("it has made itself private (set-uid, file "
			   "capabilities or prctl PR_SET_DUMPABLE)");
	return true;
}

static bool
because_user_namespace(const struct refusal *r, struct reason *out)
{
	if (may_trace_anyone(r) || r->same_namespace)
		return false;
	out->why = xstrdup("it lives in another user namespace");
	return true;
}

static bool
because_of_its_capabilities(const struct refusal *r, struct reason *out)
{
	if (may_trace_anyone(r) ||
	    !(r->them.cap_permitted & ~r->us.cap_permitted))
		return false;
	out->why = xstrdup("it has capabilities that we have not");
	return true;
}

static bool
because_yama(const struct refusal *r, struct reason *out)
{
	if (r->what == REFUSED_LOOK || r->yama < 1 ||
	    (r->yama < 3 && may_trace_anyone(r)))
		return false;
	if (r->yama == 3) {
		out->why = xstrdup("kernel.yama.ptrace_scope is 3: nobody "
				   "may, until the next boot");
		out->remedy = xstrdup("");
		return true;
	}
	out->why = r->yama == 2 ?
		xstrdup("kernel.yama.ptrace_scope is 2: only with "
			"CAP_SYS_PTRACE") :
		xasprintf("kernel.yama.ptrace_scope is 1 and %d is not our "
			  "child", (int)r->pid);
	/* 2 is lowered as 1 is; only a boot leaves 3 */
	if (r->us.uid[1] != 0) {
		char *root = more_rights(r);

		out->remedy = xasprintf("%ssysctl -w kernel.yama."
					"ptrace_scope=0 (until the next "
					"boot), or: %s", fail_sudo(), root);
		free(root);
	}
	return true;
}

static bool
because_of_our_filter(const struct refusal *r, struct reason *out)
{
	if (!r->us.seccomp)
		return false;
	out->why = xstrdup("a system call filter (seccomp) on us, or a "
			   "security module, forbids it");
	out->remedy = xstrdup("run sonde without the filter: docker run "
			      "--security-opt seccomp=unconfined ...");
	return true;
}

static bool
because_unknown(const struct refusal *r, struct reason *out)
{
	(void)r;
	out->why = xstrdup("no cause shows in /proc: a security module, or a "
			   "tracer that our pid namespace hides");
	out->remedy = xstrdup("look at: dmesg, /proc/self/attr/current, and "
			      "for a debugger outside of this container");
	return true;
}

struct reason
refusal_reason(const struct refusal *r)
{
	static bool (*const causes[])(const struct refusal *,
				      struct reason *) = {
		because_traced, because_other_user, because_other_group,
		because_not_dumpable, because_user_namespace,
		because_of_its_capabilities, because_yama,
		because_of_our_filter, because_unknown,
	};
	struct reason out = { .kind = FAIL_DENIED };

	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (causes[i](r, &out))
			break;
	if (!out.remedy)
		out.remedy = more_rights(r);
	out.remedy = or_by_ring(r, out.remedy);
	return out;
}
