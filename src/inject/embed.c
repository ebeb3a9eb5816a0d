/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guest library, as it was built, inside of us: attaching trusts no path.
 * The assembler finds it where make runs, at the top of the build.
 */
#include "private.h"

__asm__(
"	.section .rodata\n"
"	.balign 64\n"
"	.globl collector_image, collector_image_end\n"
"	.hidden collector_image, collector_image_end\n"
"collector_image:\n"
"	.incbin \"sonde-collector.so\"\n"
"collector_image_end:\n"
"	.previous\n"
);
