/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the debug room. Types are made once and live as long as the debug;
 * values, expressions and frames' scopes live in the scratch arena until the
 * next question. Whatever debug data says is believed only within the limits
 * below: chains of types, scopes and expressions all end somewhere.
 */
#ifndef DEBUG_PRIVATE_H
#define DEBUG_PRIVATE_H

#include "arch.h"
#include "base.h"
#include "debug.h"
#include "symbol.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

enum {
	CHAIN_MAX = 64,		/* typedefs of typedefs, origins of origins */
	NEST_MAX = 40,		/* structs in structs while printing */
	SCOPE_MAX = 128,	/* blocks in blocks */
	FRAME_MAX = 100000,
	VALUE_MAX = 65536,	/* bytes of one value, as in gdb */
	ELEMENTS_MAX = 200,	/* of an array or a string that are shown */
	REPEATS = 10,		/* more equal elements are one */
	MEMBERS_MAX = 65536,
	REG_MAX = 128,		/* DWARF's numbers of registers */
	PIECE_OFFSET_MAX = 4096,	/* bits of it before a piece */
	WORK_MAX = 400000,	/* steps of one question */
	OUT_MAX = 4 << 20,	/* and bytes of its answer */
};

/* ---- arena.c: memory that goes all at once ---- */

struct arena_chunk;
struct arena {
	struct arena_chunk *chunks;
	size_t used;
};

void *arena_alloc(struct arena *a, size_t n);	/* zeroed */
char *arena_text(struct arena *a, const char *text);
char *arena_textn(struct arena *a, const char *text, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

/* ---- objects ---- */

struct entry;
struct index {			/* names of an object; see index.c */
	struct entry **slots;
	size_t slot_len, len;
};

struct object {
	char *key;		/* path, what tells it from another */
	char *shown;
	struct symfile *symbols;
	bool owned;		/* symbols were opened here */
	bool here;		/* in the target's last list */
	uint64_t start, end, bias;
	size_t order;
	Dwarf *dwarf;		/* NULL: no debug information */
	Dwarf_CFI *eh_cfi, *debug_cfi;
	bool dwarf_sought, cfi_sought, indexed;
	/* what is known of scopes, see scope.c: address -> those around it,
	 * hash -> what names in them are */
	struct map chains, findings;
	struct arena scope_memory;
	struct index index;	/* once it is indexed */
};

/* ---- frames ---- */

enum reg_known { REG_LOST, REG_HERE, REG_SAVED };

struct reg_state {
	enum reg_known known;
	uint64_t value;
	uint64_t saved_at;	/* REG_SAVED: in memory; else in the register */
	bool computed;		/* REG_HERE: in no register of its own */
};

/* One frame of the stack; functions that were inlined there are frames too. */
struct physical {
	uint64_t pc, cfa;
	bool exact;		/* pc is no return address */
	bool signal;		/* of a signal trampoline */
	bool innermost;
	struct object *object;	/* NULL: in none */
	struct reg_state reg[ARCH_REGS_MAX];
	Dwarf_Die *scopes;	/* innermost first, the unit last */
	size_t scope_len;
	bool scoped;
};

struct frame {
	struct physical *at;
	size_t first, last;	/* its scopes; last is the function's */
	bool inlined;		/* last is an inlined subroutine */
};

/* ---- types ---- */

enum type_kind {
	TYPE_VOID, TYPE_INT, TYPE_CHAR, TYPE_BOOL, TYPE_FLOAT, TYPE_COMPLEX,
	TYPE_ENUM, TYPE_POINTER, TYPE_REFERENCE, TYPE_RVALUE_REFERENCE,
	TYPE_ARRAY, TYPE_STRUCT, TYPE_UNION, TYPE_FUNCTION,
	TYPE_MEMBER_POINTER,
	TYPE_TYPEDEF, TYPE_CONST, TYPE_VOLATILE, TYPE_RESTRICT, TYPE_ATOMIC,
	TYPE_NAMESPACE, TYPE_NODEBUG_DATA, TYPE_NODEBUG_TEXT, TYPE_ERROR,
};

struct field {
	const char *name;	/* NULL: none */
	Dwarf_Die die;
	struct type *type;
	uint64_t offset;	/* bits from the start */
	unsigned bits;		/* 0: no bit-field */
	bool is_base, is_virtual, is_static, is_artificial, dynamic;
};

struct enumerator {
	const char *name;
	int64_t value;
};

struct type {
	enum type_kind kind;
	const char *name;	/* NULL: none; qualified */
	uint64_t size;
	bool is_signed, is_class, is_cxx, is_declaration, is_vector;
	bool is_prototyped, is_varargs, is_method, is_flags, is_variable;
	bool of_frame;		/* bounds in it were read: others elsewhere */
	bool has_variants;	/* Rust's enums; they are not shown */
	int64_t low;
	uint64_t count;		/* of elements */
	bool count_known;
	bool has_die, filled, completing;
	Dwarf_Die die;
	struct object *object;
	struct type *target;	/* see type_target */
	bool target_known;
	struct type *container;	/* of a member pointer */
	struct type *pointer, *complete;	/* made from it; or NULL */
	struct type *made, *made_next;	/* arrays of it, const and the like */
	struct field *fields;	/* also a function's parameters */
	size_t field_len;
	struct enumerator *values;
	size_t value_len;
};

struct debug;

struct type *type_array_of_die(struct debug *d, struct object *o,
			       Dwarf_Die *die);
struct type *type_of_die(struct debug *d, struct object *o, Dwarf_Die *die);
/* Of DW_AT_type; void where there is none. */
struct type *type_of_attr(struct debug *d, struct object *o, Dwarf_Die *die);
struct type *type_target(struct debug *d, struct type *t);
/* Without typedefs and const; a declaration's definition. Never NULL. */
struct type *type_strip(struct debug *d, struct type *t);
/* Without const and volatile only. */
struct type *type_unqualified(struct debug *d, struct type *t);
/* Fields of a struct, values of an enum, parameters of a function. */
void type_fill(struct debug *d, struct type *t);
uint64_t type_size(struct debug *d, struct type *t);
struct type *type_pointer_to(struct debug *d, struct type *t);
struct type *type_array_of(struct debug *d, struct type *t, uint64_t count);
struct type *type_wrapped(struct debug *d, enum type_kind kind,
			  struct type *t);
/* A type of the language by name: "int", "unsigned long"; NULL: none. */
struct type *type_basic(struct debug *d, const char *name);
struct type *type_new(struct debug *d, enum type_kind kind, const char *name,
		      uint64_t size, bool is_signed);
bool type_is_integral(const struct type *t);	/* stripped */
bool type_is_scalar(const struct type *t);
bool type_same(struct debug *d, struct type *a, struct type *b);
/* Bounds that are computed in a frame; t itself where they are constant. */
struct type *type_resolved(struct debug *d, struct type *t,
			   const struct frame *f, const uint64_t *address);

/* ---- type_text.c ---- */

void type_spell(struct debug *d, struct type *t, struct str *out);
void type_spell_var(struct debug *d, struct type *t, const char *name,
		    struct str *out);
const char *type_text(struct debug *d, struct type *t);	/* scratch */
void type_describe(struct debug *d, struct type *t, struct str *out);

/* ---- dwarf_value.c: what an expression of DWARF says ---- */

/* NULL: it has none. */
Dwarf_Die *frame_subprogram(const struct frame *f);

enum place_kind {
	PLACE_NONE,		/* optimized out */
	PLACE_MEMORY, PLACE_REGISTER, PLACE_VALUE, PLACE_BYTES, PLACE_POINTER,
};

struct place {
	enum place_kind kind;
	uint64_t value;		/* address or value */
	int reg;
	const unsigned char *bytes;
	size_t len;
	Dwarf_Die die;		/* PLACE_POINTER: what it points to */
	int64_t offset;
	uint64_t bits, bit_offset;	/* of a piece; bits 0: all of it */
};

struct places {
	struct place *items;
	size_t len, cap;
};

struct context {		/* in which an expression is evaluated */
	struct debug *d;
	struct object *object;
	const struct physical *regs;	/* NULL: none are known */
	const struct frame *frame;	/* NULL: no frame base */
	const uint64_t *address;	/* of the object that holds it */
	bool has_initial;
	uint64_t initial;
	int depth;
};

int places_of_ops(struct context *c, Dwarf_Attribute *attr, Dwarf_Op *ops,
		  size_t count, struct places *out);
/* The number that ops leave on the stack. */
int number_of_ops(struct context *c, Dwarf_Attribute *attr, Dwarf_Op *ops,
		  size_t count, uint64_t *number);
/* An attribute that is a constant, an expression or a reference to a variable;
 * -1 without a failure recorded: not known. */
int number_of_attr(struct context *c, Dwarf_Die *die, unsigned name,
		   uint64_t *number);
bool attr_unsigned(Dwarf_Die *die, unsigned name, uint64_t *out);
bool attr_signed(Dwarf_Die *die, unsigned name, int64_t *out);
bool form_number(Dwarf_Attribute *attr, int64_t *out);
bool attr_flag(Dwarf_Die *die, unsigned name);
/* Where the calling frame says what a register had at entry. */
int entry_value(struct context *c, Dwarf_Attribute *attr, const Dwarf_Op *op,
		uint64_t *value);
/* How many of the size bytes the register has, the others are 0; -1: it was
 * not saved. */
ssize_t register_bytes(struct debug *d, const struct physical *p, int reg,
		       unsigned char *out, size_t size);
uint64_t frame_cfa(struct debug *d, const struct physical *p);
/* The register to which it keeps its distance, as long as the thread is there;
 * -2: there is none. */
int frame_cfa_base(const struct physical *p);
/* The same of a parameter that is passed no more. */
int entry_parameter(struct context *c, Dwarf_Attribute *attr,
		    const Dwarf_Op *op, uint64_t *value);
/* Has a function perhaps tail-called itself, directly or by way of others? */
bool tail_calls_itself(struct debug *d, Dwarf_Die *function);
int tls_address(struct debug *d, struct object *o, uint64_t offset,
		uint64_t *addr);

/* ---- values ---- */

enum value_place { VALUE_TEMPORARY, VALUE_MEMORY, VALUE_REGISTER, VALUE_PARTS,
		   VALUE_CONVENIENCE };

enum {				/* bytes of a value that nobody has */
	LOST_OPTIMIZED = 1, LOST_SYNTHETIC, LOST_UNAVAILABLE,
};

struct synthetic {		/* a pointer to what has no address */
	Dwarf_Die die;
	int64_t offset;
	struct object *object;
	uint64_t at;		/* where in the value it is */
	struct synthetic *next;
};

struct value {
	struct type *type;
	unsigned char *bytes;	/* NULL: not fetched yet */
	size_t size;
	enum value_place place;
	uint64_t addr;
	int reg;
	const struct physical *regs;
	struct places parts;
	unsigned bit_offset, bits;	/* bits 0: no bit-field */
	unsigned char *lost;	/* per byte: 0 there, else LOST_*; or NULL */
	unsigned char *holes;	/* with it: a 1 for each bit that is lost */
	struct synthetic *synthetic;
	struct variable_slot *slot;	/* VALUE_CONVENIENCE */
	const char *text;	/* name, of a symbol without a type */
	/* of a function: it chooses the one that is meant; nothing is known
	 * of what it takes and returns */
	bool is_chooser, is_assembly;
	struct value *self;	/* of a method: the object that it was named of */
	bool is_virtual;	/* ... and so many words into its table */
	uint64_t slot_in_table;
};

struct value *value_new(struct debug *d, struct type *t);
struct value *value_at(struct debug *d, struct type *t, uint64_t addr);
struct value *value_int(struct debug *d, struct type *t, uint64_t number);
struct value *value_double(struct debug *d, struct type *t, long double n);
struct value *value_lost(struct debug *d, struct type *t);
int value_fetch(struct debug *d, struct value *v);
/* Fetched, and nothing of it is optimized out. */
int value_need(struct debug *d, struct value *v);
bool value_all_lost(const struct value *v);
/* What v points to, without an address; NULL: it is no such pointer. */
const struct synthetic *value_synthetic(const struct value *v);
int value_number(struct debug *d, struct value *v, uint64_t *out);
/* All 128 bits of an integer, with those of its sign. */
int value_wide(struct debug *d, struct value *v, unsigned __int128 *out);
struct value *value_of_wide(struct debug *d, struct type *t,
			    unsigned __int128 number);
int value_float(struct debug *d, struct value *v, long double *out);
int value_store(struct debug *d, struct value *to, struct value *from);
struct value *value_cast(struct debug *d, struct type *t, struct value *v);
struct value *value_part(struct debug *d, struct value *v, struct type *t,
			 uint64_t offset);
struct value *value_member(struct debug *d, struct value *v,
			   const struct field *f);
struct value *value_element(struct debug *d, struct value *v, int64_t index);
struct value *value_deref(struct debug *d, struct value *v);
struct value *value_unref(struct debug *d, struct value *v);
struct value *value_address(struct debug *d, struct value *v);
struct value *value_decay(struct debug *d, struct value *v);
/* A member by name, also of bases and anonymous members; NULL: a failure. */
struct value *value_named_member(struct debug *d, struct value *v,
				 const char *name);
/* The part of v that is of class t: v itself, or a base, virtual ones too;
 * NULL, and perhaps a failure: there is none. */
struct value *value_base(struct debug *d, struct value *v, struct type *t);
/* object.*member; quiet: only its type is wanted. */
struct value *value_member_pointed(struct debug *d, struct value *object,
				   struct value *member, bool quiet);
struct value *value_method(struct debug *d, struct entry *e,
			   struct value *self);
/* A method of its class or of a base; NULL without a failure: there is none. */
struct value *value_named_method(struct debug *d, struct value *v,
				 const char *name);
bool type_has_member(struct debug *d, struct type *t, const char *name);
int value_truth(struct debug *d, struct value *v, bool *out);
uint64_t bits_get(const unsigned char *from, uint64_t at, unsigned n);
void bits_put(unsigned char *to, uint64_t at, unsigned n, uint64_t bits);

/* How many bases of class `to` it has; a virtual one is one, however often. */
unsigned class_bases(struct debug *d, struct type *of, struct type *to);
/* There are several: which is meant? */
int fail_ambiguous(struct type *base, struct type *of);
struct value *value_dynamic_cast(struct debug *d, struct type *t,
				 struct value *v);

/* ---- rtti.c: by what an object says that it is ---- */

/* The part of class from at addr: where the one object of class `to` is whose
 * base it is, whoever may know. */
int rtti_derived(struct debug *d, struct type *from, uint64_t addr,
		 struct type *to, uint64_t *out);
/* As dynamic_cast has it: 0 where that is null. to NULL: the whole object. */
int rtti_cast(struct debug *d, struct type *from, uint64_t addr,
	      struct type *to, uint64_t *out);

/* ---- rtti_name.c ---- */

struct class_name {
	const char *name;	/* without blanks, in one way */
	/* of a function's own: how the linkage name begins; NULL */
	const char *local;
};

struct class_name class_name_of(struct debug *d, struct type *t);
/* "_ZTS" and the name that the type_info has; NULL: it has none. */
const char *rtti_linkage(struct debug *d, uint64_t info);
/* The name for people, as in struct class_name; NULL: it is none. */
const char *rtti_name(struct debug *d, const char *linkage);
bool class_is(const struct class_name *s, const char *name,
	      const char *linkage);
/* A template of that name, with arguments that are written otherwise? */
bool class_is_alike(const struct class_name *s, const char *name);

/* ---- variable.c ---- */

/* frame may be NULL for what lies at a fixed place. */
struct value *variable_value(struct debug *d, struct object *o,
			     const struct frame *frame, Dwarf_Die *die);
struct value *value_of_places(struct debug *d, struct object *o,
			      const struct physical *regs, struct type *t,
			      struct places *places);

/* ---- index.c: names of a whole object ---- */

struct entry {
	const char *name;	/* the last part of it */
	const char *scope;	/* "A::B", "" at the top */
	const char *short_scope;	/* without inline namespaces */
	struct object *object;
	Dwarf_Die die;
	Dwarf_Die unit;
	struct entry *next;	/* of the same hash */
	bool external, declaration;
};

enum entry_wanted { WANT_VALUE, WANT_TYPE, WANT_ANY };

uint64_t index_hash(const char *name);
/* Walk it, if it was not. */
void index_scan(struct debug *d, struct object *o);
/* All that are here. */
void index_scan_all(struct debug *d);
/* The object whose entry that is; NULL: of a file of dwz, or one that was split
 * off. Of one that is mapped twice the first. */
struct object *index_owner(struct debug *d, Dwarf_Die *die);

/* ---- lookup.c ---- */

/* The best of that qualified name: of the frame's unit before all others. */
struct entry *index_find(struct debug *d, const char *name,
			 enum entry_wanted want, Dwarf_Die *unit);
/* Is a type meant by it, and not a variable that is nearer? */
bool index_is_type(struct debug *d, const char *name, Dwarf_Die *unit);
/* All of them, until visit is false. */
void index_each(struct debug *d, const char *name,
		bool (*visit)(void *arg, struct entry *e), void *arg);
/* Also those of that name in other namespaces, classes. */
void index_each_anywhere(struct debug *d, const char *name,
			 bool (*visit)(void *arg, struct entry *e), void *arg);
/* Those whose name, without what is around it, begins so. */
void index_each_begun(struct debug *d, const char *name,
		      bool (*visit)(void *arg, struct entry *e), void *arg);
/* What an expression means by it, there, if it is no variable of a block. */
struct entry *entry_meant(struct debug *d, const struct frame *f,
			  const char *name, enum entry_wanted want);
/* For a name with :: that nothing has: what has a name that ends so, variable
 * or function. NULL: there is none. -1: there are several, and a failure. */
int entry_ending(struct debug *d, const char *name, struct entry **out);
/* The definition of a type that is only declared; NULL: none. */
struct entry *index_definition(struct debug *d, struct type *t);
void note_enumerators(struct debug *d, Dwarf_Die *type);
bool is_type_tag(int tag);
const char *die_name(Dwarf_Die *die);
/* The name with its namespaces and classes; scratch. */
const char *die_full_name(struct debug *d, Dwarf_Die *die);
bool die_is_cxx(Dwarf_Die *die);
bool die_is_assembly(Dwarf_Die *die);
bool is_chooser(const struct symbol *sym);

/* ---- scope.c ---- */

/* Scopes around vaddr, innermost first, the unit last. */
void scopes_at(struct debug *d, struct object *o, uint64_t vaddr,
	       struct physical *at);
/* Those that are known of an object. */
void scopes_forget(struct object *o);
/* A variable, parameter or enumerator that the frame sees by that name. */
bool scope_find(struct debug *d, const struct frame *f, const char *name,
		enum entry_wanted want, Dwarf_Die *out);
/* What is declared in a block, its abstract origin's too; visit goes on while
 * it is true. */
bool block_each(Dwarf_Die *block, bool (*visit)(void *arg, Dwarf_Die *die),
		void *arg);
const struct frame *frame_selected(struct debug *d);
int frame_make_all(struct debug *d, size_t upto);
const struct frame *frame_get(struct debug *d, size_t n);
uint64_t frame_lookup_pc(const struct physical *p);
const char *frame_function(struct debug *d, const struct frame *f);
bool frame_is_cxx(struct debug *d);
/* The file with the debug data of its unit (-gsplit-dwarf) is not there: a
 * failure that names it, and false. */
bool frame_has_data(const struct frame *f);
struct type *function_type(struct debug *d, struct object *o, Dwarf_Die *die);
bool die_entry(Dwarf_Die *die, uint64_t *vaddr);

/* ---- overload.c: which of several functions is meant ---- */

enum { OVERLOADS_MAX = 128 };

struct overloads {
	struct debug *d;
	const char *name;	/* as messages have it */
	bool is_operator;	/* these tell of the object, too */
	struct value *items[OVERLOADS_MAX];
	size_t n;
};

void overloads_add(struct overloads *o, struct value *f);
/* self NULL: it is no method. What is no function of C++ is not added. */
void overloads_add_entry(struct overloads *o, struct entry *e,
			 struct value *self);
/* f, and all that have its name and its scope. */
void overloads_add_like(struct overloads *o, struct value *f);
/* operands: the arguments, behind the object where methods are among them.
 * NULL, and a failure that says what there is: none, or it is not clear. */
struct value *overloads_choose(struct overloads *o, struct value **operands,
			       size_t n);
/* Of f's name and scope the one for these arguments; f where it is alone. */
struct value *overload_of(struct debug *d, struct value *f,
			  struct value **args, size_t n);
bool type_is_const(struct debug *d, struct type *t);

/* ---- operator.c: those that the program's classes define ---- */

/* "+" of '+', "<<" of OP_SHL. */
const char *operator_text(int op);
/* Is one of them an object of a class? */
bool operator_is_own(struct debug *d, struct value **operands, size_t n);
/* Without references. false, and no failure: there is none of that name for
 * these. Else *out is what it returns, NULL and a failure, or in quiet of the
 * same type. */
bool operator_call(struct debug *d, const char *text, struct value **operands,
		   size_t n, bool quiet, struct value **out);

/* ---- expressions ---- */

struct node;

struct node *parse_text(struct debug *d, const char *text);
/* A type's name, a whole text of it; NULL: it is none (no failure). */
struct type *parse_type(struct debug *d, const char *text);
struct value *evaluate(struct debug *d, struct node *n, bool quiet);
struct value *evaluate_text(struct debug *d, const char *text);
/* $name; made when it is new. */
struct variable_slot {
	char *name;
	struct type *type;	/* NULL: void so far */
	unsigned char *bytes;
	size_t size;
};
struct variable_slot *convenience(struct debug *d, const char *name);
struct value *convenience_value(struct debug *d, const char *name);
struct value *binary(struct debug *d, int op, struct value *a,
		     struct value *b);
bool is_comparison(int op);
/* What an integer is in arithmetic, with b, or alone (NULL). */
struct type *arithmetic_type(struct debug *d, const struct type *a,
			     const struct type *b);
struct value *unary(struct debug *d, int op, struct value *v);
/* as: its result's type, where the function has none that is known. */
struct value *call_function(struct debug *d, struct value *function,
			    struct type *as, struct value **args, size_t n);
/* What whoever asks knows $name to be; false: nothing. */
bool outside_value(struct debug *d, const char *name, struct value **out);
bool register_is(const char *name);
struct value *register_value(struct debug *d, const char *name);
struct value *symbol_value(struct debug *d, const char *name);
/* The same of `FILE`NAME, `OBJECT`FILE`NAME, `OBJECT`NAME. */
struct value *written_value(struct debug *d, const char *written);
struct value *entry_as_value(struct debug *d, struct entry *e);

enum {				/* operators of two characters and words */
	OP_SHL = 256, OP_SHR, OP_LE, OP_GE, OP_EQ, OP_NE, OP_AND, OP_OR,
	OP_ARROW, OP_SCOPE, OP_INC, OP_DEC, OP_OF, OP_OF_POINTED,
};

/* ---- print.c ---- */

struct printing {
	struct debug *d;
	struct str *out;
	char format;
	bool top;		/* of print: pointers say their types */
	struct type **bases;	/* virtual ones that are shown already */
	int depth;
};

void print_value(struct printing *p, struct value *v);
/* The same, but all of it may be optimized out. */
void print_whole(struct printing *p, struct value *v);
void print_array(struct printing *p, struct value *v);
void print_characters(struct printing *p, const unsigned char *bytes,
		      size_t count, unsigned width, char kind, bool more);
void print_string_at(struct printing *p, uint64_t addr, unsigned width,
		     char kind);
char text_kind(struct debug *d, struct type *t);
void print_character(struct str *out, uint64_t c, unsigned width, char quote,
		     bool *need_escape);
/* A number of that type by format (never 0). */
void print_number(struct printing *p, struct type *t, const unsigned char *raw,
		  char format, unsigned size);
void print_float(struct printing *p, const struct type *t,
		 const unsigned char *raw, uint64_t size);
/* A format of our own: numbers can be made of it. */
bool float_is_native(const struct type *t);
bool float_is_brain(const struct type *t);	/* bfloat16 */
bool float_is_extended(const struct type *t);	/* x87's, in 16 bytes */
/* float.c: false: it is of a format that is not known here. */
bool float_of_bytes(const struct type *t, const unsigned char *raw,
		    uint64_t size, long double *out);
void print_flags(struct str *out, uint64_t word);
void print_enum(struct printing *p, struct type *t, int64_t value);
void print_integer128(struct str *out, const unsigned char *raw,
		      bool is_signed);
/* "&A::b"; false, and nothing: it has no name. */
bool print_data_member(struct printing *p, struct type *t, uint64_t offset);
/* "&virtual A::b(int)"; false, and nothing: it is no virtual one. */
bool print_virtual_member(struct printing *p, struct type *t, uint64_t word,
			  uint64_t adjustment);
/* " <main+4>" where a symbol is around it. */
bool print_symbol(struct debug *d, uint64_t addr, struct str *out);

/* ---- debug.c ---- */

struct debug {
	const struct debug_target *target;
	void *arg;
	struct vec objects;	/* struct object */
	bool objects_known, regs_known, highs_asked;
	struct debug_regs regs;
	struct arena lasting, scratch, stack;
	struct map types;	/* address of a DIE -> struct type */
	struct map derived, derived_short;
	struct map basics;
	struct type *vectors[2];	/* of $xmm0, $ymm0; NULL: not yet */
	struct map pages;	/* of memory that was read: address -> bytes */
	struct map shown;	/* address -> " <name+1>", in the stack arena */
	struct map enums;	/* address of an enumerator -> of its enum */
	struct vec physicals;	/* struct physical */
	struct frame **frames;	/* pointers: the array grows */
	size_t frame_len, frame_cap, selected;
	bool frames_ended;
	size_t entries;		/* in the indexes of all objects */
	struct vec slots;	/* struct variable_slot */
	debug_variable *outside;	/* NULL: there are no others */
	void *outside_arg;
	int depth;		/* of the expression */
	int nested;		/* variables that others are computed from */
	int running, ops;	/* operations of DWARF, those nested, too */
	unsigned work;		/* of this question; bounded */
};

void memory_forget(struct debug *d);
int debug_read(struct debug *d, uint64_t addr, void *buf, size_t n);
bool debug_read_word(struct debug *d, uint64_t addr, uint64_t *out);
int debug_regs_load(struct debug *d);
struct object *object_at(struct debug *d, uint64_t addr);
void objects_load(struct debug *d);
void object_close(struct object *o);
Dwarf *object_dwarf(struct object *o);
struct object *object_of_die(struct debug *d, Dwarf_Die *die,
			     struct object *fallback);
/* Has this question had its share? It ends then. */
bool debug_tired(struct debug *d, const struct str *out);
/* Begin a question: the scratch arena is empty again. */
void debug_begin(struct debug *d);

/* ---- classes.c: how values are passed ---- */

enum value_class { CLASS_NONE, CLASS_INTEGER, CLASS_SSE, CLASS_X87 };

struct classes {
	enum value_class of[2];	/* of each 8 bytes */
	size_t words;		/* as many are meant */
	uint64_t size;
	bool in_memory;
	bool is_x87;		/* in memory, and comes back in st(0), st(1) */
	bool is_wide;		/* aligned to 16 bytes */
};

/* -1: it cannot be passed so, and why. */
int classes_of(struct debug *d, struct type *t, struct classes *c);

/* ---- machine_*.c ---- */

enum reg_type { REG_LONG, REG_CODE, REG_DATA, REG_FLAGS, REG_INT32,
		REG_X87, REG_VECTOR,
		REG_WIDE };	/* a vector, and its upper half */

struct machine_reg {
	const char *name;
	int dwarf;		/* -1: has none */
	enum reg_type type;
	size_t offset;		/* in struct debug_regs */
	size_t size;
	bool extra, vector;	/* known only with these */
	char set;		/* 'g' general, 'f' floating, 'v' vector; 'w'
				 * is in no list: others have its half */
};

struct machine {
	const struct machine_reg *regs;
	size_t reg_len;
	/* eax is 4 bytes of rax; NULL: it is no part of one */
	const struct machine_reg *(*part)(const char *name, size_t *at,
					  size_t *size);
	const char *const *flags;	/* names of bits, or NULL */
	size_t flag_len;
	uint32_t kept;		/* general registers that a call preserves */
	size_t prstatus_regs;	/* where they begin in NT_PRSTATUS */
	void (*from_prstatus)(const unsigned char *regs, size_t n,
			      struct debug_regs *out);
	void (*from_floats)(const unsigned char *regs, size_t n,
			    struct debug_regs *out);
	/* of NT_X86_XSTATE; NULL: nothing is wider than a vector */
	void (*from_highs)(const unsigned char *set, size_t n,
			   struct debug_regs *out);
	/* where the block of the program's own thread variables begins */
	uint64_t (*tls_block)(uint64_t tp, uint64_t size, uint64_t align);
	int dtv_offset;		/* of the pointer to the DTV from tp */
	int int_args, float_args;
	bool has_classes;	/* classes.c is right here */
};

extern const struct machine machine;
const struct machine_reg *machine_named(const char *name);
const struct machine_reg *machine_numbered(int dwarf);

/* ---- vectors.c: registers of many numbers ---- */

/* As gdb has it: a union of all that the 16 or 32 bytes can be. */
struct type *vector_type(struct debug *d, const struct machine_reg *r);
/* Its bytes, as many as there are, at most size. */
size_t vector_bytes(struct debug *d, const struct machine_reg *r,
		    unsigned char *out, size_t size);
/* Are all of them known? */
bool vector_is_known(struct debug *d, const struct machine_reg *r);

#endif
