/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To be looked at by tests/debug-*.test: one of each kind of thing. */
#include <stdio.h>
#include <stdlib.h>
struct item { int n; struct item *next; char big[5000]; };
static double sum; static struct item items[3] = { { 1, &items[1] }, { 2, &items[2] }, { 3, (struct item *)0x1234 } };
static int walk(struct item *i) { double part = i->n * 1.5; int depth = i->n; sum += part; return depth + walk(i->next); }
int main(int argc, char **argv) { char *heap = malloc(100); sprintf(heap, "on the heap %d", argc); return walk(items); }
