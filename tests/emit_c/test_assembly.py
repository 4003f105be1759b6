"""Assembly of emitted C: the lines of C in it, of whatever compiler and processor."""

import re

import pytest

import emit_c
import hlo
from emit_c.executable.assembly import assembly, called, functions
from optimizer.pipelines import prepare

SOURCE = """static int twice(int x) {
  return x + x;
}
int run(int n) {
  for (int i = 0; i < n; i++)
    n += twice(n);
  return n;
}"""
# As gcc writes for x86-64, with a table among its instructions.
GCC = """
	.file	"<stdin>"
	.text
	.file 0 "/here" "<stdin>"
	.globl	run
	.type	run, @function
run:
.LFB1:
	.file 1 "module.c"
	.loc 1 4 16
	.cfi_startproc
	movl	%edi, %eax
	.loc 1 5 3
	.loc 1 5 21
	testl	%edi, %edi
	jle	.L1
.L3:
.LVL2:
	.loc 1 6 10
	call	twice.part.0
	.section	.rodata
	.align 4
steps:
	.long	1
.LC0:
	.long	.L1
	.text
	.loc 1 6 7
	addl	.LC0(%rip), %eax
	jmp	.L3
.L1:
	.loc 1 7 10
	rep ret
	.cfi_endproc
	.size	run, .-run
	.section	.text.unlikely,"ax",@progbits
twice.part.0:
	.loc 1 2 10
	leal	(%rdi,%rdi), %eax
	ret
	.section	.debug_info,"",@progbits
	.long	0x1b
"""
OF_GCC = """run:
  // 4: int run(int n) {
        movl    %edi, %eax
  // 5: for (int i = 0; i < n; i++)
        testl   %edi, %edi
        jle     .L1
.L3:
  // 6: n += twice(n);
        call    twice.part.0
        addl    .LC0(%rip), %eax
        jmp     .L3
.L1:
  // 7: return n;
        rep     ret

twice.part.0:
  // 2: return x + x;
        leal    (%rdi,%rdi), %eax
        ret
"""
# As Apple's clang writes for ARM: names begin with a line, and other files have lines, too.
CLANG = """	.section	__TEXT,__text,regular,pure_instructions
	.file	1 "/here" "module.c"
	.file	2 "/usr/include" "string.h"
	.globl	_run                            ; -- Begin function run
_run:                                   ; @run
Lfunc_begin0:
	.loc	1 4 0                           ; module.c:4:0
	.cfi_startproc
; %bb.0:
	cbz	w0, LBB0_2
LBB0_1:                                 ; =>This Inner Loop Header: Depth=1
Ltmp0:
	.loc	1 6 5 is_stmt 1
	add	w0, w0, w0, lsl #1
	.loc	1 0 5 is_stmt 0
	b.ne	LBB0_1
	.loc	2 3 5
	nop
LBB0_2:
	.loc	1 7 3
	ret
	.cfi_endproc
	.section	__TEXT,__literal4,4byte_literals
lCPI0_0:
	.long	0x3f800000
"""
OF_CLANG = """_run:
  // 4: int run(int n) {
        cbz     w0, LBB0_2
LBB0_1:
  // 6: n += twice(n);
        add     w0, w0, w0, lsl #1
        b.ne    LBB0_1
        nop
LBB0_2:
  // 7: return n;
        ret
"""


@pytest.mark.parametrize(("text", "read"), [(GCC, OF_GCC), (CLANG, OF_CLANG)], ids=["gcc", "clang"])
def test_instructions_are_below_their_lines_of_c(text, read):
    """Of what a compiler writes, only instructions and the labels to which they jump are shown."""
    assert "\n".join(map(str, functions(text, SOURCE).values())) == read


def test_functions_that_are_called_are_found():
    """By the names of the variants that a compiler makes of them."""
    found = functions(GCC, SOURCE)
    assert called(found, "run") == {"run", "twice.part.0"}
    assert called(found, "twice") == {"twice.part.0"}


# Both kernels are the same loop over 64 numbers, so that they are one function.
MODULE = """HloModule m

ENTRY e {
  x = f32[64] parameter(0)
  y = f32[8,8] parameter(1)
  first = f32[64] negate(x)
  second = f32[8,8] negate(y)
  ROOT both = (f32[64], f32[8,8]) tuple(first, second)
}
"""


def test_assembly_names_lines_of_the_c_that_is_shown():
    program = emit_c.emit(prepare(hlo.parse(MODULE)))
    text = assembly(program, "first")
    assert assembly(program, "second") == text
    assert re.match(r"_?first_kernel:\n  // \d+: static void first_kernel\(", text)
    assert re.search(r"^  // \d+: first\w*\[\w+\] = -x\[\w+\];\n        \w", text, re.MULTILINE)
    whole, lines = assembly(program), program.source.split("\n")
    assert text in whole
    assert re.search(r"^_?load_constants:$", whole, re.MULTILINE)
    for number, line in re.findall(r"^  // (\d+): (.*)$", whole, re.MULTILINE):
        assert lines[int(number) - 1].strip() == line
