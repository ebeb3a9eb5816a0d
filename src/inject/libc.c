/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What we need of the target's libc: functions to call, code to work at, and
 * the layout of its thread descriptors as it tells libthread_db.
 */
#include <stdlib.h>
#include <time.h>

#include "hazard.h"
#include "private.h"

enum { LOADER_LOOKS = 50 };	/* a millisecond apart */

/* libc and ld.so in one, and nothing of GNU. */
static bool
is_musl(const struct plan *p, const struct image *img)
{
	return locate_address(p->look, img, "__libc_start_main") &&
	       locate_address(p->look, img, "dlopen") &&
	       !locate_address(p->look, img, "gnu_get_libc_version");
}

int
plan_not_begun(void)
{
	(void)plan_refuse("its dynamic loader is at work: the program may not "
			  "have begun yet");
	return fail_remedy("try again in a moment");
}

static int
find_libc(struct plan *p)
{
	size_t i;

	for (i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];

		if (!p->libc.bias &&
		    locate_address(p->look, img, "gnu_get_libc_version"))
			p->libc = *img;
		if (!p->ldso.bias && locate_address(p->look, img, "_r_debug"))
			p->ldso = *img;
	}
	for (i = 0; !p->libc.bias && i < p->nimages; i++)
		if (handled(HAZARD_MUSL) && is_musl(p, &p->images[i])) {
			p->libc = p->ldso = p->images[i];
			p->by_hand = true;
			snprintf(p->libc_name, sizeof p->libc_name, "musl");
			return 0;
		}
	if (p->nimages > 0 && !p->images[0].has_interp && !p->ldso.bias)
		return plan_refuse("it is a static-pie program: it has no dlopen");
	if (!p->libc.bias || !p->ldso.bias)
		return plan_loader_works(p) ? plan_not_begun() :
			plan_refuse("it has no GNU libc");
	p->glibc_minor = locate_glibc_minor(p->look, &p->libc);
	snprintf(p->libc_name, sizeof p->libc_name, "glibc 2.%u",
		 p->glibc_minor);
	return 0;
}

/* A function of libc, or of what was a library of its own before 2.34. */
static uint64_t
libc_function(const struct plan *p, const char *name)
{
	uint64_t at = locate_address(p->look, &p->libc, name);
	size_t i;

	for (i = 0; !at && i < p->nimages; i++)
		if (locate_address(p->look, &p->images[i],
				  "__pthread_initialize_minimal") ||
		    locate_address(p->look, &p->images[i], "__pthread_unwind"))
			at = locate_address(p->look, &p->images[i], name);
	return at;
}

/* Of a program that is not position independent (a copy relocation) it is the
 * program's, which comes first; glibc 2.32 to 2.35 write and read only that. */
static uint64_t
single_flag(const struct plan *p)
{
	uint64_t at = 0;

	for (size_t i = 0; !at && i < p->nimages; i++)
		at = locate_address(p->look, &p->images[i],
				    "__libc_single_threaded");
	return at;
}

static int
need(const struct plan *p, const char *name, uint64_t *at)
{
	*at = libc_function(p, name);
	if (*at)
		return 0;
	(void)fail(FAIL_UNSUITABLE, "its %s has no %s", p->libc_name, name);
	return fail_remedy(p->glibc_minor < 34 ?
			   "a program of an old glibc needs to be linked with "
			   "-lpthread; else: " PLAN_OTHER_ENGINE : PLAN_OTHER_ENGINE);
}

static int
find_functions(struct plan *p)
{
	p->dlopen_flags = 2;			/* RTLD_NOW, local */
	p->dlopen = locate_address(p->look, &p->libc, "dlopen");
	if (!p->dlopen) {
		/* Before 2.34: what libdl's dlopen itself is made of. */
		p->dlopen_flags |= 0x80000000u;
		if (need(p, "__libc_dlopen_mode", &p->dlopen) < 0)
			return -1;
	}
	p->dlerror = libc_function(p, "dlerror");
	p->single_flag = single_flag(p);
	if (need(p, "pthread_create", &p->pthread_create) < 0 ||
	    need(p, "pthread_attr_init", &p->attr_init) < 0 ||
	    need(p, "pthread_attr_setstack", &p->attr_setstack) < 0 ||
	    need(p, "pthread_attr_setdetachstate", &p->attr_setdetach) < 0 ||
	    need(p, "__ctype_init", &p->ctype_init) < 0)
		return -1;
	return 0;
}

/* {bits, elements, offset} of a field, as libc tells libthread_db. */
static int
thread_db_offset(const struct plan *p, const char *name, uint32_t *out)
{
	uint64_t at;
	uint32_t desc[3];

	if (need(p, name, &at) < 0 ||
	    target_read(p->t, at, desc, sizeof desc) < 0)
		return -1;
	*out = desc[2];
	if (*out > 1u << 16)
		return fail(FAIL_UNSUITABLE, "%s makes no sense", name);
	return 0;
}

static int
find_layout(struct plan *p)
{
	uint64_t at, offset;

	if (need(p, "_thread_db_sizeof_pthread", &at) < 0 ||
	    target_read(p->t, at, &p->sizeof_pthread, 4) < 0 ||
	    thread_db_offset(p, "_thread_db_pthread_tid", &p->off_tid) < 0 ||
	    thread_db_offset(p, "_thread_db_pthread_list", &p->off_list) < 0 ||
	    thread_db_offset(p, "_thread_db_pthread_specific",
			     &p->off_specific) < 0 ||
	    thread_db_offset(p, "_thread_db_link_map_l_tls_modid",
			     &p->off_modid) < 0 ||
	    thread_db_offset(p, "_thread_db_link_map_l_tls_offset",
			     &p->off_tlsoff) < 0)
		return -1;
	if (p->sizeof_pthread < 512 || p->sizeof_pthread > 1u << 16)
		return plan_refuse("its libc's thread descriptor has an "
			      "implausible size");
	/* We write there, into a copy of that size. */
	if (p->off_list + 16 > p->sizeof_pthread ||
	    p->off_specific + 8 > p->sizeof_pthread)
		return plan_refuse("fields of its libc's thread descriptor lie "
				   "outside it");
	at = locate_address(p->look, &p->ldso, "__rseq_offset");
	if (at && target_read(p->t, at, &p->rseq_offset, 8) < 0)
		return -1;
	offset = (uint64_t)p->rseq_offset;
	if (offset + 32 > p->sizeof_pthread)
		p->rseq_offset = 0;
	return 0;
}

/*
 * The keys of thread-specific data: the helper leaves without libc's own end
 * of a thread, and an allocator that has registered the helper would keep a
 * pointer into its stack (jemalloc 5.3: the next statistics crash).
 */
static int
find_keys(struct plan *p)
{
	enum { KEY_SIZE = 16 };
	uint64_t at;
	uint32_t keys, data;

	if (need(p, "__pthread_keys", &p->thread_keys) < 0 ||
	    need(p, "_thread_db_sizeof_pthread_key_struct", &at) < 0 ||
	    target_read(p->t, at, &keys, sizeof keys) < 0 ||
	    need(p, "_thread_db_sizeof_pthread_key_data", &at) < 0 ||
	    target_read(p->t, at, &data, sizeof data) < 0)
		return -1;
	if (keys != KEY_SIZE)
		return plan_refuse("its libc's thread keys have an implausible "
			      "size");
	if (data != KEY_SIZE)
		return plan_refuse("its libc's thread data has an implausible "
			      "size");
	p->call_tls_dtors = locate_address(p->look, &p->libc,
					   "__call_tls_dtors");
	return 0;
}

static int
find_code(struct plan *p)
{
	static const unsigned char call_and_return[] = {0x0f, 0x05, 0xc3};
	static const unsigned char restore[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05
	};

	p->gadget = locate_code(p->t, &p->libc, call_and_return,
				    sizeof call_and_return);
	p->restore_rt = locate_code(p->t, &p->libc, restore,
					sizeof restore);
	if (!p->gadget || !p->restore_rt)
		return plan_refuse("its libc has no code to make a call with");
	return 0;
}

/* How many threads, and what libc believes; -1 on failure. */
static ssize_t
count_threads(const struct plan *p, unsigned char *flag)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t all = target_threads(p->t, &tids, &cap);
	ssize_t n = all;

	for (ssize_t i = 0; i < all; i++)
		n -= target_is_worker(p->t, tids[i]);
	free(tids);
	*flag = n == 1;
	return p->single_flag &&
		target_read(p->t, p->single_flag, flag, 1) < 0 ? -1 : n;
}

/* Before its libc works the flag is not set either. A program whose other
 * threads have ended is asked again: it may load something just now. */
static int
find_single(struct plan *p)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	unsigned char flag;
	ssize_t n;

	for (int i = 0; i < LOADER_LOOKS; i++) {
		n = count_threads(p, &flag);
		if (n != 1 || (p->single_flag && flag) ||
		    !handled(HAZARD_STARTING) || !plan_loader_works(p))
			break;
		/* it stands, and its libc may never be asked */
		p->loading = p->library && target_held(p->t);
		if (p->loading)
			break;
		if (i + 1 == LOADER_LOOKS)
			return plan_not_begun();
		(void)nanosleep(&moment, NULL);
	}
	if (n < 0)
		return -1;
	p->single = flag != 0;
	if (p->single && n > 1)
		return plan_refuse("its libc believes there is one thread, but "
			      "there are more");
	return 0;
}

/* Something is missing; what was found of libc is not to be called. */
static void
by_hand(struct plan *p)
{
	p->sizeof_pthread = 0;		/* it may be what was implausible */
	p->dlopen = p->dlerror = p->pthread_create = 0;
	p->ctype_init = p->thread_keys = p->call_tls_dtors = 0;
	p->off_tid = p->off_specific = 0;
	p->by_hand = true;
	fail_clear();
}

/*
 * Runtimes that stand between the program and libc, and expect each thread that
 * allocates, or whose memory they check, to be one that they have begun. The
 * helper is none, and crashes in their malloc.
 */
static const char *
find_runtime(const struct plan *p)
{
	static const struct {
		const char *symbol, *name;
	} known[] = {
		{ "__tsan_init", "ThreadSanitizer" },
		{ "__hwasan_init", "HWAddressSanitizer" },
		{ "__msan_init", "MemorySanitizer" },
		{ "__dfsan_load_label", "DataFlowSanitizer" },
		{ "__nsan_init", "NumericalStabilitySanitizer" },
		{ "__rtsan_init", "RealtimeSanitizer" },
	};

	for (size_t i = 0; i < p->nimages; i++)
		for (size_t k = 0; k < ARRAY_LEN(known); k++)
			if (locate_address(p->look, &p->images[i],
					   known[k].symbol))
				return known[k].name;
	return NULL;
}

char *
plan_describe_libc(const struct plan *p)
{
	if (p->runtime)
		return xasprintf("%s, under %s: the collector is mapped by "
				 "hand", p->libc_name, p->runtime);
	if (p->by_hand)
		return xasprintf("%s: it tells nothing of its thread "
				 "descriptors, the collector is mapped by hand",
				 p->libc_name);
	return xasprintf("%s; checked: functions, code to make a call with, "
			 "thread descriptor (%u bytes, number at %u), "
			 "thread keys, thread count", p->libc_name,
			 p->sizeof_pthread, p->off_tid);
}

int
plan_read_libc(struct plan *p)
{
	if (find_libc(p) < 0 || find_code(p) < 0)
		return -1;
	p->runtime = find_runtime(p);
	if (p->runtime)
		by_hand(p);
	if (!p->by_hand && (find_functions(p) < 0 || find_layout(p) < 0 ||
			    find_keys(p) < 0)) {
		if (target_gone(p->t))
			return -1;
		by_hand(p);
	}
	return p->by_hand ? 0 : find_single(p);
}
