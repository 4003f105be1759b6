"""The codes HLO001 to HLO019: of reading HLO text, and of making literals."""

from __future__ import annotations

from typing import Final

from hlo_tools.explanations.code import Code

TEXT_CODES: Final[dict[str, Code]] = {
    "HLO001": Code(
        "the text is not of the form of HLO",
        "A module is `HloModule name, key=value`, then computations `%name (parameters) -> shape { "
        "... }`, one of them with ENTRY in front. An instruction is `%name = shape "
        "opcode(operands), key=value, ...`, on any number of lines; there is no `;` at its end. "
        "Common causes: a bracket, string or comment that is not closed, or a text that was cut "
        "off.",
    ),
    "HLO002": Code(
        "the value of an attribute, or a shape, can't be read",
        "Each attribute has values of one kind: a list is `{0,1}`, a window `{size=2x2 "
        "stride=1x1}`, padding `1_1x0_2`, dimension labels `b01f_01io->b01f`, a sharding "
        "`{devices=[2,2]<=[4]}`. A shape is an element type with sizes in brackets, `f32[2,3]`, "
        "and perhaps a layout, `{1,0}`. Integers must fit into 64 bits.",
    ),
    "HLO003": Code(
        "a literal does not fit its shape",
        "The braces of a literal repeat the dimensions of its shape: `f32[2,3]` is written `{{1, "
        "2, 3}, {4, 5, 6}}`, a tuple `(1, {2, 3})`, a complex number `(re, im)`. Every number must "
        "be in the range of the element type; infinity is `inf`. `{...}` stands for a literal that "
        "was left out when the module was printed: its values are not known. One number for an "
        "array, `f32[9] constant(1)`, is its first element, and the others are 0; a text may leave "
        "out so many bytes that way, and no more.",
    ),
    "HLO004": Code(
        "a definition contradicts another",
        "Names are unique, among computations and among the instructions of one. A computation has "
        "at least one instruction, at most one ROOT, and parameters that are numbered 0, 1, 2, "
        "...; a module has at most one ENTRY. If a computation declares its result, it is the "
        "root's shape.",
    ),
    "HLO005": Code(
        "an attribute is unknown, missing or given twice",
        "Each opcode has its own attributes, some of which must be given; `hlo ops OPCODE` lists "
        "them. Every instruction may have sharding, metadata, backend_config, frontend_attributes, "
        "statistics, origin and control-predecessors.",
    ),
    "HLO006": Code(
        "the rows of a stack-frame table are not numbered 1, 2, 3, ..., or a table is missing",
        "FileNames, FunctionNames, FileLocations and StackFrames come in this order, all or none "
        "of them, and refer to each other's rows by number, so no row may be missing or out of "
        "order.",
    ),
    "HLO007": Code(
        "there is no such opcode",
        "`hlo ops` lists XLA's opcodes. Their names are not those of Python functions or of "
        "StableHLO: `exponential` rather than exp, `dot` rather than dot_general, words joined by "
        "hyphens. `x-start`, `x-update` and `x-done` exist for every opcode x.",
    ),
    "HLO008": Code(
        "an opcode has not as many operands as it takes, or not of the kind",
        "The number of operands is part of what an opcode is; parameters, constants and iotas have "
        "none. The operand of an asynchronous update or done is what was started.",
    ),
    "HLO009": Code(
        "a shape is missing",
        "An instruction may leave its shape out where it follows from the operands: `a = add(x, "
        "y)`. A parameter, constant or iota has no operands, and opcodes such as reshape, "
        "broadcast and convert exist to give another shape, so they need it written.",
    ),
    "HLO010": Code(
        "an operand or a computation is not defined before it is used",
        "HLO has no forward references: an instruction uses what comes before it in the same "
        "computation, and calls computations that come before its own. If an operand is written "
        "with its shape, the shape is that of its definition.",
    ),
    "HLO012": Code(
        "the text is not of the form of StableHLO",
        "A program is a `module` of functions, one of them `@main`; an operation is `%0 = "
        "stablehlo.add %a, %b : tensor<4xf32>`, or in MLIR's generic form `%0 = "
        '"stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>`. Values are '
        "defined before they are used. In MLIR's bytecode, a program is a portable artifact.",
    ),
    "HLO013": Code(
        "HLO has nothing for a part of a StableHLO program",
        "Quantized types, sizes that are known at run time only, operations of other dialects and "
        "recursion have no counterpart in HLO. Frameworks remove most of them before they hand a "
        "program to XLA: print the module after that, or as HLO.",
    ),
    "HLO014": Code(
        "StableHLO has nothing for a part of a module",
        "Integers of one bit, buffers, bitcasts of arrays in tiles, and the random state of a "
        "device have no counterpart in StableHLO, nor has one opcode that computes and converts. "
        "HLO text and the protocol buffer say all: `hlo print FILE -o FILE.pb`.",
    ),
    "HLO011": Code(
        "a NumPy value is no literal",
        "The element type must be one of XLA's: strings, objects and dates are not. A value that "
        "is given a shape must have its dimensions; a tuple, its number of elements.",
    ),
}
