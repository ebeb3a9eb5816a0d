/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guest library, as it was built, inside of us: attaching trusts no path.
 * The assembler finds it where make runs, at the top of the build.
 */
	.section .rodata
	.balign 64
	.globl collector_image, collector_image_end
	.hidden collector_image, collector_image_end
collector_image:
	.incbin "sonde-collector.so"
collector_image_end:
	.section .note.GNU-stack,"",@progbits
