/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * experiment: the directory on disk, gprofng format 12.4. Packets on disk
 * are private to this room: writers hand in values, readers get values.
 *
 * Written so that it can be read at any moment and after any kill: log.xml
 * and map.xml grow by one write of whole lines, data files by whole records;
 * a short write is truncated back to whole records and counted.
 */
#ifndef SONDE_EXPERIMENT_H
#define SONDE_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- create.c, append.c: writing ---------------------------------------- */

struct experiment;

struct experiment_info {
	const char *path;	/* ends in .er */
	bool overwrite;		/* replace an experiment of that name */
	bool provisional;	/* ... but not before experiment_began */
	pid_t pid, ppid, pgrp, sid;
	const char *cwd;	/* of the target */
	const char *command;	/* its command line, words joined by blanks */
	bool attached;		/* else launched by us */
	uint64_t interval_ns;	/* asked clock interval; 0: no clock data */
	const char *engine;	/* "ring", "inject" ... */
	const char *engine_why;	/* one line: which form, why, what precision */
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t limit_mb;	/* 0: none */
	uid_t owner; gid_t group; /* who asked; files are theirs; -1: us */
};

/* On failure NULL and nothing is left on disk. An existing path that is
 * not to be overwritten is FAIL_USAGE with the remedy. Room is kept for what
 * experiment_close has to say on a full disk: without it there is no start. */
struct experiment *experiment_create(const struct experiment_info *info);
/* One that was made provisional: it has begun, and what it replaces is removed;
 * or it is none, and what it was to replace is back. abandon frees it. */
void experiment_began(struct experiment *exp);
void experiment_abandon(struct experiment *exp);
const char *experiment_path(const struct experiment *exp);

/* ---- keep.c: only the last so many nanoseconds, in memory ---------------- */

/* Recorded like any other, but without a directory: what is older goes, and is
 * counted. experiment_close forgets what has not been written. */
struct experiment *experiment_keep(const struct experiment_info *info,
				   uint64_t span_ns);
/* Write what is kept as a whole, ordinary experiment, and go on. path NULL:
 * that of info. */
int experiment_write_kept(struct experiment *exp, const char *path,
			  uint64_t time_ns, const char *how);
/* false: it was forgotten, and is no name of a stack any more. */
bool experiment_has_stack(const struct experiment *exp, uint64_t frinfo);
/* How long ago what is kept begins: less than was asked for in the beginning, and
 * where memory is short. 0 if it is no such experiment. */
uint64_t experiment_kept_ns(const struct experiment *exp, uint64_t now);
/* Samples that are too old by now; 0 also if it is no such experiment. */
uint64_t experiment_kept_dropped(struct experiment *exp, uint64_t now);

/* ---- reopen.c: an experiment whose writer was killed --------------------- */

struct experiment_left {
	const char *path;	/* as experiment_where gave it */
	uint64_t device, inode;
	uint64_t token;		/* of its log's `sonde_records` event */
	pid_t pid;
	uint64_t kept;		/* its profile's bytes that nobody has again */
};

/* For whoever comes after us: path (no link in it) and the directory's
 * identity. -1: there is no such path. */
int experiment_where(const struct experiment *exp, char *path, size_t size,
		     struct experiment_left *left);
/* Bytes of its profile on disk. */
uint64_t experiment_profile_bytes(const struct experiment *exp);
/* Go on with it: it must be that directory, the caller's, not closed, without
 * a writer. Nothing that is given need be true. */
struct experiment *experiment_reopen(const struct experiment_left *left);
/* Is a sample of this thread there already, behind `kept`? Asked once for
 * each, in order. */
bool experiment_has_again(struct experiment *exp, pid_t tid);
/* So much more is lost than was, of a cause without detail. */
void experiment_loss_more(struct experiment *exp, uint64_t time_ns,
			  const char *cause, uint64_t samples,
			  uint64_t weight_ns);
/* Free it, still without an end. -1: not all could be written. */
int experiment_leave(struct experiment *exp);

/* How stacks end on disk. */
enum stack_end { STACK_COMPLETE, STACK_TRUNCATED, STACK_FAILED };

/* Intern a stack (leaf first, call addresses) and give its FRINFO. Linked
 * frame packets carry 65536 frames; a longer one keeps its leaf side and is
 * marked truncated. 0 when the disk is full and no more can be kept; a clock
 * packet given with 0 is counted as refused. */
uint64_t experiment_stack(struct experiment *exp, const uint64_t *pcs,
			  size_t len, enum stack_end end);
/* FRINFO of the one-frame stack of an artificial function; it becomes a
 * dynamic function of map.xml so that gprofng names it too. Thus
 * "<Lost samples>", "<Unsampled threads>", kernel functions. */
uint64_t experiment_artificial(struct experiment *exp, const char *name);
/* Its PC, to be put above (before) the user's PCs of a longer stack. */
uint64_t experiment_artificial_pc(struct experiment *exp, const char *name);

enum mstate { MSTATE_USER, MSTATE_SYSTEM, MSTATE_TRAP, MSTATE_TEXT_FAULT,
	      MSTATE_DATA_FAULT, MSTATE_KERNEL_FAULT, MSTATE_LOCK,
	      MSTATE_SLEEP, MSTATE_WAIT_CPU, MSTATE_STOPPED,
	      MSTATE_LINUX_CPU, MSTATE_KERNEL_CPU, MSTATE_COUNT };

/* Weights are microseconds (ptimer is 1): exact CPU time, not ticks. The
 * rest below one microsecond is carried per (thread, state). A weight that
 * the disk refuses is charged to <Lost samples> once there is room again, and
 * that there is room for at the end. cpu EXPERIMENT_BOOKED: no sample, but
 * time that a clock counted beside the samples. */
enum { EXPERIMENT_BOOKED = -1 };
void experiment_clock(struct experiment *exp, uint64_t time_ns, pid_t tid,
		      int cpu, enum mstate state, uint64_t weight_ns,
		      uint64_t frinfo);

struct experiment_allocation {
	uint64_t time_ns;
	pid_t tid;
	int type;		/* HEAP_ALLOC ... */
	uint64_t size, address, old_address;
	uint64_t frinfo;	/* 0: its stack is not known */
	uint64_t calls;		/* that it stands for, and size for theirs */
};
/* Only some are recorded, one byte in so many, and stand for the others.
 * Before the first one; 0: all are. */
void experiment_heap_interval(struct experiment *exp, uint64_t bytes);
/* One call that gave or took memory. The first one makes `heaptrace`. */
void experiment_heap(struct experiment *exp,
		     const struct experiment_allocation *a);

/* What synctrace declares; before the first wait. us: waits below it are not
 * among them; EXPERIMENT_CALIBRATED: a threshold found when it began. */
enum { EXPERIMENT_CALIBRATED = -1 };
void experiment_sync_threshold(struct experiment *exp, int64_t us);

struct experiment_wait {
	uint64_t time_ns, since_ns;	/* granted, asked for */
	pid_t tid, owner;		/* 0: not known whose it was */
	uint64_t object;		/* its address */
	uint64_t frinfo;
};
/* One wait for a lock and its like. The first one makes `synctrace`. */
void experiment_wait(struct experiment *exp, const struct experiment_wait *w);

struct experiment_transfer {
	uint64_t time_ns, since_ns;	/* of its end and begin */
	pid_t tid;
	int type;		/* IO_READ ..., + IO_FAILED */
	int fd, old_fd;		/* -1: none */
	int64_t bytes;
	const char *name;	/* of what was opened; NULL: not told here */
	uint64_t frinfo;
};
/* One call that moved bytes or files. The first one makes `iotrace`. */
void experiment_io(struct experiment *exp,
		   const struct experiment_transfer *t);

/* prot_rwx as MODULE_*: r 4, w 2, x 1. Any path: gprofng gets to know those
 * that are files ("/..."), our reader all. build_id: hex digits, or NULL. */
void experiment_map(struct experiment *exp, uint64_t time_ns, uint64_t start,
		    uint64_t size, uint64_t offset, unsigned prot_rwx,
		    const char *path, const char *build_id);
void experiment_unmap(struct experiment *exp, uint64_t time_ns,
		      uint64_t start);
/* A function without a file (vdso symbols, JIT). */
void experiment_function(struct experiment *exp, uint64_t time_ns,
			 uint64_t start, uint64_t size, const char *name);

struct experiment_usage {	/* cumulative, as getrusage(2) */
	uint64_t user_ns, system_ns, wait_ns, sleep_ns;
	uint64_t lock_ns, text_fault_ns, data_fault_ns, stop_ns;
	uint64_t minor_faults, major_faults, in_blocks, out_blocks;
	uint64_t voluntary, involuntary;
};
/* One overview record and its log line. */
void experiment_sample(struct experiment *exp, uint64_t time_ns,
		       const char *label, const struct experiment_usage *use);
void experiment_pause(struct experiment *exp, uint64_t time_ns,
		      const char *who);
void experiment_resume(struct experiment *exp, uint64_t time_ns);
/* A line of text in the log that people see in `header`. */
void experiment_comment(struct experiment *exp, uint64_t time_ns,
			const char *text);
/* Our own event: name and attributes; gprofng ignores unknown kinds. attrs
 * are name, value, name, value, NULL. */
void experiment_event(struct experiment *exp, uint64_t time_ns,
		      const char *kind, const char *const *attrs);
/* Losses so far, by cause; a `sonde_loss` event (cause detail samples
 * weight_ns) says them when they changed, at most once a second and at the
 * end: the last one of a (cause, detail) holds. cause e.g. "ring", "buffer",
 * "lease", "blocked"; detail "" or a thread name. "disk" is booked here: what
 * experiment_clock was given and could not be written. */
void experiment_loss(struct experiment *exp, uint64_t time_ns,
		     const char *cause, const char *detail, uint64_t samples,
		     uint64_t weight_ns);
/* Records that the disk refused so far: packets, sample points, lines. */
uint64_t experiment_disk_lost(const struct experiment *exp);
/* Of these, packets of traced calls. */
uint64_t experiment_disk_lost_calls(const struct experiment *exp);
/* Of these, samples. */
uint64_t experiment_disk_lost_samples(const struct experiment *exp);
/* Somebody has removed its files: nobody will ever read it. */
bool experiment_is_removed(const struct experiment *exp);
/* Bytes written to data files so far (for the size limit). */
uint64_t experiment_size(const struct experiment *exp);
/* Write everything buffered; records are visible afterwards. -1 (FAIL_PARTIAL)
 * when the disk refused some: stacks and lines are kept and offered again,
 * clock packets are counted and dropped. Go on recording. */
int experiment_flush(struct experiment *exp);
/* The target execs: this experiment ends legally without an exit. */
void experiment_exec(struct experiment *exp, uint64_t time_ns,
		     const char *lineage, const char *command);
/* End it: how is one sentence ("target exited with status 3"). Frees. -1
 * (FAIL_PARTIAL) when records were refused: what is there can be read. */
int experiment_close(struct experiment *exp, uint64_t time_ns,
		     const char *how);
/* `test.N.er` with N one above the highest in use in dir; the caller frees. */
char *experiment_next_name(const char *dir, const char *stem);
/* Of this experiment; of one that is kept in memory, that which was written
 * last. The caller closes it. -1: there is none. */
int experiment_directory(const struct experiment *exp);
struct experiment_archiving {
	int dir_fd;		/* of the experiment, as experiment_directory */
	const char *path;	/* for people */
	const char *root;	/* "" or /proc/PID/root */
	uid_t owner;		/* of the target: what they cannot read is not */
	gid_t group;		/* copied by a root */
};
/* Copy the load objects named by map.xml into archives/ (E4): ON links or
 * describes, COPY copies. The directory is that of dir_fd, whatever stands at
 * the path by now. */
enum archive_mode { ARCHIVE_OFF, ARCHIVE_ON, ARCHIVE_COPY };
int experiment_archive(const struct experiment_archiving *a,
		       enum archive_mode mode);
/* Name of the archived copy of a path inside archives/; caller frees. */
char *experiment_archived_name(const char *path);
/* Build-id of that copy in the experiment; "" unknown. Caller frees. */
char *experiment_archived_id(const char *experiment, const char *path);
/* Copies in the archives of all of these that are equal become one file. */
void experiment_share_archives(const char *const *paths, size_t n);

/* ---- read.c: reading ----------------------------------------------------- */

/* What was mapped, never two at one address at one time: a mapping that is
 * partly covered by a later one goes on in pieces. Records are not sorted.
 * A mapping may be noticed late: a PC of an earlier time that nothing covered
 * then belongs to the next record at its address. */
struct experiment_map_record {
	uint64_t time_ns, until_ns;	/* relative to start; UINT64_MAX: never */
	uint64_t start, size, offset;
	unsigned prot;			/* r 4, w 2, x 1 */
	bool is_function;		/* dynamic function: name is its name */
	const char *name;		/* path or function name */
	const char *build_id;		/* "" unknown */
};

struct experiment_log_event {	/* every <event> but map events, in order */
	uint64_t time_ns;		/* relative to start */
	const char *kind;
	const char *text;
	const char *(*attr)(const struct experiment_log_event *ev,
			    const char *name);	/* NULL: absent */
	const void *opaque;
};

enum { EXPERIMENT_VALUES = 6 };

/* Values of a heap packet, and what its type says. */
enum { HEAP_TYPE, HEAP_SIZE, HEAP_ADDRESS, HEAP_OLD_ADDRESS,
       HEAP_LEAKED,		/* by the profile: bytes never freed */
       HEAP_UNTIL };		/* and when it was freed; UINT64_MAX: never */
enum { HEAP_ALLOC, HEAP_FREE, HEAP_REALLOC, HEAP_MMAP, HEAP_MUNMAP };
enum { IO_READ, IO_WRITE, IO_OPEN, IO_CLOSE, IO_OTHER, IO_FAILED };

struct experiment_packet {	/* one event of a data file */
	int kind;			/* 8 clock, 5 heap, 2 sync, 19 io, 3 hwc */
	uint64_t time_ns;		/* relative to start */
	uint64_t thread, lwp;
	int cpu;
	uint64_t frinfo;
	int mstate;			/* clock; below MSTATE_COUNT */
	uint64_t ticks;			/* clock: NTICK; heap: HCALLS, the
					 * calls that it stands for, or 0: 1 */
	uint64_t weight_ns;		/* clock: NTICK * ptimer */
	/* other kinds: heap HTYPE HSIZE HVADDR HOVADDR; sync SRQST SOBJ SOWNER
	 * (thread that held it, 0: not known); io IOTYPE IOFD IONBYTE IORQST
	 * IOOFD IOFSTYPE; hwc HWCTAG HWCINT VADDR PADDR VIRTPC PHYSPC. Times
	 * (SRQST, IORQST) are relative to start too, modulo 2^64; 0 stays 0. */
	uint64_t value[EXPERIMENT_VALUES];
	const char *text;		/* io: file name, during visit; NULL */
	/* FRINFO of packets that may come, the farther one first: to ask the
	 * memory for what they will need, and for nothing else; 0: unknown. */
	uint64_t ahead[2];
};

struct experiment_reader;

/* Opens what is readable; damage is collected as warnings, one line each.
 * NULL only when there is no experiment (FAIL_MISSING) or nothing at all can
 * be read. follow_children: descendants of a founder, each its own reader
 * via experiment_child. Experiments of gprofng are read too. */
struct experiment_reader *experiment_open(const char *path);
void experiment_reader_free(struct experiment_reader *rd);
const char *experiment_reader_path(const struct experiment_reader *rd);
/* The same for people to read: a group, or a founder, may name others' files. */
const char *experiment_reader_shown(const struct experiment_reader *rd);
/* Values of the header: "version" "collector" "hostname" "arch" "os" "pid"
 * "cwd" "command" "engine" "engine_why" "interval_us" "attached" ...;
 * NULL: not recorded. */
const char *experiment_property(const struct experiment_reader *rd,
				const char *name);
struct experiment_cpus {	/* of the machine; count 0: not recorded */
	uint64_t count, mhz_min, mhz_max;	/* 0 MHz: not known */
};
struct experiment_cpus experiment_cpus(const struct experiment_reader *rd);
/* Did it end as it should? Else it is being recorded (a writer holds its
 * lock), or its writer was killed. */
bool experiment_finished(const struct experiment_reader *rd);
bool experiment_recording(const struct experiment_reader *rd);
uint64_t experiment_start_ns(const struct experiment_reader *rd);
time_t experiment_wall_start(const struct experiment_reader *rd);
uint64_t experiment_duration_ns(const struct experiment_reader *rd);
const char *experiment_notes(const struct experiment_reader *rd); /* or "" */
size_t experiment_warning_count(const struct experiment_reader *rd);
const char *experiment_warning(const struct experiment_reader *rd, size_t i);
/* Files that are not what was written into them: missing, cut, overwritten.
 * While it is recorded only what no writer leaves so. Reading may find more. */
size_t experiment_damaged_count(const struct experiment_reader *rd);
const char *experiment_damaged(const struct experiment_reader *rd, size_t i);
/* Is the archived copy of a path, in archives/ of the founder, what was copied?
 * If not, it is a damaged file of the experiment. */
bool experiment_archived_sound(const struct experiment_reader *rd,
			       const char *founder, const char *path);
/* A file that is read with this experiment (its group) lacks something. */
void experiment_note_damage(const struct experiment_reader *rd,
			    const char *name, const char *what);
size_t experiment_child_count(const struct experiment_reader *rd);
const struct experiment_reader *
experiment_child(const struct experiment_reader *rd, size_t i);

size_t experiment_map_count(const struct experiment_reader *rd);
const struct experiment_map_record *
experiment_map_at(const struct experiment_reader *rd, size_t i);
size_t experiment_log_count(const struct experiment_reader *rd);
const struct experiment_log_event *
experiment_log_at(const struct experiment_reader *rd, size_t i);
/* Every packet of every data file, file by file: the clock, waits, I/O,
 * counters, the heap. Stops when visit is false. */
void experiment_packets(const struct experiment_reader *rd,
			bool (*visit)(void *arg,
				      const struct experiment_packet *p),
			void *arg);
/* Only those of that kind; false when visit stopped it. */
bool experiment_packets_of(const struct experiment_reader *rd, int kind,
			   bool (*visit)(void *arg,
					 const struct experiment_packet *p),
			   void *arg);
/* Was data of that kind recorded, even if there happened to be none? */
bool experiment_declares(const struct experiment_reader *rd, int kind);

struct experiment_counter {	/* a hardware counter, as the log names it */
	const char *name;
	uint64_t tag;		/* HWCTAG of its packets */
};
size_t experiment_counter_count(const struct experiment_reader *rd);
const struct experiment_counter *
experiment_counter_at(const struct experiment_reader *rd, size_t i);
/* The stack of a FRINFO, whole, links followed (a loop is cut). pcs is grown
 * with xgrow; returns the length, or -1 when there is no such stack. */
ssize_t experiment_stack_of(const struct experiment_reader *rd,
			    uint64_t frinfo, uint64_t **pcs, size_t *cap,
			    enum stack_end *end);
/* overview records, cumulative. */
struct experiment_sample_record {
	uint64_t time_ns;
	const char *label;
	struct experiment_usage use;
};
size_t experiment_sample_count(const struct experiment_reader *rd);
const struct experiment_sample_record *
experiment_sample_at(const struct experiment_reader *rd, size_t i);

#endif
