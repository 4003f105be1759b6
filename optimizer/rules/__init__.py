"""The rules of the algebraic simplifier, one file a family of root opcodes.

How to add a rule:

1. Find the family: the file of the left side's outermost opcode. Add it to `FAMILIES` if it is new.
2. Write the rule as a row of the file's `RULES`, more special ones before more general ones:

       Rule(subtract(x, negate(y)), add(x, y), promise=BITS, xla="A - (-B) => A + B"),

   or, where the right side needs code, as a decorated function named for what it does, and put its
   name into `RULES`; `xla` says where it comes from. A rule looks at the operands of what its left
   side names, and no further: it is tried again only where any of that has changed.
   A guard that looks further says so (`far`, in `optimizer.rewriting.rule.Guard`).
3. State the promise: how exactly floating-point values are kept (`interpreter.compare`). Integers
   and preds must always be kept exactly; where a rule holds for some types only, say so by a guard
   (`optimizer.rewriting.guards`). A `witness`, such as `{"x": -0.0}`, is an input that breaks the
   next stronger promise; it documents the rule and makes its test deterministic.
4. `pytest tests/optimizer/test_rules.py -k <rule>`: the test writes itself. It builds left sides of
   many types and shapes from the pattern, and compares both sides by the interpreter at the
   promise; it looks for an input that breaks the next stronger promise, and fails if there is
   none; integer rules it tries on all values of four bits. Where the left side needs shapes that
   it can't guess, give it a sampler in `hlo_tools/generate/samplers.py`.
5. `hlo rules WORD --prove` asks an SMT solver whether the promise holds for all values, or shows
   values for which it does not. `make proofs` writes down what came of the new rules and of those
   that were changed; until then `hlo rules` says of them: not run yet, and a test fails. If a guard
   of yours looks at the value of a constant, tell the solver what it says: a line in
   `hlo_tools.proofs.conditions`.

A rule must make progress: fewer or cheaper instructions, or a more canonical form. Two rules that
undo each other never end; the tests that run passes twice find them.
"""

from __future__ import annotations

from optimizer.rewriting.rule import RuleSet
from optimizer.rules import (
    add,
    broadcast,
    collective,
    compare,
    concatenate,
    constant,
    convert,
    convolution,
    dimension_size,
    divide,
    dot,
    dynamic_slice,
    dynamic_update_slice,
    elementwise,
    gather,
    logic,
    minmax,
    multiply,
    pad,
    power,
    reduce,
    reduce_of_moved,
    reduce_window,
    remainder,
    reshape,
    reverse,
    select,
    shift,
    sort,
    subtract,
    transpose,
    unary,
)
from optimizer.rules import (
    copy as copy_,
)
from optimizer.rules import (
    slice as slice_,
)

FAMILIES = {
    "add": add.RULES,
    "subtract": subtract.RULES,
    "multiply": multiply.RULES,
    "divide": divide.RULES,
    "remainder": remainder.RULES,
    "power": power.RULES,
    "logic": logic.RULES,
    "shift": shift.RULES,
    "select": select.RULES,
    "minmax": minmax.RULES,
    "compare": compare.RULES,
    "convert": convert.RULES,
    "unary": unary.RULES,
    "broadcast": broadcast.RULES,
    "concatenate": concatenate.RULES,
    "dynamic_slice": dynamic_slice.RULES,
    "dynamic_update_slice": dynamic_update_slice.RULES,
    "dot": dot.RULES,
    "elementwise": elementwise.RULES,
    "pad": pad.RULES,
    "collective": collective.RULES,
    "constant": constant.RULES,
    "convolution": convolution.RULES,
    "dimension_size": dimension_size.RULES,
    "copy": copy_.RULES,
    "gather": gather.RULES,
    "reduce_window": reduce_window.RULES,
    "sort": sort.RULES,
    "reduce": reduce.RULES,
    "reduce_of_moved": reduce_of_moved.RULES,
    "reshape": reshape.RULES,
    "reverse": reverse.RULES,
    "slice": slice_.RULES,
    "transpose": transpose.RULES,
}

ALL_RULES = RuleSet(rule for family in FAMILIES.values() for rule in family)
