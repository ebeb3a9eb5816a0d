/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What expressions can ask of a record: the fields of its packet, what the
 * experiment adds (which process, which sample), and its stack.
 */
#include "calls.h"
#include "heap_order.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KIND_SYNC = 2, KIND_HWC = 3, KIND_HEAP = 5,
       KIND_MEMORY = 7, KIND_CLOCK = 8, KIND_IO = 19, KINDS_MAX = 32 };
enum { SYNC = 1u << KIND_SYNC, HWC = 1u << KIND_HWC | 1u << KIND_MEMORY,
       HEAP = 1u << KIND_HEAP,
       CLOCK = 1u << KIND_CLOCK, IO = 1u << KIND_IO,
       LASTING = CLOCK | SYNC | IO };
#define ALL UINT32_MAX

enum { NONE, THREAD, LWP, CPU, PID, EXPERIMENT, EXPERIMENT_HERE, GROUP, TIME,
       OWN_TIME, ABSOLUTE_TIME, BEGIN, END, LASTED, IN_SAMPLE, IN_GC,
       STACK_UID, FRAMES, LEAF, STACK_NUMBER, STATE, TICKS, MICROSECONDS,
       BYTES, HEAP_IN_USE, HEAP_FREED, HEAP_KEPT, FREED_AT, OPEN_FILE,
       FILE_NAME, VALUE };

static const struct expr_field fields[] = {
	{ "THRID", "thread, by its first appearance", ALL, THREAD },
	{ "LWPID", "kernel thread, by its first appearance", ALL, LWP },
	{ "CPUID", "processor; -1: not known", ALL, CPU },
	{ "PID", "process id", ALL, PID },
	{ "EXPID", "process, as experiment_list counts them", ALL,
	  EXPERIMENT },
	{ "EXPID_CMP", "the same, counted anew in what is compared", ALL,
	  EXPERIMENT_HERE },
	{ "EXPGRID", "experiment, as they were named", ALL, GROUP },
	{ "TSTAMP", "nanoseconds since the experiment began", ALL, TIME },
	{ "TSTAMP_LO", "when it began: TSTAMP less EVT_TIME", ALL, BEGIN },
	{ "TSTAMP_HI", "when it ended: TSTAMP; of a block of the heap when it "
	  "was freed", ALL, END },
	{ "ETSTAMP", "nanoseconds since its process was first recorded", ALL,
	  OWN_TIME },
	{ "ATSTAMP", "nanoseconds of the machine's clock", ALL,
	  ABSOLUTE_TIME },
	{ "EVT_TIME", "nanoseconds that it lasted", LASTING, LASTED },
	{ "SAMPLE", "resource sample that it lies in; -1: none", ALL,
	  IN_SAMPLE },
	{ "SAMPLE_MAP", "the same", ALL, IN_SAMPLE },
	{ "GCEVENT_MAP", "garbage collection that it lies in; 0: none", ALL,
	  IN_GC },
	{ "FRINFO", "number of its stack in the experiment", ALL, STACK_UID },
	{ "USTACK", "functions of its stack, leaf first", ALL, FRAMES },
	{ "XSTACK", "the same", ALL, FRAMES },
	{ "MSTACK", "the same", ALL, FRAMES },
	{ "STACK", "the same", ALL, FRAMES },
	{ "LEAF", "function that it was in", ALL, LEAF },
	{ "STACKID", "number of its stack", ALL, STACK_NUMBER },
	{ "MSTATE", "state of the thread: 0 user, 1 system, 2 trap, 3 text "
	  "fault, 4 data fault, 5 kernel fault, 6 lock, 7 sleep, 8 wait for "
	  "a CPU, 9 stopped, 10 CPU, 11 kernel", CLOCK, STATE },
	{ "NTICK", "clock ticks", CLOCK, TICKS },
	{ "NTICK_USEC", "their microseconds", CLOCK, MICROSECONDS },
	{ "SRQST", "when it was asked for, as ETSTAMP", SYNC, VALUE },
	{ "SOBJ", "address of the object waited for", SYNC, VALUE + 1 },
	{ "SOWNER", "thread id of who held it then; 0: not known", SYNC,
	  VALUE + 2 },
	{ "HTYPE", "what was called: 0 malloc, 1 free, 2 realloc, 3 mmap, "
	  "4 munmap", HEAP, VALUE },
	{ "HSIZE", "bytes asked for", HEAP, VALUE + 1 },
	{ "HVADDR", "address of the block", HEAP, VALUE + 2 },
	{ "HOVADDR", "its address before", HEAP, VALUE + 3 },
	{ "HCALLS", "calls that it stands for, where not all are recorded; "
	  "else 0", HEAP, TICKS },
	{ "HLEAKED", "bytes of it that were never freed", HEAP, VALUE + 4 },
	{ "HMEM_USAGE", "bytes that its process had in use then", HEAP,
	  HEAP_IN_USE },
	{ "HCUR_ALLOCS", "the same", HEAP, HEAP_IN_USE },
	{ "HCUR_LEAKS", "bytes allocated until then and never freed", HEAP,
	  HEAP_KEPT },
	{ "HFREED", "bytes that it freed", HEAP, HEAP_FREED },
	{ "TSTAMP2", "when it was freed, as ATSTAMP; 2^63 - 1: never", HEAP,
	  FREED_AT },
	{ "IOTYPE", "what was done: 0 read, 1 write, 2 open, 3 close, "
	  "4 other; 5 to 9: the same, and failed", IO, VALUE },
	{ "IOFD", "file descriptor", IO, VALUE + 1 },
	{ "IONBYTE", "bytes moved", IO, VALUE + 2 },
	{ "IORQST", "when it was asked for, as ETSTAMP", IO, VALUE + 3 },
	{ "IOOFD", "descriptor that was duplicated", IO, VALUE + 4 },
	{ "IOFSTYPE", "kind of file system", IO, VALUE + 5 },
	{ "IOVFD", "open file, as iodetail numbers them; 0: none", IO,
	  OPEN_FILE },
	{ "IOFNAME", "its name, as iodetail shows it: IOFNAME == \"a.dat\"",
	  IO, FILE_NAME },
	{ "IOHEAPBYTES", "bytes moved or asked for", IO | HEAP, BYTES },
	{ "HWCTAG", "which counter", HWC, VALUE },
	{ "HWCINT", "events counted", HWC, VALUE + 1 },
	{ "VADDR", "virtual address of the data; below 256: why it is not "
	  "known", HWC, VALUE + 2 },
	{ "PADDR", "physical address of the data; 0: not known", HWC,
	  VALUE + 3 },
	{ "VIRTPC", "virtual address of the instruction; 0: not known", HWC,
	  VALUE + 4 },
	{ "PHYSPC", "physical address of the instruction; 0: not known", HWC,
	  VALUE + 5 },
};

/* gprofng's names of what no record has here: they can be asked about by
 * HAS_PROP only. */
static const char *const unread[] = {
	"HCUR_NET_ALLOC", "DOBJ", "JTHREAD", "OMPSTATE", "CPRID", "PPRID",
	"TSKID", "PTSKID", "PRPC", "FREQ_MHZ", "LWP_LGRP_HOME",
	"PS_LGRP_HOME", "EA_PAGESIZE", "EA_LGRP", "PC_PAGESIZE", "PC_LGRP",
	"MEM_LAT", "MEM_SRC", "UCPU", "SCPU", "TRAP", "TFLT", "DFLT", "KFLT",
	"ULCK", "TSLP", "WCPU", "TSTP", "GCEVENT",
};

static bool
is_name(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && strncasecmp(name, text, len) == 0;
}

const struct expr_field *
expr_field(const char *name, size_t len)
{
	static const struct expr_field none = { .id = NONE };

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (is_name(fields[i].name, name, len))
			return &fields[i];
	for (size_t i = 0; i < ARRAY_LEN(unread); i++)
		if (is_name(unread[i], name, len))
			return &none;
	return NULL;
}

bool
expr_field_is_read(const struct expr_field *field)
{
	return field->id != NONE;
}

bool
expr_field_is_name(const struct expr_field *field)
{
	return field->id == FILE_NAME;
}

bool
expr_field_is_list(const struct expr_field *field)
{
	return field->id == FRAMES;
}

unsigned
expr_field_asks(const struct expr_field *field)
{
	switch (field->id) {
	case FRAMES:
	case LEAF:
	case STACK_NUMBER:
		return ASKS_STACK;
	case HEAP_IN_USE:
	case HEAP_FREED:
	case HEAP_KEPT:
		return ASKS_RECORD | ASKS_LEAKS | ASKS_HEAP;
	case END:
	case FREED_AT:
	case VALUE + HEAP_LEAKED:
		return ASKS_RECORD | ASKS_LEAKS;
	default:
		return ASKS_RECORD;
	}
}

/* ---- stacks ---------------------------------------------------------- */

size_t
expr_stack_length(const struct profile *prof, uint32_t stack)
{
	return prof->stacks[stack].len - prof->stacks[stack].skip + 1;
}

uint64_t
expr_stack_at(const struct profile *prof, uint32_t stack, size_t i)
{
	const struct stack *st = &prof->stacks[stack];

	if (i >= st->len - st->skip)
		return expr_function(FUNCTION_TOTAL);
	return expr_function(prof->locations[
		prof->frames[st->first + st->skip + i]].function);
}

/* ---- times ----------------------------------------------------------- */

static const struct experiment_packet *
whole_of(const struct expr_record *r)
{
	return r->whole ? r->whole : r->packet;
}

static uint64_t
duration(const struct expr_record *r)
{
	const struct experiment_packet *p = whole_of(r);

	if (p->kind == KIND_CLOCK)	/* from the first tick to the last */
		return p->ticks ? p->weight_ns - p->weight_ns / p->ticks : 0;
	if (p->kind == KIND_SYNC)
		return p->value[0] ? p->time_ns - p->value[0] : 0;
	if (p->kind == KIND_IO)
		return p->value[3] ? p->time_ns - p->value[3] : 0;
	return 0;
}

/* A block that nobody freed lives to the end. */
static uint64_t
end_time(const struct expr_record *r)
{
	const struct experiment_packet *p = whole_of(r);
	const uint64_t until = p->value[HEAP_UNTIL];

	if (p->kind != KIND_HEAP)
		return p->time_ns;
	return until != UINT64_MAX ? until :
	       experiment_duration_ns(r->src->reader);
}

/* What leaks.c knows of the packet that it completed last. */
static uint64_t
course_of(const struct expr_record *r, int id)
{
	const struct leaks *leaks = &r->src->leaks;

	if (!leaks->course || !leaks->next)
		return 0;

	const struct heap_course *c = &leaks->course[leaks->next - 1];

	return id == HEAP_IN_USE ? c->used :
	       id == HEAP_FREED ? c->freed : c->kept;
}

static uint64_t
freed_at(const struct expr_record *r)
{
	const uint64_t until = r->packet->value[HEAP_UNTIL];

	return until == UINT64_MAX ? INT64_MAX :
	       until + experiment_start_ns(r->src->reader);
}

static uint64_t
file_of(const struct expr_record *r, int id)
{
	const struct opening *op = files_opening(r->prof, r->src, r->packet);

	if (id == FILE_NAME)
		return files_name_number(r->prof, files_name(r->prof, op,
							     r->packet));
	return op ? op->number : 0;
}

/* A sample ends where its record stands; the first record begins one. The first
 * and the last have also what lies around them, as periods (periods.c). */
static uint64_t
sample_of(const struct expr_record *r)
{
	const struct experiment_reader *rd = r->src->reader;
	const size_t n = experiment_sample_count(rd);
	size_t low = 0, high = n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (experiment_sample_at(rd, mid)->time_ns <
		    r->packet->time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	if (n < 2)
		return UINT64_MAX;
	return low == 0 ? 1 : low < n ? low : n - 1;
}

/* ---- values ---------------------------------------------------------- */

bool
expr_field_has(const struct expr_field *field, const struct expr_record *r)
{
	const unsigned kind = (unsigned)r->packet->kind;

	return field->kinds == ALL ||
	       (kind < KINDS_MAX && field->kinds >> kind & 1);
}

static uint64_t
value_of(const struct expr_field *field, const struct expr_record *r)
{
	const struct experiment_packet *p = r->packet;

	switch (field->id) {
	case THREAD: return r->thread;
	case LWP: return r->lwp;
	case CPU: return (uint64_t)(int64_t)p->cpu;
	case PID: return r->src->pid;
	case EXPERIMENT: return (uint64_t)(r->src - r->prof->sources) + 1 +
				r->prof->options.experiments_before;
	case EXPERIMENT_HERE:
		return (uint64_t)(r->src - r->prof->sources) + 1;
	case GROUP: return r->src->group + r->prof->options.groups_before;
	case TIME: return p->time_ns + r->src->since_founder;
	case BEGIN: return whole_of(r)->time_ns + r->src->since_founder -
			duration(r);
	case END: return end_time(r) + r->src->since_founder;
	case OWN_TIME: return p->time_ns;
	case ABSOLUTE_TIME:
		return p->time_ns + experiment_start_ns(r->src->reader);
	case LASTED: return duration(r);
	case IN_SAMPLE: return sample_of(r);
	case STACK_UID: return p->frinfo;
	case FRAMES:
	case LEAF: return expr_stack_at(r->prof, r->stack, 0);
	case STACK_NUMBER: return r->stack + 1;
	case STATE: return (uint64_t)p->mstate;
	case TICKS: return p->ticks;
	case MICROSECONDS: return p->weight_ns / 1000;
	case BYTES: return p->value[p->kind == KIND_HEAP ? 1 : 2];
	case HEAP_IN_USE:
	case HEAP_FREED:
	case HEAP_KEPT: return course_of(r, field->id);
	case FREED_AT: return freed_at(r);
	case OPEN_FILE:
	case FILE_NAME: return file_of(r, field->id);
	case IN_GC: return 0;
	default: return p->value[field->id - VALUE];
	}
}

bool
expr_field_value(const struct expr_field *field, const struct expr_record *r,
		 uint64_t *out)
{
	if (!expr_field_has(field, r))
		return false;
	*out = value_of(field, r);
	return true;
}

/* ---- what there is ---------------------------------------------------- */

size_t
profile_field_count(void)
{
	return ARRAY_LEN(fields);
}

struct profile_field
profile_field(size_t i)
{
	return (struct profile_field){ fields[i].name, fields[i].help,
				       fields[i].kinds };
}
