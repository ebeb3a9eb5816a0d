/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Source lines, by libdw. Which compilation unit an address belongs to is
 * looked up in a table made here from the units' own ranges: not every
 * compiler writes .debug_aranges, and libdw knows no other index.
 */
#include "foreign.h"
#include "symfile.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

struct unit_range {
	uint64_t start, end;
	uint64_t reach;		/* the largest end up to here */
	size_t unit;
};

struct lines {
	Dwarf *dwarf;
	char *dir;		/* of its file, or NULL */
	bool readable;
	struct unit *units;
	size_t unit_len, unit_cap;
	struct unit_range *ranges;	/* sorted by start */
	size_t range_len, range_cap;
	struct map files;	/* libdw's name -> absolute name */
	struct vec made;
};

enum {
	/* Units may overlap by accident; more than this is no accident. */
	OVERLAP_MAX = 64,
	/* Units can share one list of ranges, a million times over. */
	RANGES_MAX = 8 << 20,
};

void
lines_free(struct lines *lines)
{
	if (!lines)
		return;
	if (lines->dwarf)
		(void)dwarf_end(lines->dwarf);
	free(lines->dir);
	vec_free_items(&lines->made);
	vec_fini(&lines->made);
	map_fini(&lines->files);
	for (size_t i = 0; i < lines->unit_len; i++)
		bodies_free(lines->units[i].bodies);
	free(lines->ranges);
	free(lines->units);
	free(lines);
}

bool
image_has_lines(Elf *elf)
{
	Elf_Scn *scn;
	GElf_Shdr shdr;

	return (image_section(elf, ".debug_line", &scn, &shdr) ||
		image_section(elf, ".zdebug_line", &scn, &shdr)) &&
		shdr.sh_type != SHT_NOBITS;
}

/*
 * libdw 0.188 takes the length of a string at the end of .debug_line_str
 * without looking for the end of the section. Strings that do not end are
 * not debug information; dwarf_begin_elf has unpacked them by now.
 */
static bool
strings_end(Elf *elf)
{
	static const char *const names[] = {
		".debug_str", ".debug_line_str", ".zdebug_str",
		".zdebug_line_str",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		Elf_Scn *scn;
		GElf_Shdr shdr;

		if (!image_section(elf, names[i], &scn, &shdr) ||
		    shdr.sh_size == 0)
			continue;

		const Elf_Data *data = elf_getdata(scn, NULL);

		if (!data || !data->d_buf || data->d_size == 0 ||
		    ((const char *)data->d_buf)[data->d_size - 1] != '\0')
			return false;
	}
	return true;
}

/*
 * A range outside of code is what the linker leaves of a function that it
 * threw away.
 */
static void
add_ranges(struct symfile *sf, struct lines *lines, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	bool any = false;

	while (lines->range_len < RANGES_MAX &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end || !symfile_section(sf, start))
			continue;
		lines->ranges = xgrow(lines->ranges, &lines->range_cap,
				      lines->range_len + 1,
				      sizeof *lines->ranges);
		lines->ranges[lines->range_len++] = (struct unit_range){
			.start = start, .end = end, .unit = lines->unit_len,
		};
		any = true;
	}
	if (!any)
		return;
	lines->units = xgrow(lines->units, &lines->unit_cap,
			     lines->unit_len + 1, sizeof *lines->units);
	lines->units[lines->unit_len++] = (struct unit){ .die = *die };
}

static int
by_start(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void
index_units(struct symfile *sf, struct lines *lines)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint64_t reach = 0;

	while (dwarf_get_units(lines->dwarf, cu, &cu, NULL, NULL, &die,
			       NULL) == 0)
		if (dwarf_tag(&die) == DW_TAG_compile_unit ||
		    dwarf_tag(&die) == DW_TAG_skeleton_unit)
			add_ranges(sf, lines, &die);
	if (lines->range_len > 0)
		qsort(lines->ranges, lines->range_len, sizeof *lines->ranges,
		      by_start);
	for (size_t i = 0; i < lines->range_len; i++) {
		if (lines->ranges[i].end > reach)
			reach = lines->ranges[i].end;
		lines->ranges[i].reach = reach;
	}
}

Elf *
lines_elf(struct symfile *sf)
{
	Elf *elf = sf->main.elf;

	return elf && !image_has_lines(elf) ? symfile_debug_elf(sf) : elf;
}

static uint64_t
inflated_size(Elf_Scn *scn, const GElf_Shdr *shdr, const char *name)
{
	GElf_Chdr chdr;
	uint64_t size = 0;

	if (shdr->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &chdr) ? chdr.ch_size : UINT64_MAX;
	if (!name || strncmp(name, ".zdebug", strlen(".zdebug")) != 0)
		return 0;

	const Elf_Data *data = elf_rawdata(scn, NULL);
	const unsigned char *b = data ? data->d_buf : NULL;

	if (!b || data->d_size < 12 || memcmp(b, "ZLIB", 4) != 0)
		return 0;
	for (int i = 4; i < 12; i++)
		size = size << 8 | b[i];
	return size;
}

/* dwarf_begin_elf unpacks all of them. */
bool
lines_inflate_soundly(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names = 0;

	(void)elf_getshdrstrndx(elf, &names);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) &&
		    shdr.sh_type != SHT_NOBITS &&
		    inflated_size(scn, &shdr,
				  elf_strptr(elf, names, shdr.sh_name)) >
		    inflated_most(shdr.sh_size))
			return false;
	return true;
}

static struct lines *
lines_of(struct symfile *sf)
{
	if (sf->lines)
		return sf->lines;
	sf->lines = xcalloc(1, sizeof *sf->lines);

	Elf *elf = lines_elf(sf);

	if (elf && lines_inflate_soundly(elf))
		sf->lines->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (sf->lines->dwarf)
		sf->lines->dir = elsewhere_dir(sf, elf);
	sf->lines->readable = sf->lines->dwarf && strings_end(elf) &&
		elsewhere_bar(sf->lines->dwarf, sf->lines->dir);
	if (sf->lines->readable)
		index_units(sf, sf->lines);
	return sf->lines;
}

Dwarf *
lines_dwarf(struct symfile *sf)
{
	struct lines *lines = lines_of(sf);

	return lines->readable ? lines->dwarf : NULL;
}

static const char *
comp_dir(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *dir = dwarf_attr(unit, DW_AT_comp_dir, &attr) ?
		dwarf_formstring(&attr) : NULL;

	return dir ? dir : "";
}

static const char *
absolute_name(struct lines *lines, Dwarf_Die *unit, const char *file)
{
	const char *dir = comp_dir(unit);
	const size_t n = strlen(dir);
	uint64_t known;

	/* libdw has put it before names in the unit's own directory already;
	 * seen where it is relative, as in packages built reproducibly */
	if (file[0] == '/' || n == 0 ||
	    (str_starts(file, dir) && file[n] == '/'))
		return file;
	if (map_get(&lines->files, (uintptr_t)file, &known))
		return (const char *)(uintptr_t)known;

	char *whole = xasprintf("%s/%s", dir, file);

	vec_push(&lines->made, whole);
	map_put(&lines->files, (uintptr_t)file, (uintptr_t)whole);
	return whole;
}

/* A row with line 0 says that no line made this code. */
static bool
line_in_unit(struct lines *lines, Dwarf_Die *unit, uint64_t vaddr,
	     const char **file, int *line)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, vaddr);
	const char *name = row ? dwarf_linesrc(row, NULL, NULL) : NULL;

	if (!name || dwarf_lineno(row, line) != 0 || *line <= 0)
		return false;
	*file = absolute_name(lines, unit, name);
	return true;
}

bool
lines_units_at(struct symfile *sf, uint64_t vaddr,
	       bool (*visit)(void *arg, struct unit *unit), void *arg)
{
	struct lines *lines = lines_of(sf);
	size_t low = 0, high = lines->range_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (lines->ranges[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (int tries = 0; low-- > 0 && tries < OVERLAP_MAX; tries++) {
		const struct unit_range *range = &lines->ranges[low];

		if (range->reach <= vaddr)
			break;
		if (vaddr < range->end &&
		    visit(arg, &lines->units[range->unit]))
			return true;
	}
	return false;
}

struct place {
	struct lines *lines;
	uint64_t vaddr;
	const char **file;
	int *line;
};

static bool
find_place(void *arg, struct unit *unit)
{
	const struct place *p = arg;

	return line_in_unit(p->lines, &unit->die, p->vaddr, p->file, p->line);
}

bool
symfile_line(struct symfile *sf, uint64_t vaddr, const char **file, int *line)
{
	struct place p = { lines_of(sf), vaddr, file, line };

	return lines_units_at(sf, vaddr, find_place, &p);
}

const char *
lines_absolute(struct symfile *sf, struct unit *unit, const char *file)
{
	return absolute_name(lines_of(sf), &unit->die, file);
}

bool
symfile_split_unit(struct symfile *sf, void *die, void *split)
{
	return elsewhere_split(lines_of(sf)->dir, die, split);
}

Dwarf_Die *
unit_whole(struct symfile *sf, struct unit *unit)
{
	if (!unit->split_sought) {
		unit->split_sought = true;
		if (!symfile_split_unit(sf, &unit->die, &unit->split))
			unit->split = (Dwarf_Die){0};
	}
	return unit->split.cu ? &unit->split : &unit->die;
}

size_t
lines_unit_count(struct symfile *sf)
{
	return lines_of(sf)->unit_len;
}

struct unit *
lines_unit(struct symfile *sf, size_t unit)
{
	struct lines *lines = lines_of(sf);

	return unit && unit <= lines->unit_len ? &lines->units[unit - 1] :
						 NULL;
}

size_t
lines_unit_number(struct symfile *sf, const struct unit *unit)
{
	return (size_t)(unit - lines_of(sf)->units) + 1;
}
