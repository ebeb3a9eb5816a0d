/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * symbol: address -> name, line. Used by both towers; the tracer process
 * uses modules.c only (it must not meet hostile debug data).
 */
#ifndef SONDE_SYMBOL_H
#define SONDE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- modules.c: what is mapped where, from the text of /proc/PID/maps --- */

enum { MODULE_READ = 4, MODULE_WRITE = 2, MODULE_EXEC = 1 };

struct module {
	uint64_t start, end;	/* end exclusive */
	uint64_t offset;	/* in the file */
	unsigned prot;		/* MODULE_* */
	uint64_t device, inode;	/* 0 for anonymous memory */
	char *path;		/* "" anonymous; without " (deleted)" */
	bool deleted;		/* the file's name is gone or replaced */
};

struct modules {
	struct module *items;	/* sorted by start */
	size_t len, cap;
};

/* Of what the kernel calls a mapped file (maps, perf's MMAP2), without the mark
 * that its name is gone. */
size_t module_path_length(const char *path, size_t len);
/* Parse the text of a maps file. {0} is the empty value; replaces what is
 * there. -1 when a line makes no sense (torn read). */
int modules_parse(struct modules *mods, const char *maps_text);
void modules_fini(struct modules *mods);
const struct module *modules_find(const struct modules *mods, uint64_t addr);

/* ---- elf.c, dwarf.c, name.c: one load object's names ------------------- */

struct symfile;
struct symbol_server;

enum symfile_source {		/* where the function names came from */
	SYMFILE_SYMTAB, SYMFILE_DYNSYM, SYMFILE_MINIDEBUG, SYMFILE_DEBUGFILE,
	SYMFILE_DEBUGINFOD, SYMFILE_NONE,
};

/* path: the file to read (may be /proc/PID/root/... or an archived copy);
 * shown: the path the target knows, for names and messages; prefix: "" or
 * "/proc/PID/root" under which separate debug files are sought first.
 * Never NULL: what cannot be read has no symbols, and symfile_trouble says
 * why. */
struct symfile *symfile_open(const char *path, const char *shown,
			     const char *prefix);
/* An ELF image in memory (vdso). Copies. */
struct symfile *symfile_memory(const void *image, size_t size,
			       const char *shown);
void symfile_free(struct symfile *sf);
/* Ask the server for its separate debug file when names are asked for first
 * and none is here. It must live as long. */
void symfile_ask(struct symfile *sf, struct symbol_server *server);
/* One line that says what is missing and how to get it; NULL: nothing is. */
const char *symfile_trouble(struct symfile *sf);
enum symfile_source symfile_source(struct symfile *sf);
/* The file that was read; "" for an image in memory; and the path that the
 * target knows. */
const char *symfile_path(const struct symfile *sf);
const char *symfile_shown(const struct symfile *sf);
/* Hex build-id, "" when there is none. */
const char *symfile_build_id(struct symfile *sf);

struct symbol {
	const char *name;	/* linkage name chosen among aliases (M2),
				 * `<static>@0xOFF`, `f [resolver]` or `@plt`;
				 * lives with the symfile */
	uint64_t start, size;	/* ELF virtual addresses */
	bool is_plt;		/* in .plt, .plt.sec, .plt.got */
	bool is_static;		/* named after its FDE, no symbol */
};

/* The function at an ELF virtual address; false: no symbol and no FDE. */
bool symfile_find(struct symfile *sf, uint64_t vaddr, struct symbol *out);
/* The same for code that no symbol and no FDE is about: the stretch of it up to
 * the next function on both sides; false: no code there. */
bool symfile_gap(struct symfile *sf, uint64_t vaddr, struct symbol *out);
/* All names of the function that starts there, the chosen one first, ended
 * by NULL; a view. No function: the list is empty. */
const char *const *symfile_aliases(struct symfile *sf, uint64_t start);
/* The variable around an ELF virtual address; false: none has a name there. */
bool symfile_data(struct symfile *sf, uint64_t vaddr, struct symbol *out);
/* Behind all that is mapped of the object, by ELF virtual addresses. */
uint64_t symfile_extent(struct symfile *sf);
/* ELF virtual address of a file offset, by program headers; offset itself
 * when no segment holds it. */
uint64_t symfile_vaddr(struct symfile *sf, uint64_t offset);
/* EM_X86_64 and so on; EM_NONE where the file cannot be read. */
unsigned symfile_machine(struct symfile *sf);
/* n bytes of code at a virtual address; false: the file does not have them. */
bool symfile_code(struct symfile *sf, uint64_t vaddr, void *out, size_t n);
/* Source line of a virtual address; *file lives with the symfile and is
 * absolute where the compiler told its directory. False also where the code
 * has no line. */
bool symfile_line(struct symfile *sf, uint64_t vaddr, const char **file,
		  int *line);
/* Functions that were inlined at an address, innermost first: linkage names,
 * where each was called and where it is written (file NULL, line 0: not
 * known). Views that live with the symfile. Returns how many, at most max. */
struct symfile_inlined {
	const char *name;
	const char *call_file;
	int call_line;
	const char *file;
	int line;
};
size_t symfile_inlines(struct symfile *sf, uint64_t vaddr,
		       struct symfile_inlined *out, size_t max);
/* Where functions were inlined: the entry of each copy, one perhaps more than
 * once. plain: the name, without namespaces, classes and template arguments; of
 * all that have it is_wanted says, by linkage or qualified name, which are
 * meant. */
void symfile_copies(struct symfile *sf, const char *plain,
		    bool (*is_wanted)(void *arg, const char *linkage),
		    void (*visit)(void *arg, uint64_t vaddr), void *arg);
/* Where the function begins that an address belongs to by debug information,
 * which knows whose part a piece of code elsewhere is; false: no such. */
bool symfile_entry(struct symfile *sf, uint64_t vaddr, uint64_t *entry);
/* ---- unit.c: compilation units, for listings of a whole source file ------ */

/* A unit is a number, 1 first; 0: there is no debug information. */
size_t symfile_units(struct symfile *sf);
size_t symfile_unit_at(struct symfile *sf, uint64_t vaddr);
/* Its main source file as symfile_line names it, and what compiled it with
 * which options (NULL: not told); both live with the symfile. */
const char *symfile_unit_file(struct symfile *sf, size_t unit);
const char *symfile_unit_producer(struct symfile *sf, size_t unit);
/* The rows of its line table: from vaddr on the code is of that line. line 0:
 * of none. Rows of one sequence of code are in order of addresses. */
struct symfile_row {
	uint64_t vaddr;
	const char *file;
	int line;
};
void symfile_unit_rows(struct symfile *sf, size_t unit,
		       bool (*visit)(void *arg, const struct symfile_row *row),
		       void *arg);

/* Where functions with code of their own begin, and where they are declared. */
void symfile_unit_functions(struct symfile *sf, size_t unit,
			    void (*visit)(void *arg, uint64_t start,
					  const char *file, int line),
			    void *arg);

/* Where the function is written that an address belongs to, which is not where
 * its first instruction comes from when that was inlined; else as
 * symfile_line. */
bool symfile_declared(struct symfile *sf, uint64_t vaddr, const char **file,
		      int *line);
/* Virtual address of a named function (linkage or demangled name, or one with
 * its file: see written.c); false: none. n counts matches when several exist: 0
 * is the first. */
bool symfile_named(struct symfile *sf, const char *name, unsigned n,
		   struct symbol *out);
/* All of them, until visit is false; copies that the compiler made (f.isra.0)
 * last. */
void symfile_each_named(struct symfile *sf, const char *name,
			bool (*visit)(void *arg, const struct symbol *sym),
			void *arg);
/* Where none has that name: the first whose name ends so (name_ends_so). */
bool symfile_ending(struct symfile *sf, const char *written,
		    struct symbol *out);
/* ---- written.c: FILE:NAME, `FILE`NAME, `OBJECT`NAME, `OBJECT`FILE`NAME --- */

/* Of a name so written, where the function's own begins. */
const char *symfile_written_name(const char *written);
/* Is what lies there of that file and object? Of all, if none is written. */
bool symfile_written_here(struct symfile *sf, uint64_t vaddr,
			  const char *written);

/* Calls visit for each name of each function that has one (completion);
 * stops when it is false. */
void symfile_each(struct symfile *sf,
		  bool (*visit)(void *arg, const struct symbol *sym),
		  void *arg);

/* ---- debug.c: the files, for those who read types and variables ---------- */

struct Dwarf;
struct Elf;
/* libdw's and libelf's handles: of the debug information, separate or not, and
 * of the object itself (.eh_frame). NULL: there is none. They live with the
 * symfile; addresses in both are ELF virtual addresses. */
struct Dwarf *symfile_dwarf(struct symfile *sf);
struct Elf *symfile_elf(struct symfile *sf);
/* Where the first entry of a unit lies (split units have files of their own);
 * NULL: no such unit. */
struct Dwarf *symfile_unit_dwarf(struct symfile *sf, size_t unit,
				 uint64_t *offset);
/* Of a skeleton unit's entry, that of the unit which is split off it (both are
 * Dwarf_Die of libdw); false: there is none, or another user decides what its
 * name leads to. */
bool symfile_split_unit(struct symfile *sf, void *die, void *split);
/* The file that an attribute of an entry (a Dwarf_Die of libdw) names, which may
 * stand in another unit's entry and then counts in that unit's table; as the
 * compiler wrote it, or NULL. (dwarf_decl_file of libdw 0.188 ends the process
 * where a split unit has no table.) */
const char *symbol_file(void *die, unsigned attribute);
/* The entries around one, that of its unit first (all are Dwarf_Die of libdw),
 * at most so many. How many; 0: there are more, or it is in none. */
size_t symbol_scopes(const void *die, void *around, size_t most);
/* The variable of that linkage name; false: none. */
bool symfile_data_named(struct symfile *sf, const char *name,
			struct symbol *out);

/* ---- server.c: files from debuginfod ----------------------------------- */

/* What is fetched, in one short line; NULL: nothing any more. */
typedef void symbol_server_tell(void *arg, const char *line);

/* NULL where DEBUGINFOD_URLS is not set; then nobody is asked. tell may be
 * NULL. */
struct symbol_server *symbol_server_new(symbol_server_tell *tell, void *arg);
void symbol_server_free(struct symbol_server *s);
/* Why the servers are not asked any more, in one line; NULL: they are. */
const char *symbol_server_trouble(const struct symbol_server *s);
/* A path to the program or library of that build-id, good until *fd is
 * closed; NULL: they have none. s may be NULL. The caller frees it. */
char *symbol_server_program(struct symbol_server *s, const char *build_id,
			    const char *shown, int *fd);

/* ---- names for people --------------------------------------------------- */

enum name_form { NAME_LONG, NAME_SHORT, NAME_MANGLED };
/* What a person reads: demangled, clones as `f [clone .constprop.0]`. Short:
 * without parameters and without Rust's hash. Control characters are masked.
 * The caller frees it. */
char *name_display(const char *linkage_name, enum name_form form);
/* What the compiler made a copy of which is called like it: f of f.isra.0;
 * NULL: it is none. The caller frees it. */
char *name_copied(const char *linkage_name);
/* Is that how its name ends, from a namespace or class on, and before arguments
 * of templates? */
bool name_ends_so(const char *linkage_name, const char *written);
/* The same of a function of that object. Bodies that the compiler took out of
 * another one say so: `f -- OMP parallel region from line 9 [f._omp_fn.0]`. */
char *symfile_display(struct symfile *sf, const char *linkage_name,
		      uint64_t start, enum name_form form);

/* ---- instructions.c, operands.c: machine code as text ------------------ */

struct symfile_insn {
	uint64_t vaddr;
	unsigned length;	/* bytes */
	const unsigned char *bytes;
	const char *text;	/* "call   0x401156 <work+0x10>"; lives during
				 * the visit */
	uint64_t target;	/* the address it names last; 0: none */
};

enum symfile_decoded { SYMFILE_DECODED, SYMFILE_NO_CODE, SYMFILE_NO_DECODER };

/* The instructions in [start, end), in order, until visit is false. Names of
 * operands come in that form. NO_CODE: the file does not have these bytes;
 * NO_DECODER: its machine is not known here. */
enum symfile_decoded
symfile_instructions(struct symfile *sf, uint64_t start, uint64_t end,
		     enum name_form form,
		     bool (*visit)(void *arg, const struct symfile_insn *ins),
		     void *arg);

#endif
