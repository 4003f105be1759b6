"""The codes HLO001 to HLO019: of text that cannot be read."""

from __future__ import annotations

from typing import Final

from hlo.code import Code

TEXT_CODES: Final[dict[str, Code]] = {
    "HLO001": Code(
        "the text is not of HLO's form",
        "A character, word or bracket stands where the grammar has no place for it, or the text "
        "ends too early. The form is `HloModule name`, then computations `name { ... }` of "
        "instructions `name = shape opcode(operands), key=value`, one of them marked ENTRY.",
    ),
    "HLO002": Code(
        "an attribute's value cannot be read",
        "Each attribute has values of one kind: a number, a list `{0,1}`, a word, a window, "
        "a sharding, ... Example: `dimensions={0,x}`.",
    ),
    "HLO003": Code(
        "a literal cannot be read",
        "A constant's text must be of its shape: as many numbers and braces as its dimensions ask "
        "for, each within the range of its element type. Example: `s8[2] constant({1, 300})`.",
    ),
    "HLO004": Code(
        "a name is defined twice, or a computation is not complete",
        "Names are unique in their computation, and computations' names in the module. A "
        "computation has at least one instruction, at most one ROOT, and parameters that are "
        "numbered 0, 1, 2, ...; a module has one ENTRY.",
    ),
    "HLO005": Code(
        "an attribute is unknown, missing or given twice",
        "`hlo ops OPCODE` shows which attributes an opcode takes and which of them it needs. "
        "Example: `transpose(x)` without `dimensions`.",
    ),
    "HLO006": Code(
        "a table of files or stack frames is wrong",
        "The rows of `FileNames`, `FunctionNames`, `FileLocations` and `StackFrames` are numbered "
        "1, 2, 3, ...",
    ),
    "HLO007": Code(
        "there is no such opcode",
        "HLO has 133 opcodes, spelled with hyphens: `reduce-window`, not `reduce_window`. "
        "`hlo ops` lists them.",
    ),
    "HLO008": Code(
        "the operands do not suit the opcode",
        "There are too few or too many, or what stands in the parentheses is of another kind: a "
        "parameter takes its number there, a constant its literal. An opcode that ends in "
        "`-update` or `-done` takes the `-start` that it belongs to.",
    ),
    "HLO009": Code(
        "an instruction needs its shape",
        "The shape before the opcode may be left out where the operands imply it. They do not for "
        "parameters, constants and a few opcodes more.",
    ),
    "HLO010": Code(
        "an operand or a computation is not known here",
        "Operands are instructions of the same computation, and a computation that is called "
        "stands before its caller. Where a shape is written before an operand, it must be the "
        "operand's own.",
    ),
    "HLO011": Code(
        "a value is no literal",
        "A NumPy array becomes a literal if XLA has its element type, and it has the shape that "
        "was asked for. NumPy's strings, objects and dates are no element types.",
    ),
}
