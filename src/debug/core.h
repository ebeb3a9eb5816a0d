/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file, as its parts in this room see it.
 */
#ifndef DEBUG_CORE_H
#define DEBUG_CORE_H

#include "private.h"

#include <gelf.h>

struct core_segment {
	uint64_t start, end;	/* in memory; end exclusive */
	uint64_t offset, dumped;	/* in the core; bytes that are there */
};

struct core_file {		/* a file that was mapped */
	char *path;		/* as the program named it */
	int fd;			/* -1: not there, or another one */
	bool sought;
	bool is_other;		/* it is there, and of another build */
	bool is_program;	/* core->program stands for it */
};

struct core_map {
	uint64_t start, end, offset;
	size_t file;
};

struct core_registers {
	struct core_thread thread;
	struct debug_regs regs;
};

struct core {
	int fd;
	uint64_t size;
	Elf *elf;
	struct core_segment *segments;	/* sorted */
	size_t segment_len;
	struct core_file *files;
	size_t file_len;
	struct core_map *maps;
	size_t map_len;
	struct core_registers *threads;
	size_t thread_len, selected;
	struct debug_object *objects;
	size_t object_len;
	char *program, *command, *trouble;
	bool unstarted;		/* a program's file, as it would be mapped */
	pid_t pid;
	int signal;
	uint64_t fault, vdso, headers;	/* headers: the program's own */
	unsigned char *vdso_image;
	size_t vdso_size;
};

int core_read_notes(struct core *core);
void core_make_objects(struct core *core);
/* What was mapped there; NULL: nothing. */
const struct core_segment *core_segment_at(const struct core *core,
					   uint64_t addr);
/* false: not all n bytes are there. */
bool core_read_all(int fd, uint64_t offset, void *buf, size_t n);
/* A descriptor of a regular file that is not mostly holes; -1: it is none, and
 * is not touched. */
int core_open_regular(const char *path);
/* The file there, -1: none such, or not the one that was mapped. */
int core_open_file(struct core *core, size_t file);
/* Is what is there now another file than the one that was mapped? */
bool core_is_other_build(struct core *core, size_t file);
int core_read(void *arg, uint64_t addr, void *buf, size_t n);

#endif
