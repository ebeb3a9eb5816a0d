/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the symbol room: one load object and what was learnt of it so far.
 * Everything but the ELF headers is read on first use.
 */
#ifndef SYMBOL_SYMFILE_H
#define SYMBOL_SYMFILE_H

#include "base.h"
#include "symbol.h"

#include <elfutils/libdw.h>
#include <gelf.h>

/* An open ELF file; {0, -1} is the empty value. */
struct image {
	Elf *elf;
	int fd;
	char *copy;		/* of an image in memory */
};

struct range {
	uint64_t start, end;	/* end exclusive */
};

struct section {		/* executable ones only */
	struct range at;
	bool is_plt;
};

struct segment {		/* PT_LOAD */
	uint64_t offset, vaddr, size;
	bool executable;
	bool code_refused;
	unsigned char *code;	/* all of it, once asked for; or NULL */
};

struct function {
	uint64_t start, size;
	const char **names;	/* the chosen one first; NULL: made on demand */
	bool is_plt, is_static;
};

/* Disjoint and sorted; several may belong to one function. */
struct piece {
	uint64_t start, end;
	size_t function;
};

struct functions {
	struct function *items;	/* sorted by start */
	size_t len, cap;
	struct piece *pieces;
	size_t piece_len;
	const char **names;	/* the arrays of all items, one after another */
	struct vec made;	/* names that are in no string table */
	bool loaded;
};

/* One entry of a symbol table. */
struct raw {
	uint64_t addr, size;
	const char *name;
	unsigned rank;
};

struct raws {
	struct raw *items;
	size_t len, cap;
	bool of_data;		/* else of code */
};

struct lines;
struct operands;

struct symfile {
	char *path, *shown, *prefix;
	char *fault;		/* why it cannot be read at all */
	char *trouble;
	char *build_id;
	struct image main, debug, mini;
	struct segment *segments;
	size_t segment_len;
	struct section *sections;
	size_t section_len;
	struct functions functions;
	struct raws data;	/* sorted, once it is loaded */
	struct lines *lines;
	struct operands *operands;
	enum symfile_source source;
	struct symbol_server *server;	/* NULL: none is asked */
	bool debug_sought, debug_fetched, mini_sought;
	bool trouble_made, data_loaded;
};

/* ---- elsewhere.c --------------------------------------------------------- */

/* Of the file that elf was read from; the caller frees it. NULL: not known. */
char *elsewhere_dir(const struct symfile *sf, const Elf *elf);
/* false: there is no such unit, or none may be sought; see symbol.h. */
bool elsewhere_split(const char *dir, Dwarf_Die *die, Dwarf_Die *split);
/* No file of a name that others have a hand in will be sought for what is
 * shared. false: libdw cannot be kept from it. */
bool elsewhere_bar(Dwarf *dwarf, const char *dir);

/* ---- elf.c -------------------------------------------------------------- */

/* NULL, or why the file cannot be read (a view until the next call). */
const char *image_open(struct image *im, const char *path);
/* The same of bytes in memory, which it takes. */
const char *image_take(struct image *im, void *bytes, size_t size);
void image_close(struct image *im);
/* Give the descriptor back; what has been read stays. */
void image_release(struct image *im);
/* The section of that name; false: none. */
bool image_section(Elf *elf, const char *name, Elf_Scn **scn, GElf_Shdr *shdr);
/* The executable section around vaddr, NULL: none. */
const struct section *symfile_section(const struct symfile *sf,
				      uint64_t vaddr);

/* ---- separate.c --------------------------------------------------------- */

/* The separate debug file, NULL: none. Looks once. */
Elf *symfile_debug_elf(struct symfile *sf);

/* ---- mini.c ------------------------------------------------------------- */

/* The file in .gnu_debugdata, NULL: none. Looks once. */
Elf *symfile_mini_elf(struct symfile *sf);

/* ---- server.c ----------------------------------------------------------- */

enum server_file { SERVER_DEBUG, SERVER_PROGRAM };

/* A descriptor of that file, -1: there is none. s may be NULL. */
int server_fetch(struct symbol_server *s, enum server_file file,
		 const char *build_id, const char *shown);

/* ---- table.c, pieces.c, fde.c ------------------------------------------- */

void functions_load(struct symfile *sf);
void functions_fini(struct functions *fns);
struct function *function_add(struct functions *fns, uint64_t start,
			      uint64_t end);
/* fns are sorted; nameless functions are added, in their places. */
void pieces_make(struct functions *fns, const struct range *fdes,
		 size_t fde_len);
/* Ranges, sorted by start and outer ones first, cut into disjoint pieces:
 * each belongs to the innermost, whose index is its function. The caller
 * frees them. */
struct piece *pieces_cut(const struct range *ranges, size_t n, size_t *len);
/* Where functions begin and end by .eh_frame, sorted; the caller frees. */
struct range *fde_list(const struct symfile *sf, size_t *len);

/* ---- collect.c ---------------------------------------------------------- */

enum raw_rank {			/* the lowest at an address has the name */
	RANK_RESOLVER, RANK_LOCAL_RESOLVER, RANK_GLOBAL, RANK_LOCAL,
	RANK_LABEL, RANK_LOCAL_LABEL,
};


/* All symbols that name code, unsorted, of every table there is; sets
 * sf->source. */
void raws_collect(struct symfile *sf, struct raws *raws);
/* The same of those that name data, but for sf->source. */
void raws_collect_data(struct symfile *sf, struct raws *raws);

/* ---- dynamic.c: without section headers ---------------------------------- */

/* Each dynamic symbol that PT_DYNAMIC leads to; names live with the symfile. */
void dynamic_each(struct symfile *sf,
		  void (*visit)(void *arg, const GElf_Sym *sym,
				const char *name), void *arg);
/* .eh_frame by PT_GNU_EH_FRAME, and perhaps what is behind it; NULL: none. */
Elf_Data *dynamic_eh_frame(const struct symfile *sf, uint64_t *vaddr);

/* ---- dwarf.c, bodies.c, inline.c ---------------------------------------- */

struct body {
	Dwarf_Die die;
	uint32_t outer;		/* body around it + 1; 0: none */
	bool inlined;
};

struct bodies {
	struct body *items;	/* outer ones first */
	size_t len, cap;
	struct piece *pieces;	/* function: index in items */
	size_t piece_len;
};

struct unit {			/* a compilation unit */
	Dwarf_Die die, split;	/* split: all of it, once it was sought */
	bool split_sought;
	struct bodies *bodies;	/* NULL: not listed yet */
};
/* ---- go.c, name.c -------------------------------------------------------- */

/* Of an object that Go has made, once its functions are known. */
void go_note_names(struct symfile *sf);
/* Does a name, that is not mangled, look like that of a copy (f.cold)? */
bool name_is_copy(const char *name);
/* It is none: its dots are its own. */
void name_note_dots(const char *name);

/* ---- operands.c --------------------------------------------------------- */

void operands_free(struct operands *ops);
/* Append what is at that address; false, and nothing: not known. */
bool operand_name(struct symfile *sf, uint64_t vaddr, enum name_form form,
		  struct str *out);

/* ---- dwarf.c ------------------------------------------------------------ */

bool image_has_lines(Elf *elf);
/* The file that has the debug information, if any has. */
Elf *lines_elf(struct symfile *sf);
/* No packed section becomes larger than is sound (foreign.h). */
bool lines_inflate_soundly(Elf *elf);
void lines_free(struct lines *lines);
/* NULL: no debug information, or none that may be read. */
Dwarf *lines_dwarf(struct symfile *sf);
/* Units whose code is around vaddr, until visit says true. */
bool lines_units_at(struct symfile *sf, uint64_t vaddr,
		    bool (*visit)(void *arg, struct unit *unit), void *arg);
/* Units by number, 1 first; 0 and NULL: none. */
size_t lines_unit_count(struct symfile *sf);
struct unit *lines_unit(struct symfile *sf, size_t unit);
size_t lines_unit_number(struct symfile *sf, const struct unit *unit);
/* A file's name as symfile_line gives it. */
const char *lines_absolute(struct symfile *sf, struct unit *unit,
			   const char *file);
/* The function around a line, by where functions begin, in the units whose code
 * is around vaddr; NULL: none. */
const char *lines_enclosing(struct symfile *sf, uint64_t vaddr,
			    const char *file, int line);
/* The unit with all its entries, which may be in a file of their own. */
Dwarf_Die *unit_whole(struct symfile *sf, struct unit *unit);
/* Of the unit, listed when they are asked for first. */
struct bodies *bodies_of(struct symfile *sf, struct unit *unit);
void bodies_free(struct bodies *bodies);
/* The innermost body there, and the one around another; NULL: none. */
struct body *body_at(struct bodies *b, uint64_t vaddr);
struct body *body_around(struct bodies *b, const struct body *body);
/* Its linkage name, else the plain one; never NULL. */
const char *body_name(Dwarf_Die *die);
/* Where it is entered; false: it has no code. */
bool body_entry(Dwarf_Die *die, uint64_t *entry);

/* ---- walk.c ------------------------------------------------------------- */

/* Each function that a unit tells of, with those of units it imports. */
void functions_walk(Dwarf_Die *unit, void (*visit)(Dwarf_Die *die, void *arg),
		    void *arg);

/* ---- mentions.c --------------------------------------------------------- */

/* false: no entry has a name that is this one, or this one and then <. */
bool debug_mentions(struct symfile *sf, const char *name);

#endif
