/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * base: why something failed, no memory, strings, arrays, small maps, files,
 * JSON.
 *
 * Everyone stands on this room; it knows nothing of targets or profiles.
 */
#ifndef SONDE_BASE_H
#define SONDE_BASE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/*
 * One failure is kept per process: what was tried on what and why it failed,
 * how to mend it, and its kind. The shell alone prints it and turns the kind
 * into an exit status (one table in shell).
 */
enum fail_kind {
	FAIL_NONE,
	FAIL_GENERAL,		/* anything else */
	FAIL_USAGE,		/* the words of the user are wrong */
	FAIL_MISSING,		/* no such process, experiment, file */
	FAIL_DENIED,		/* permission; the remedy names the setting */
	FAIL_UNSUITABLE,	/* static, 32-bit, traced by another ... */
	FAIL_ENDED,		/* the target ended early; data is kept */
	FAIL_PARTIAL,		/* data is incomplete */
	FAIL_INTERNAL,		/* our own failure around a launched program */
};

struct failure {
	enum fail_kind kind;
	const char *reason;	/* never NULL */
	const char *remedy;	/* "" when there is none */
	const char *choices;	/* lines, each ends with \n; "" when none */
};

/* Record a failure. All return -1. fail_errno reads errno and appends its
 * text; ESRCH and ENOENT become FAIL_MISSING, EPERM and EACCES FAIL_DENIED. */
int fail(enum fail_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int fail_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Put the caller's words in front of the reason: "attach 42: <reason>". */
int fail_in(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Say what the user can do about the failure just recorded. */
int fail_remedy(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What makes a command root's: "sudo ", "as root: " where there is none; ""
 * for root. */
const char *fail_sudo(void);
/* The command that gives our program capabilities; the caller frees it. */
char *fail_setcap(const char *capabilities);
/* One of several that may be meant: a line of its own after the reason. */
int fail_choice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The remedy is to write a word into a file that is root's. */
int fail_remedy_write(const char *word, const char *dir, const char *file,
		      const char *more);
/* fail_sudo and the command line of this process, for whom permission is
 * denied; where that names no process, `sonde -p pid`. */
int fail_remedy_root(int pid);
char *fail_root_command(int pid);	/* the text; the caller frees it */
void fail_set_command(int argc, char **argv);	/* 0: not this one */
/* The last failure; a view that lives until the next call of fail*. */
const struct failure *fail_last(void);
void fail_clear(void);
/* The last failure, kept over what must still be done, and told again; that
 * frees it. */
struct failure *fail_keep(void);
void fail_again(struct failure *kept);

/* No memory: runs the hook (control lets every target go there), says so on
 * standard error and exits with DIE_STATUS. */
enum { DIE_STATUS = 125 };
void die(const char *what) __attribute__((noreturn));
void die_set_hook(void (*hook)(void));
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
/* Grow an array to hold at least n elements; *cap is updated. */
void *xgrow(void *p, size_t *cap, size_t n, size_t elem);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap)
	__attribute__((format(printf, 1, 0)));

/* A growing string; {0} is the empty value. data is NULL or NUL-ended. */
struct str {
	char *data;
	size_t len, cap;
};

void str_fini(struct str *s);
void str_clear(struct str *s);
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addf(struct str *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The text, "" when nothing was added; owned by s. */
const char *str_text(const struct str *s);
/* Take the text out; the caller frees it; s is empty again. */
char *str_take(struct str *s);
/* 4973 as 4,973 */
void str_add_grouped(struct str *s, uint64_t n);
/* A word of a command that people paste: in quotes where the system's shell
 * would see more than one word. str_quoted: the caller frees it. */
void str_add_quoted(struct str *s, const char *word);
char *str_quoted(const char *word);

/* ---- tame.c: text that others wrote ------------------------------------ */

/* For people's eyes: what a terminal would obey, hide or turn round in it, and
 * what is no UTF-8, becomes '?', in place. Everything that others name passes
 * through here before it is shown. Returns text. str_tame: a name, which stays
 * in its line; str_tame_lines: text whose lines and tabs stay. */
char *str_tame(char *text);
char *str_tame_lines(char *text);
/* A tame copy; NULL is "". The caller frees it. */
char *str_tamed(const char *text);
bool str_is_tame(const char *text);
/* A copy that is UTF-8: other bytes become U+FFFD. The caller frees it. */
char *str_utf8(const char *text);
/* Bytes of the character there, 0: it is no UTF-8; its number; is it one that
 * nobody sees as itself? */
size_t utf8_length(const char *text);
uint32_t utf8_code(const char *text, size_t n);
bool utf8_hidden(uint32_t code);

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Without the newline that the kernel adds at its end: a name, as of a process,
 * may hold others. Returns s; NULL stays NULL. */
char *str_chomp(char *s);
/* Is the path that, or does it end so behind a slash? n bytes of end. */
bool str_path_ends(const char *path, const char *end, size_t n);
/* A whole decimal number within [min, max]; false when it is not. */
bool str_number(const char *s, long long min, long long max, long long *out);

/* A growing array of pointers; {0} is the empty value; owns the array only. */
struct vec {
	void **items;
	size_t len, cap;
};

void vec_fini(struct vec *v);
void vec_push(struct vec *v, void *item);
/* Free every item with free() and empty the vector. */
void vec_free_items(struct vec *v);

/* uint64 -> uint64; {0} is the empty value. Pointers are kept as uintptr_t.
 * Any key is allowed. */
struct map {
	struct map_slot *slots;
	size_t len, cap;
	uint64_t zero;		/* key 0 has no slot */
	bool has_zero;
};

void map_fini(struct map *m);
void map_put(struct map *m, uint64_t key, uint64_t value);
bool map_get(const struct map *m, uint64_t key, uint64_t *value);
/* The place of key's value, made with value 0 when new. Valid until the
 * next map_put, map_slot_of or map_remove. */
uint64_t *map_slot_of(struct map *m, uint64_t key);
bool map_remove(struct map *m, uint64_t key);
/* It will be looked for soon: the memory may begin to bring it. */
void map_ask(const struct map *m, uint64_t key);
/* What map_get says, and it is there no more. */
bool map_take(struct map *m, uint64_t key, uint64_t *value);
/* Walk: start with *at = 0; false at the end. */
bool map_next(const struct map *m, size_t *at, uint64_t *key, uint64_t *value);
/* Free every value with free() and empty the map. */
void map_free_values(struct map *m);

/* Mix bytes or a word into a 64-bit hash. */
uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);
uint64_t hash_word(uint64_t word);

/* Two hashes of the same words: together 128 bits that decide whether they
 * are equal. */
struct hash_two {
	uint64_t key, check;
};

struct hash_two hash_words(const uint64_t *words, size_t n, uint64_t seed);

/* The XXH64 of bytes that come in pieces; empty with all zeros. */
struct checksum {
	bool begun;
	uint64_t state[11];	/* of libxxhash's XXH64 */
};

void checksum_add(struct checksum *sum, const void *data, size_t n);
uint64_t checksum_end(const struct checksum *sum);
/* The first n bytes of a file, wherever it stands. -1: it has fewer. */
int checksum_file(struct checksum *sum, int fd, uint64_t n);

/* CLOCK_MONOTONIC, nanoseconds. */
uint64_t now_ns(void);
/* CPU time of the calling thread, nanoseconds. */
uint64_t thread_cpu_ns(void);

enum { BUILD_ID_BYTES_MAX = 64 };	/* libdebuginfod takes no more */
/* Hex digits of such a number of bytes: what may go into a path or a URL. */
bool str_is_build_id(const char *text);

/* Read a whole file (also one of /proc, whose size is unknown) relative to
 * dir_fd (AT_FDCWD). The text is NUL-ended; the caller frees it. NULL on
 * failure, with errno kept and no failure recorded. */
char *file_read_at(int dir_fd, const char *path, size_t *size);
char *file_read(const char *path, size_t *size);
/* A regular file in a directory that others may have filled: no link is
 * followed, nothing waits. A descriptor, or -1 with errno. */
int file_open_plain(int dir_fd, const char *name);
/* The same as file_read_at. */
char *file_read_plain(int dir_fd, const char *name, size_t *size);
/* Mostly holes: it occupies less than a 32nd of its size, but for 8 MB. Whoever
 * made it has no costs; to read it takes time and memory. file_read_plain fails
 * with EFBIG. */
bool file_is_hollow(int fd);
/* A regular file, no link, that is ours or root's and that no one else may
 * write, in directories for which the same holds: fit to be obeyed. NULL with
 * errno; EPERM: others might have written it. */
FILE *file_open_private(const char *path);
/* The same of a file that the user may have put elsewhere, behind a link. */
FILE *file_open_own(const char *path);
enum trust_for { TRUST_TO_OBEY, TRUST_TO_WRITE };
/* Can nobody else change what stands in this directory, or put another one in
 * its place? To write, a sticky directory will do, and one of the user who
 * called sudo. -1 with errno; EPERM: another user can. */
int directory_trust(int dir_fd, const char *path, enum trust_for what);
/* Root, this user, or the one who called sudo. */
struct stat;
bool trust_owner(const struct stat *st);
/* ---- trust_path.c: may a library of others open that? ------------------- */
/* Only those, who could wait for it for ever, decide what an open of this
 * absolute path finds: a regular file, or nothing. */
bool path_is_safe(const char *path);
/* ---- open_out.c: a file that the user names for output ------------------- */
/* Made where it is not there; emptied but to append. A link that
 * another user can have made is not followed. -1, NULL: said by fail. */
int file_open_out(const char *path, bool append);
FILE *file_out(const char *path, bool append);
/* Is it one of the directories of a list with colons, or below one? */
bool path_is_within(const char *path, const char *list);
/* Write it all or fail; -1 with errno. Restarts after EINTR. */
int write_all(int fd, const void *data, size_t n);
/* Are the numbers of threads here those of the kernel itself? Not so in a PID
 * namespace other than the initial one. */
bool pids_are_the_kernels(void);
/* Of the running kernel's release; false where that cannot be read. */
bool kernel_is_at_least(unsigned major, unsigned minor);
/* The thread by whose /proc, and by whose number, files and memory of the
 * process are to be read: pid, unless that thread has ended and others live. */
pid_t process_living(pid_t pid);
/* ---- mapped.c: which file is behind a mapping --------------------------- */

struct mapped {
	uint64_t start, end;
	uint64_t device, inode;	/* 0: not known, and the name must do */
	const char *path;	/* as maps has it, decoded, without a mark */
};

/* A path, relative to dir_fd, under which that very file can be opened; proc
 * is the directory of its process there, "/proc/PID". NULL: no file was
 * found. The caller frees it. */
char *mapped_file(int dir_fd, const char *proc, const struct mapped *m);

/* The letter of /proc; 0: there is none such. */
char thread_state(pid_t pid, pid_t tid);

/* ---- origin.c: how we were started */

/* First of all: keep it, and make a sound state of it for ourselves. */
void origin_keep(void);
/* Did whoever started us ignore this signal? */
bool origin_ignores(int signal);
/* In a child that is about to execute a program: as it was. */
void origin_restore(void);

/* ---- pages.c: another process's memory; no read waits for a page for ever.
 * pid: whose page map (a thread's number serves), tid: by whom it is read. */

struct iovec;
/* As process_vm_readv(2). It ends at a page that nobody serves in time, too;
 * the first one gives ETIMEDOUT. */
ssize_t pages_readv(pid_t pid, pid_t tid, const struct iovec *to,
		    const struct iovec *from, size_t n);
ssize_t pages_read(pid_t pid, pid_t tid, uint64_t addr, void *buf, size_t n);
/* As a read of /proc/TID/mem, which goes by no protection; slow. */
ssize_t pages_force(pid_t tid, uint64_t addr, void *buf, size_t n);
bool pages_are_there(pid_t pid, uint64_t addr, size_t n);
/* Before they are written: have them there. false with errno. */
bool pages_fetch(pid_t pid, pid_t tid, uint64_t addr, size_t n);
/* Start what reads pages that are not there: at leisure, not in a stop. */
void pages_prepare(void);
/* Where another process sees who reads: one that stays in a read for seconds,
 * in state D, waits for what never comes. */
struct page_watch {
	_Atomic unsigned begun;
	_Atomic pid_t reader;		/* 0: nobody */
};
void pages_watched(struct page_watch *w);

/* Raise the soft limit of descriptors; more where we are allowed to. */
void descriptors_raise(void);
/* How many there can be now. */
uint64_t descriptors_most(void);
/* Would so many leave room for the rest of the process, were they the first? */
bool descriptors_suffice(size_t n);
/* fd is so near to the limit that the rest of the process needs it. */
bool descriptor_is_reserve(int fd);

/*
 * JSON, written as it comes, no tree in memory. Elements of the outer arrays
 * stand on lines of their own, so that people can read it too.
 */
struct json {
	FILE *out;
	int depth;
	bool more;		/* something stands before, at this depth */
	bool one_line;		/* ... or all in one line */
};

void json_begin(struct json *j, const char *key, char bracket);
void json_end(struct json *j, char bracket);
/* key NULL: an element of an array; text NULL: null. */
void json_text(struct json *j, const char *key, const char *text);
void json_number(struct json *j, const char *key, int64_t number);
void json_unsigned(struct json *j, const char *key, uint64_t number);
/* "0x7f00": numbers of JSON lose the last bits of an address. */
void json_address(struct json *j, const char *key, uint64_t address);
void json_bool(struct json *j, const char *key, bool value);
/* Six digits behind the point at most; what is no number is null. */
void json_real(struct json *j, const char *key, double number);
/* What is JSON already. */
void json_raw(struct json *j, const char *key, const char *json);

#endif
