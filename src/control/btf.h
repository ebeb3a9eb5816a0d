/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * btf.c: the kernel's types by their names.
 */
#ifndef CONTROL_BTF_H
#define CONTROL_BTF_H

#include <stdbool.h>
#include <stdint.h>

struct btf;

/* A file such as /sys/kernel/btf/vmlinux. NULL: fail says why. */
struct btf *btf_open(const char *path);
void btf_free(struct btf *b);
/* The first type of a kind (BTF_KIND_*) and name; 0: none. */
uint32_t btf_find(const struct btf *b, unsigned kind, const char *name);
/* A member of a struct or union: its type, and where it is, in bytes. */
struct btf_place {
	uint32_t type, offset;
};
bool btf_member(const struct btf *b, uint32_t type, const char *name,
		struct btf_place *out);

#endif
