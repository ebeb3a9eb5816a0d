/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why the kernel refused: facts in, reason and remedy out, also for kernels
 * and containers that are not at hand (Yama, namespaces). A remedy never
 * names what would not help: no ring where looking is refused, no sysctl
 * under Yama 3, no sudo for root.
 * mission: C5 X4
 */
#include "control-test.h"

#include <linux/capability.h>

#include "../../src/control/private.h"

enum { US = 1000, THEM = 33 };
#define PTRACE_BIT	(UINT64_C(1) << CAP_SYS_PTRACE)

/* Refused although nothing is known against it. */
static struct refusal
plain(enum refused what, unsigned uid)
{
	struct refusal r = {
		.what = what, .pid = 4711, .yama = -1,
		.same_namespace = true, .we_are_outside = true,
	};

	for (int i = 0; i < 4; i++) {
		r.us.uid[i] = r.us.gid[i] = uid;
		r.them.uid[i] = r.them.gid[i] = uid;
	}
	return r;
}

static void
expect(const char *what, const struct refusal *r, enum fail_kind kind,
       const char *why, const char *remedy)
{
	struct reason is = refusal_reason(r);
	const bool ring = strstr(is.remedy, "--engine ring");

	check(is.kind == kind && strstr(is.why, why) &&
	      strstr(is.remedy, remedy), "%s: %s; %s", what, is.why,
	      is.remedy);
	check(ring == (r->what == REFUSED_TRACE), "%s: ring: %s", what,
	      is.remedy);
	check(!strchr(is.why, '\n') && !strchr(is.remedy, '\n'), "one line");
	free(is.why);
	free(is.remedy);
}

static void
absent(const char *what, const struct refusal *r, const char *part)
{
	struct reason is = refusal_reason(r);

	check(!strstr(is.remedy, part), "%s: %s", what, is.remedy);
	free(is.why);
	free(is.remedy);
}

static void
identities(void)
{
	struct refusal r = plain(REFUSED_LOOK, US);

	r.them.uid[2] = THEM;
	expect("saved uid", &r, FAIL_DENIED, "it runs as", "sonde -p 4711");
	r.us.cap_effective = PTRACE_BIT;
	expect("with the capability", &r, FAIL_DENIED, "no cause shows", "");
	r = plain(REFUSED_LOOK, US);
	r.them.gid[0] = THEM;
	expect("gid", &r, FAIL_DENIED, "it runs as group 33 and we as group",
	       "sonde -p 4711");
	r = plain(REFUSED_LOOK, 0);
	for (int i = 0; i < 4; i++)
		r.them.uid[i] = THEM;
	expect("root of a container", &r, FAIL_DENIED,
	       "without CAP_SYS_PTRACE", "--cap-add SYS_PTRACE");
	absent("root of a container", &r, "sudo");
	r = plain(REFUSED_LOOK, US);
	r.is_private = true;
	expect("dumpable", &r, FAIL_DENIED, "made itself private",
	       "sonde -p 4711");
	r = plain(REFUSED_TRACE, US);
	r.them.cap_permitted = PTRACE_BIT;
	expect("capabilities", &r, FAIL_DENIED, "capabilities that we have",
	       "sonde -p 4711");
}

static void
namespaces(void)
{
	struct refusal r = plain(REFUSED_LOOK, US);

	r.same_namespace = false;
	expect("theirs is another", &r, FAIL_DENIED, "another user namespace",
	       "sonde -p 4711");
	r.we_are_outside = false;
	r.us.cap_effective = PTRACE_BIT;
	expect("so is ours", &r, FAIL_DENIED, "another user namespace",
	       "on the host");
	r.them.uid[0] = THEM;
	expect("the uid comes first", &r, FAIL_DENIED, "it runs as",
	       "on the host");
}

static void
yama(void)
{
	struct refusal r = plain(REFUSED_TRACE, US);

	r.yama = 0;
	expect("yama 0", &r, FAIL_DENIED, "no cause shows", "");
	r.yama = 1;
	expect("yama 1", &r, FAIL_DENIED,
	       "ptrace_scope is 1 and 4711 is not our child",
	       "sysctl -w kernel.yama.ptrace_scope=0");
	r.yama = 2;
	expect("yama 2", &r, FAIL_DENIED, "is 2: only with CAP_SYS_PTRACE",
	       "sonde -p 4711");
	r.yama = 3;
	expect("yama 3", &r, FAIL_DENIED, "is 3: nobody may", "--engine ring");
	absent("yama 3", &r, "sysctl");
	absent("yama 3", &r, "sonde -p");
	absent("yama 3", &r, "record");
	r.us.cap_effective = PTRACE_BIT;
	expect("yama 3, with all", &r, FAIL_DENIED, "is 3: nobody may", "");
	r.yama = 2;
	expect("yama 2, with all", &r, FAIL_DENIED, "no cause shows", "");
	/* it does not forbid to look */
	r = plain(REFUSED_LOOK, US);
	r.yama = 3;
	expect("yama, looking", &r, FAIL_DENIED, "no cause shows", "");
	r = plain(REFUSED_TRACE, 0);
	r.yama = 1;
	expect("yama 1, confined root", &r, FAIL_DENIED, "ptrace_scope is 1",
	       "--cap-add SYS_PTRACE");
}

static void
others(void)
{
	struct refusal r = plain(REFUSED_TRACE, US);

	r.us.seccomp = 2;
	expect("our filter", &r, FAIL_DENIED, "filter (seccomp) on us",
	       "seccomp=unconfined");
	r.tracer = 12;
	(void)strcpy(r.tracer_name, "gdb");
	expect("traced", &r, FAIL_UNSUITABLE, "already traced by 12 (gdb)",
	       "end the session of process 12 first");
	r.what = REFUSED_LOOK;
	expect("traced, looking", &r, FAIL_DENIED, "filter (seccomp) on us",
	       "");
}

int
main(void)
{
	identities();
	namespaces();
	yama();
	others();
	return failures ? 1 : 0;
}
