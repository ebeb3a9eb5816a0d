/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: layout of the memfd that hooks of traced functions write, and we
 * drain. Like the record area it is sealed and was allocated by us.
 *
 *   [ trace_area | trace_chunk x chunks | stacks | patches | names
 *     | sampled | data of chunks ]
 *
 * A thread takes a free chunk, writes records into it one after the other and
 * closes it when the next one does not fit. Its first word makes a record
 * visible, and is stored last; before, it is 0. So a handler may write records
 * while the code that it interrupted is at one, and the reader stops at the
 * first that is not there yet. When a closed chunk has been read we fill it
 * with zeros and set its bit in `free`.
 *
 * The last TRACE_SCRATCH_BYTES bytes of a chunk are its thread's, for the stack
 * that it is about to write, and to remember it.
 */
#ifndef SONDE_TRACE_H
#define SONDE_TRACE_H

#include <stdint.h>

#define TRACE_MAGIC	UINT64_C(0x3145434172746e73)	/* "sntrACE1" */

enum {
	TRACE_VERSION = 8,
	TRACE_HEADER_BYTES = 8192,
	TRACE_CHUNK_BYTES = 65536,
	TRACE_CHUNKS_MAX = 4096,
	TRACE_DEPTH = 1000,	/* frames of a stack; beyond: RECORD_TOO_DEEP */
	TRACE_SCRATCH_BYTES = 20352,
	TRACE_SAMPLED_LEAST = 16,
	TRACE_NAMES_MAX = 512,
	TRACE_ROOM = TRACE_CHUNK_BYTES - TRACE_SCRATCH_BYTES,
};

enum trace_family { TRACE_HEAP, TRACE_SYNC, TRACE_IO, TRACE_FAMILIES };

/* ---- input and output ---------------------------------------------------- */

/* What is in a TRACE_CALL of it, and what the call does. */
enum trace_io_class {
	TRACE_IO_NONE,
	TRACE_IO_READS, TRACE_IO_WRITES, /* as /proc/PID/io counts them */
	TRACE_IO_RECEIVES, TRACE_IO_SENDS,
	TRACE_IO_COPIES,	/* from other fd to fd; counted on both sides */
	TRACE_IO_SPLICES,	/* the same, but not counted */
	TRACE_IO_STREAM_READS, TRACE_IO_STREAM_WRITES, /* by way of a buffer */
	TRACE_IO_OPENS,		/* fd: the new one; other: of the directory */
	TRACE_IO_PAIRS,		/* both are new */
	TRACE_IO_DUPS,		/* fd: the new one; other: the old one */
	TRACE_IO_SOCKETS,	/* fd: new; other: family | type << 16 */
	TRACE_IO_ACCEPTS,	/* fd: the new one; its path is an address */
	TRACE_IO_CONNECTS,	/* its path is an address */
	TRACE_IO_CLOSES,
	TRACE_IO_OTHERS,
};

/* X(function, class, name, another name of the same) */
#define TRACE_IO_CALLS(X) \
	X(READ, READS, "read", "__read") \
	X(PREAD, READS, "pread", "pread64") \
	X(READV, READS, "readv", 0) \
	X(PREADV, READS, "preadv", "preadv64") \
	X(PREADV2, READS, "preadv2", "preadv64v2") \
	X(READ_CHK, READS, "__read_chk", 0) \
	X(PREAD_CHK, READS, "__pread_chk", 0) \
	X(PREAD64_CHK, READS, "__pread64_chk", 0) \
	X(WRITE, WRITES, "write", "__write") \
	X(PWRITE, WRITES, "pwrite", "pwrite64") \
	X(WRITEV, WRITES, "writev", 0) \
	X(PWRITEV, WRITES, "pwritev", "pwritev64") \
	X(PWRITEV2, WRITES, "pwritev2", "pwritev64v2") \
	X(RECV, RECEIVES, "recv", 0) \
	X(RECVFROM, RECEIVES, "recvfrom", 0) \
	X(RECVMSG, RECEIVES, "recvmsg", 0) \
	X(RECVMMSG, RECEIVES, "recvmmsg", 0) \
	X(RECV_CHK, RECEIVES, "__recv_chk", 0) \
	X(RECVFROM_CHK, RECEIVES, "__recvfrom_chk", 0) \
	X(SEND, SENDS, "send", "__send") \
	X(SENDTO, SENDS, "sendto", 0) \
	X(SENDMSG, SENDS, "sendmsg", 0) \
	X(SENDMMSG, SENDS, "sendmmsg", "__sendmmsg") \
	X(SENDFILE, COPIES, "sendfile", "sendfile64") \
	X(COPY_FILE_RANGE, COPIES, "copy_file_range", 0) \
	X(SPLICE, SPLICES, "splice", 0) \
	X(OPEN_PATH, OPENS, "open", "open64") \
	X(OPEN_2, OPENS, "__open_2", 0) \
	X(OPEN64_2, OPENS, "__open64_2", 0) \
	X(CREAT, OPENS, "creat", "creat64") \
	X(MKSTEMP, OPENS, "mkstemp", "mkstemp64") \
	X(MKOSTEMP, OPENS, "mkostemp", "mkostemp64") \
	X(OPENAT, OPENS, "openat", "openat64") \
	X(OPENAT_2, OPENS, "__openat_2", 0) \
	X(OPENAT64_2, OPENS, "__openat64_2", 0) \
	X(PIPE, PAIRS, "pipe", "__pipe") \
	X(PIPE2, PAIRS, "pipe2", 0) \
	X(SOCKETPAIR, PAIRS, "socketpair", 0) \
	X(DUP, DUPS, "dup", 0) \
	X(DUP2, DUPS, "dup2", "__dup2") \
	X(DUP3, DUPS, "dup3", 0) \
	X(FCNTL, DUPS, "fcntl", "fcntl64") \
	X(SOCKET, SOCKETS, "socket", 0) \
	X(ACCEPT, ACCEPTS, "accept", 0) \
	X(ACCEPT4, ACCEPTS, "accept4", 0) \
	X(CONNECT, CONNECTS, "connect", "__connect") \
	X(CLOSE, CLOSES, "close", "__close") \
	X(FSYNC, OTHERS, "fsync", 0) \
	X(FDATASYNC, OTHERS, "fdatasync", 0) \
	X(VFORK, NONE, "vfork", "__vfork") \
	/* whatever is traced */ \
	X(FORK, NONE, "fork", "__fork") \
	X(PRCTL, NONE, "prctl", "__prctl") \
	X(SYSCALL, NONE, "syscall", 0)

#define TRACE_STREAM_CALLS(X) \
	X(FOPEN, OPENS, "fopen", "fopen64") \
	X(FREOPEN, OPENS, "freopen", 0) \
	X(FREOPEN64, OPENS, "freopen64", 0) \
	X(FDOPEN, OTHERS, "fdopen", "_IO_fdopen") \
	X(FCLOSE, CLOSES, "fclose", "_IO_fclose") \
	X(FFLUSH, OTHERS, "fflush", "_IO_fflush") \
	X(FFLUSH_UNLOCKED, OTHERS, "fflush_unlocked", 0) \
	X(FREAD, STREAM_READS, "fread", "_IO_fread") \
	X(FREAD_UNLOCKED, STREAM_READS, "fread_unlocked", 0) \
	X(FREAD_CHK, STREAM_READS, "__fread_chk", 0) \
	X(FREAD_UNLOCKED_CHK, STREAM_READS, "__fread_unlocked_chk", 0) \
	X(FGETS, STREAM_READS, "fgets", "_IO_fgets") \
	X(FGETS_UNLOCKED, STREAM_READS, "fgets_unlocked", 0) \
	X(FGETS_CHK, STREAM_READS, "__fgets_chk", 0) \
	X(FGETS_UNLOCKED_CHK, STREAM_READS, "__fgets_unlocked_chk", 0) \
	X(FGETC, STREAM_READS, "fgetc", 0) \
	X(FGETC_UNLOCKED, STREAM_READS, "fgetc_unlocked", 0) \
	X(GETC, STREAM_READS, "getc", "_IO_getc") \
	X(GETC_UNLOCKED, STREAM_READS, "getc_unlocked", 0) \
	X(GETCHAR, STREAM_READS, "getchar", 0) \
	X(GETCHAR_UNLOCKED, STREAM_READS, "getchar_unlocked", 0) \
	X(GETLINE, STREAM_READS, "getline", 0) \
	X(GETDELIM, STREAM_READS, "getdelim", "__getdelim") \
	X(FWRITE, STREAM_WRITES, "fwrite", "_IO_fwrite") \
	X(FWRITE_UNLOCKED, STREAM_WRITES, "fwrite_unlocked", 0) \
	X(FPUTS, STREAM_WRITES, "fputs", "_IO_fputs") \
	X(FPUTS_UNLOCKED, STREAM_WRITES, "fputs_unlocked", 0) \
	X(PUTS, STREAM_WRITES, "puts", "_IO_puts") \
	X(FPUTC, STREAM_WRITES, "fputc", 0) \
	X(FPUTC_UNLOCKED, STREAM_WRITES, "fputc_unlocked", 0) \
	X(PUTC, STREAM_WRITES, "putc", "_IO_putc") \
	X(PUTC_UNLOCKED, STREAM_WRITES, "putc_unlocked", 0) \
	X(PUTCHAR, STREAM_WRITES, "putchar", 0) \
	X(PUTCHAR_UNLOCKED, STREAM_WRITES, "putchar_unlocked", 0) \
	X(PRINTF, STREAM_WRITES, "printf", "_IO_printf") \
	X(PRINTF_CHK, STREAM_WRITES, "__printf_chk", 0) \
	X(FPRINTF, STREAM_WRITES, "fprintf", "_IO_fprintf") \
	X(FPRINTF_CHK, STREAM_WRITES, "__fprintf_chk", 0) \
	X(DPRINTF, WRITES, "dprintf", 0) \
	X(DPRINTF_CHK, WRITES, "__dprintf_chk", 0) \
	X(VPRINTF, STREAM_WRITES, "vprintf", 0) \
	X(VPRINTF_CHK, STREAM_WRITES, "__vprintf_chk", 0) \
	X(VFPRINTF, STREAM_WRITES, "vfprintf", "_IO_vfprintf") \
	X(VFPRINTF_CHK, STREAM_WRITES, "__vfprintf_chk", 0) \
	X(VDPRINTF, WRITES, "vdprintf", 0) \
	X(VDPRINTF_CHK, WRITES, "__vdprintf_chk", 0)

/* Nothing is in their place: hooks use them. */
#define TRACE_IO_HELPERS(X) \
	X(IO_ERRNO, NONE, "__errno_location", 0) \
	X(FILENO, NONE, "fileno", 0) \
	X(STDIN, NONE, "stdin", 0) \
	X(STDOUT, NONE, "stdout", 0)

#define TRACE_NUMBER(function, class, name, other) TRACE_##function,

/* ---- what is hooked, or called by hooks, family by family ---------------- */

enum trace_function {
	TRACE_MALLOC, TRACE_FREE, TRACE_CALLOC, TRACE_REALLOC,
	TRACE_REALLOCARRAY, TRACE_MEMALIGN, TRACE_ALIGNED_ALLOC,
	TRACE_POSIX_MEMALIGN, TRACE_VALLOC, TRACE_PVALLOC,
	TRACE_MMAP, TRACE_MUNMAP, TRACE_MREMAP,
	/* C++, where the definition is an allocator's own */
	TRACE_NEW, TRACE_NEW_ARRAY, TRACE_NEW_NOTHROW, TRACE_NEW_ARRAY_NOTHROW,
	TRACE_NEW_ALIGNED, TRACE_NEW_ARRAY_ALIGNED,
	TRACE_DELETE, TRACE_DELETE_ARRAY, TRACE_DELETE_SIZED,
	TRACE_DELETE_ARRAY_SIZED, TRACE_DELETE_NOTHROW,
	TRACE_DELETE_ARRAY_NOTHROW, TRACE_DELETE_ALIGNED,
	TRACE_DELETE_ARRAY_ALIGNED, TRACE_DELETE_SIZED_ALIGNED,
	TRACE_DELETE_ARRAY_SIZED_ALIGNED,

	TRACE_SYNC_FIRST,
	TRACE_MUTEX_LOCK = TRACE_SYNC_FIRST, TRACE_MUTEX_TIMEDLOCK,
	TRACE_MUTEX_CLOCKLOCK, TRACE_RWLOCK_RDLOCK, TRACE_RWLOCK_TIMEDRDLOCK,
	TRACE_RWLOCK_CLOCKRDLOCK, TRACE_RWLOCK_WRLOCK,
	TRACE_RWLOCK_TIMEDWRLOCK, TRACE_RWLOCK_CLOCKWRLOCK, TRACE_COND_WAIT,
	TRACE_COND_TIMEDWAIT, TRACE_COND_CLOCKWAIT, TRACE_SEM_WAIT,
	TRACE_SEM_TIMEDWAIT, TRACE_SEM_CLOCKWAIT, TRACE_BARRIER_WAIT,
	TRACE_SPIN_LOCK, TRACE_JOIN, TRACE_TIMEDJOIN, TRACE_CLOCKJOIN,
	TRACE_MTX_LOCK, TRACE_MTX_TIMEDLOCK, TRACE_CND_WAIT,
	TRACE_CND_TIMEDWAIT, TRACE_THRD_JOIN,
	/* what hooks call; 0 where it is not libc's, as is what they stand
	 * before */
	TRACE_SYNC_HELPERS,
	TRACE_MUTEX_TRYLOCK = TRACE_SYNC_HELPERS, TRACE_RWLOCK_TRYRDLOCK,
	TRACE_RWLOCK_TRYWRLOCK, TRACE_SEM_TRYWAIT, TRACE_SPIN_TRYLOCK,
	TRACE_MTX_TRYLOCK, TRACE_TESTCANCEL, TRACE_ERRNO,

	TRACE_IO_FIRST,
	TRACE_IO_BEGIN = TRACE_IO_FIRST - 1,
	TRACE_IO_CALLS(TRACE_NUMBER)
	TRACE_STREAM_CALLS(TRACE_NUMBER)
	TRACE_IO_CALLED,	/* from here on: called by hooks */
	TRACE_IO_END = TRACE_IO_CALLED - 1,
	TRACE_IO_HELPERS(TRACE_NUMBER)
	TRACE_FUNCTIONS
};

static inline enum trace_family
trace_family(unsigned function)
{
	return function < TRACE_SYNC_FIRST ? TRACE_HEAP :
		function < TRACE_IO_FIRST ? TRACE_SYNC : TRACE_IO;
}

/* The first word: kind in the lowest byte, words of the record in the next
 * two, 0, and the function or the end of a stack in the upper half. */
enum trace_kind {
	TRACE_REST = 1,		/* nothing follows in this chunk */
	TRACE_STACK,		/* head, id, return addresses, leaf first */
	TRACE_ALLOC,		/* head, when, address, size, stack */
	TRACE_RELEASE,		/* head, when, address, size (of munmap) */
	TRACE_MOVE,		/* head, when, address, size, stack,
				 * old address, when it was released */
	TRACE_WAIT,		/* head, when granted, stack, when asked for,
				 * object, the thread that had it or 0 */
	TRACE_CALL,		/* head, when it ended, stack, when it began,
				 * fd | other fd << 32, bytes or -errno, and
				 * words of a path with its '\0', or none */
	TRACE_KINDS
};

static inline uint64_t
trace_head(unsigned kind, unsigned words, unsigned detail)
{
	return kind | words << 8 | (uint64_t)detail << 32;
}

enum trace_chunk_state { TRACE_NOBODYS, TRACE_OPEN, TRACE_CLOSED };

struct trace_chunk {
	/* enum trace_chunk_state in two bits, above them a number of all that
	 * were ever taken, 1 first. The guest opens and closes, also the
	 * tracer for a thread that has ended; he frees. */
	uint64_t state;
	uint32_t tid;		/* whose, as the target's namespace counts */
	uint32_t pad[13];
};
_Static_assert(sizeof(struct trace_chunk) == 64, "a line of the cache");

/* Why an event left no record. */
enum trace_loss {
	TRACE_LOST_FULL,	/* no chunk was free for as long as we wait */
	TRACE_LOST_THREAD,	/* more threads than the guest has room for */
	TRACE_LOST_LEASE,	/* our heartbeat was silent */
	TRACE_LOST_SAMPLED,	/* no room to know the block by, until it is
				 * freed */
	TRACE_LOST_CONFINED,	/* the program has taken the clock from itself */
	TRACE_LOST_STACK,	/* no room below, on an alternate stack */
	TRACE_LOSSES
};

/* An import slot that leads to a hook. Another object may have come to its
 * address since it was found: what of the object's own tables says that it is
 * this function's is looked at again. */
struct trace_patch {
	uint64_t slot;		/* its address */
	uint64_t before;	/* what was there when it was found, then
				 * when the hook went in */
	uint64_t relro, relro_end; /* opened for it, closed again; 0: none */
	uint64_t relocation, symbol, name;	/* addresses of these */
	uint64_t proof;		/* of what is there, one after the other */
	uint32_t function;	/* enum trace_function */
	uint32_t state;		/* enum trace_patch_state */
};

enum { TRACE_RELOCATION_BYTES = 24, TRACE_SYMBOL_BYTES = 24,
       TRACE_NAME_BYTES = 64 };	/* of the name, at most, with its '\0' */

#define TRACE_PROOF_BEGIN	UINT64_C(0xcbf29ce484222325)

static inline uint64_t
trace_proof(uint64_t proof, unsigned char byte)
{
	return (proof ^ byte) * UINT64_C(0x100000001b3);
}

enum trace_patch_state {
	TRACE_PATCH_WANTED,	/* the tracer's */
	TRACE_PATCH_IN,		/* the guest's */
	TRACE_PATCH_OUT,	/* what was there is there again */
	TRACE_PATCH_FOREIGN,	/* someone else has written there */
	TRACE_PATCH_FAILED,	/* not to be written */
	TRACE_PATCH_INNER,	/* the tracer's: not bound yet, and shall not be
				 * bound to a hook */
};

/* A symbol that the loader binds slots to: those of objects that are loaded
 * while it leads to a hook lead there, from their first call on. */
struct trace_name {
	uint64_t at;		/* where its value is */
	uint64_t before;	/* its value */
	uint64_t bias;		/* of its load object */
	uint64_t page, page_end; /* opened for it, closed again; 0: none */
	uint32_t function;	/* enum trace_function */
	uint32_t pad;
};
_Static_assert(sizeof(struct trace_name) == 48, "fixed layout");

struct trace_area {
	/* Constant once the guest has it. */
	uint64_t magic;
	uint32_t version, header_bytes;
	uint64_t size;		/* of the file */
	uint32_t chunks, patches_max;
	uint64_t chunks_at, stacks_at, patches_at, data_at;
	uint64_t names_at;
	uint32_t stacks;	/* entries of the table; a power of two */
	int32_t tid_offset;	/* from a thread's pointer to its number, as
				 * libc keeps it */
	uint64_t lease_ticks;	/* of the TSC: our heartbeat is silent */
	uint64_t wait_ticks;	/* for a free chunk */
	uint64_t sync_ticks;	/* waits below are counted only */
	uint32_t sync_all;	/* also what did not wait */
	uint32_t pid;		/* the guest's; 0: not known */
	uint32_t own_threads;	/* pthread_join is libc's own */
	uint32_t names;
	uint64_t sample_bytes;	/* one of so many is chosen, and the block
				 * that it is of is recorded; 0: all blocks */
	uint64_t sampled_at;	/* addresses of blocks that were; 0: none */
	uint64_t sampled;	/* entries; a power of two */
	uint64_t originals[TRACE_FUNCTIONS];	/* 0: not hooked */
	uint64_t hooks[TRACE_FUNCTIONS];	/* the guest's */

	/* Written by the tracer. */
	uint64_t beat;
	uint32_t on;		/* 1 << enum trace_family; other hooks pass
				 * through */
	uint32_t patches;	/* used */
	uint32_t confined;	/* a filter may punish a call of ours; by the
				 * guest, too */
	uint32_t tracer_pad;
	uint64_t freed;		/* chunks, in all */

	/* Written by both. */
	uint64_t free[TRACE_CHUNKS_MAX / 64];

	/* Written by the guest. */
	uint64_t seen_beat, seen_at;
	uint64_t serial;	/* chunks ever taken */
	uint64_t lost[TRACE_LOSSES];
	uint64_t short_waits;	/* below sync_ticks */
	uint64_t waits, waited_ticks;	/* for free chunks */
	uint64_t named;		/* names that lead to hooks */
	/* One more than `freed` was when somebody waited for nothing (0:
	 * nobody has), and when the first one began, in ticks. */
	uint64_t vain, vain_since;
};
_Static_assert(sizeof(struct trace_area) <= TRACE_HEADER_BYTES,
	       "the header page holds it");

#endif
