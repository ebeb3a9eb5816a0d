# SPDX-License-Identifier: GPL-3.0-or-later
# To be looked at by tests/debug-truth.test: a rule of a register that no
# machine has.
	.globl main
	.type main, @function
main:
	.cfi_startproc
	subq $8, %rsp
	.cfi_def_cfa_offset 16
	call middle
	xorl %eax, %eax
	addq $8, %rsp
	ret
	.cfi_endproc
	.size main, .-main
	.type middle, @function
middle:
	.cfi_startproc
	subq $8, %rsp
	.cfi_def_cfa_offset 16
	.cfi_register 12, 1000
	leaq text(%rip), %rdi
	call puts@plt
	addq $8, %rsp
	ret
	.cfi_endproc
	.size middle, .-middle
	.section .rodata
text:
	.asciz "middle"
	.section .note.GNU-stack, "", @progbits
