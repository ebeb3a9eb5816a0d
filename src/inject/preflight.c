/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learn by reading alone whether and how the guest can be put in, while the
 * target runs. Whatever is missing ends in a refusal with its reason: nothing
 * is guessed, and nothing has been touched by then.
 *
 * libc is chosen by the link maps of the main namespace, not by file names or
 * the order of mappings (LD_AUDIT and dlmopen bring a second libc).
 */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"

#define OTHER_ENGINE "`collector engine ring` samples it without loading " \
	"anything"

enum { AUXV_MAX = 64, CAP_SYS_ADMIN_BIT = 21 };

static int
refuse(const char *reason)
{
	(void)fail(FAIL_UNSUITABLE, "%s", reason);
	return fail_remedy(OTHER_ENGINE);
}

/* ---- what /proc says ------------------------------------------------------ */

static char *
status_text(struct target *t)
{
	char path[64];

	snprintf(path, sizeof path, "task/%d/status", target_live_thread(t));
	return file_read_at(target_proc(t), path, NULL);
}

static long
status_number(const char *text, const char *key, int base)
{
	const char *at = strstr(text, key);

	return at ? strtol(at + strlen(key), NULL, base) : 0;
}

static bool
we_may_suspend_seccomp(void)
{
	char *text = file_read("/proc/self/status", NULL);
	unsigned long caps = 0;
	const char *at = text ? strstr(text, "\nCapEff:") : NULL;

	if (at)
		caps = strtoul(at + 8, NULL, 16);
	free(text);
	return caps >> CAP_SYS_ADMIN_BIT & 1;
}

static int
check_parent(struct target *t, pid_t parent)
{
	if (parent <= 1 || syscall(SYS_kcmp, parent, target_live_thread(t),
				   KCMP_VM, 0, 0) != 0)
		return 0;
	(void)fail(FAIL_UNSUITABLE, "process %d shares its memory with its "
		   "parent %d (vfork)", target_pid(t), parent);
	return fail_remedy("attach again when it has called exec, or attach "
			   "to the parent");
}

static int
check_status(struct target *t, struct plan *p)
{
	char *text = status_text(t);
	long tracer, parent, seccomp;
	const char *features;
	bool shadow_stack;

	if (!text)
		return fail_errno("read the status of process %d",
				  target_pid(t));
	tracer = status_number(text, "\nTracerPid:", 10);
	parent = status_number(text, "\nPPid:", 10);
	seccomp = status_number(text, "\nSeccomp:", 10);
	features = strstr(text, "\nx86_Thread_features:");
	shadow_stack = features && strncmp(strstr(features, ":"), ":\tshstk",
					   7) == 0;
	free(text);
	/* A thread that we hold ourselves is no other debugger's. */
	if (tracer != 0 && tracer != getpid() && target_check_ptrace(t) < 0)
		return -1;
	p->seccomp = seccomp != 0;
	if (p->seccomp && !we_may_suspend_seccomp()) {
		(void)fail(FAIL_UNSUITABLE, "process %d is confined by "
			   "seccomp, which would kill it for our calls",
			   target_pid(t));
		return fail_remedy("run as root, or: " OTHER_ENGINE);
	}
	if (shadow_stack)
		return refuse("it runs with a shadow stack, which the way in "
			      "does not support yet");
	return check_parent(t, (pid_t)parent);
}

/* ---- the program and its load objects ------------------------------------- */

static int
check_class(struct target *t)
{
	unsigned char ident[20] = {0};
	char path[64];
	ssize_t n;
	int fd;

	/* a leader that has ended has none */
	snprintf(path, sizeof path, "task/%d/exe", target_live_thread(t));
	fd = openat(target_proc(t), path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno("open the program of process %d",
				  target_pid(t));
	n = read(fd, ident, sizeof ident);
	close(fd);
	if (n != (ssize_t)sizeof ident)
		return fail(FAIL_UNSUITABLE, "the program of process %d "
			    "cannot be read", target_pid(t));
	if (ident[EI_CLASS] != ELFCLASS64 || ident[18] != EM_X86_64)
		return refuse("it is not a 64-bit x86-64 program");
	return 0;
}

static uint64_t
auxv_value(struct target *t, uint64_t type)
{
	size_t size, i;
	uint64_t value = 0;
	uint64_t *aux;
	char path[64];

	snprintf(path, sizeof path, "task/%d/auxv", target_live_thread(t));
	aux = (uint64_t *)file_read_at(target_proc(t), path, &size);
	for (i = 0; aux && i + 1 < size / 8 && i < 2 * AUXV_MAX; i += 2)
		if (aux[i] == type)
			value = aux[i + 1];
	free(aux);
	return value;
}

/* The head of the main namespace's link maps, 0: there is no ld.so. */
static uint64_t
link_maps(struct target *t, const struct modules *mods)
{
	struct image program;
	uint64_t debug, head = 0;
	const uint64_t phdr = auxv_value(t, AT_PHDR);
	const uint64_t header = phdr ? mapping_header(mods, phdr) : 0;

	if (!header || locate_image(t, header, &program) < 0)
		return 0;
	debug = program.debug;
	/* `ld.so program`: the kernel knows only ld.so. */
	if (!debug)
		debug = locate_address(t, &program, "_r_debug");
	if (!debug || target_read(t, debug + 8, &head, sizeof head) < 0)
		return 0;
	return head;
}

struct link {
	uint64_t bias, name, dynamic, next, prev;
};

static int
add_image(struct plan *p, uint64_t at, const struct link *lm, size_t *cap)
{
	const uint64_t header = mapping_header(&p->mods, lm->dynamic);
	struct image img;

	/* Gone while we looked, or not an object we can read: not ours. */
	if (!header || locate_image(p->t, header, &img) < 0 ||
	    img.dynamic != lm->dynamic)
		return 0;
	img.link_map = at;
	p->images = xgrow(p->images, cap, p->nimages + 1, sizeof img);
	p->images[p->nimages++] = img;
	return 0;
}

static void
read_name(struct target *t, uint64_t at, char *name, size_t size)
{
	size_t n;

	for (n = 0; n + 1 < size; n++)
		if (target_read(t, at + n, name + n, 1) < 0 || !name[n])
			break;
	name[n] = 0;
}

/*
 * dlopen compares names before files: were our path the name of something
 * loaded long ago, it would hand us that. More slashes make it a new name.
 */
static void
avoid_name(struct plan *p, const struct link *lm)
{
	char name[128];

	read_name(p->t, lm->name, name, sizeof name);
	if (str_starts(name, p->library_path)) {
		const size_t n = strlen(p->library_path);

		if (n + 16 < sizeof p->library_path)
			memmove(p->library_path + 1, p->library_path, n + 1);
	}
}

static int
walk_links(struct plan *p, uint64_t at)
{
	size_t cap = 0;
	unsigned left = PLAN_IMAGES_MAX;

	snprintf(p->library_path, sizeof p->library_path,
		 "/proc/thread-self/fd/");
	while (at && left-- > 0) {
		struct link lm;

		if (target_read(p->t, at, &lm, sizeof lm) < 0)
			return -1;
		avoid_name(p, &lm);
		if (add_image(p, at, &lm, &cap) < 0)
			return -1;
		at = lm.next;
	}
	return 0;
}

static int
no_loader(struct target *t, const struct modules *mods)
{
	const uint64_t phdr = auxv_value(t, AT_PHDR);
	const uint64_t header = phdr ? mapping_header(mods, phdr) : 0;
	struct image program = {0};

	if (header && locate_image(t, header, &program) == 0 &&
	    program.has_interp)
		return refuse("its dynamic loader has not set up the program "
			      "yet, or hides it");
	return refuse(program.dynamic
		      ? "it is a static-pie program: it has no dlopen"
		      : "it is statically linked (as Go programs are): it has "
			"no dlopen");
}

/* ---- libc ----------------------------------------------------------------- */

static int
find_libc(struct plan *p)
{
	size_t i;

	for (i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];

		if (!p->libc.bias &&
		    locate_address(p->t, img, "gnu_get_libc_version"))
			p->libc = *img;
		if (!p->ldso.bias && locate_address(p->t, img, "_r_debug"))
			p->ldso = *img;
		if (locate_address(p->t, img, "__libc_start_main") &&
		    locate_address(p->t, img, "dlopen") &&
		    !locate_address(p->t, img, "gnu_get_libc_version"))
			return refuse("its libc is musl, for which loading is "
				      "not supported yet");
	}
	if (p->nimages > 0 && !p->images[0].has_interp && !p->ldso.bias)
		return refuse("it is a static-pie program: it has no dlopen");
	if (!p->libc.bias || !p->ldso.bias)
		return refuse("it has no GNU libc");
	p->glibc_minor = locate_glibc_minor(p->t, &p->libc);
	snprintf(p->libc_name, sizeof p->libc_name, "glibc 2.%u",
		 p->glibc_minor);
	return 0;
}

/* A function of libc, or of what was a library of its own before 2.34. */
static uint64_t
libc_function(const struct plan *p, const char *name)
{
	uint64_t at = locate_address(p->t, &p->libc, name);
	size_t i;

	for (i = 0; !at && i < p->nimages; i++)
		if (locate_address(p->t, &p->images[i],
				  "__pthread_initialize_minimal") ||
		    locate_address(p->t, &p->images[i], "__pthread_unwind"))
			at = locate_address(p->t, &p->images[i], name);
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
			   "-lpthread; else: " OTHER_ENGINE : OTHER_ENGINE);
}

static int
find_functions(struct plan *p)
{
	p->dlopen_flags = 2;			/* RTLD_NOW, local */
	p->dlopen = locate_address(p->t, &p->libc, "dlopen");
	if (!p->dlopen) {
		/* Before 2.34: what libdl's dlopen itself is made of. */
		p->dlopen_flags |= 0x80000000u;
		if (need(p, "__libc_dlopen_mode", &p->dlopen) < 0)
			return -1;
	}
	p->dlerror = libc_function(p, "dlerror");
	p->single_flag = locate_address(p->t, &p->libc,
				       "__libc_single_threaded");
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
		return refuse("its libc's thread descriptor has an "
			      "implausible size");
	at = locate_address(p->t, &p->ldso, "__rseq_offset");
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
		return refuse("its libc's thread keys have an implausible "
			      "size");
	if (data != KEY_SIZE)
		return refuse("its libc's thread data has an implausible "
			      "size");
	p->call_tls_dtors = locate_address(p->t, &p->libc,
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
		return refuse("its libc has no code to make a call with");
	return 0;
}

static int
find_single(struct plan *p)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(p->t, &tids, &cap);
	unsigned char flag = n == 1;

	free(tids);
	if (n < 0 || (p->single_flag &&
		      target_read(p->t, p->single_flag, &flag, 1) < 0))
		return -1;
	p->single = flag != 0;
	if (p->single && n > 1)
		return refuse("its libc believes there is one thread, but "
			      "there are more");
	return 0;
}

/* ---- our library, when it is there already ---------------------------------- */

static bool
is_our_library(const struct plan *p, const struct image *img,
	       const Elf64_Ehdr *ours, const Elf64_Phdr *text)
{
	struct collector_identity id;
	const uint64_t at = img->bias + text->p_vaddr;
	unsigned char *copy;
	bool same;

	if (img->entry != img->bias + ours->e_entry ||
	    target_read(p->t, img->entry - sizeof id, &id, sizeof id) < 0 ||
	    id.magic != COLLECTOR_MAGIC)
		return false;
	copy = xmalloc(text->p_filesz);
	same = target_read(p->t, at, copy, text->p_filesz) == 0 &&
	       memcmp(copy, collector_image + text->p_offset,
		      text->p_filesz) == 0;
	free(copy);
	return same;
}

/* Byte for byte the same code, wherever it came from; another build of ours
 * is left alone and a second one loaded. */
static void
find_library(struct plan *p)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)collector_image;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(collector_image +
						    eh->e_phoff);
	const struct collector_identity *id = NULL;
	size_t i, k;

	for (k = 0; k < eh->e_phnum; k++)
		if (ph[k].p_type == PT_LOAD && (ph[k].p_flags & PF_X))
			break;
	assert(k < eh->e_phnum);
	id = (const struct collector_identity *)
		(collector_image + ph[k].p_offset +
		 (eh->e_entry - ph[k].p_vaddr) - sizeof *id);
	p->library_entry = eh->e_entry;
	p->library_leave = eh->e_entry + (uint64_t)(int64_t)id->leave;
	for (i = 0; i < p->nimages; i++)
		if (is_our_library(p, &p->images[i], eh, &ph[k])) {
			p->library = p->images[i].bias;
			return;
		}
}

/* ---- all of it ------------------------------------------------------------- */

static int
read_map(struct plan *p)
{
	char *text = target_maps(p->t);
	int r;
	size_t i;

	if (!text)
		return -1;
	r = modules_parse(&p->mods, text);
	free(text);
	for (i = 0; r == 0 && i < p->mods.len; i++) {
		const struct module *m = &p->mods.items[i];
		struct image vdso;

		if (strcmp(m->path, "[stack]") == 0)
			p->main_stack_end = m->end;
		if (strcmp(m->path, "[vdso]") == 0 &&
		    locate_image(p->t, m->start, &vdso) == 0)
			p->vdso_clock = locate_address(p->t, &vdso,
						"__vdso_clock_gettime");
	}
	return r;
}

static int
plan_fill(struct plan *p)
{
	uint64_t head;

	if (check_class(p->t) < 0 || check_status(p->t, p) < 0 ||
	    read_map(p) < 0)
		return -1;
	head = link_maps(p->t, &p->mods);
	if (!head)
		return no_loader(p->t, &p->mods);
	if (walk_links(p, head) < 0 || find_libc(p) < 0 ||
	    find_functions(p) < 0 || find_layout(p) < 0 || find_keys(p) < 0 ||
	    find_code(p) < 0 ||
	    find_single(p) < 0)
		return -1;
	find_library(p);
	return 0;
}

int
plan_make(struct target *t, struct plan *p)
{
	int tries;

	/* The target may load and unload while we read; look again. */
	for (tries = 0; tries < 5; tries++) {
		memset(p, 0, sizeof *p);
		p->t = t;
		if (plan_fill(p) == 0)
			return 0;
		plan_fini(p);
		if (target_gone(t))
			break;
	}
	return -1;
}

void
plan_fini(struct plan *p)
{
	modules_fini(&p->mods);
	free(p->images);
	p->images = NULL;
	p->nimages = 0;
}

int
inject_possible(struct target *t)
{
	struct plan p;

	if (plan_make(t, &p) < 0)
		return fail_in("process %d: load the collector",
			       target_pid(t));
	plan_fini(&p);
	return 0;
}
