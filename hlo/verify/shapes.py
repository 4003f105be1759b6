"""Rules of shapes: each is well formed, and the declared one is the inferred one.

Layouts are not compared, and sizes that are bounds count as sizes. Floating-point types of another
precision are accepted where an instruction computes new values, since XLA's passes narrow results
in place; not where it only hands on those of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.infer.checks import compatible
from hlo.infer.precision import EXACT
from hlo.infer.size import expect_bounded
from hlo.types.shape import UNBOUNDED, Shape
from hlo.verify.scope import refuse

if TYPE_CHECKING:
    from hlo.instruction import Instruction


def verify_shape(instr: Instruction, known: dict[int, Shape]) -> None:
    """Check an instruction's declared shape.

    Parameters
    ----------
    known : shapes that were found well formed before, by identity.

    Raises
    ------
    HloError
        HLO020 to HLO049, HLO060 and HLO071.
    """
    declared = instr.shape
    if id(declared) not in known:
        _verify_form(instr, declared)
        known[id(declared)] = declared
    inferred = infer(instr)
    if compatible(declared, inferred, precision=instr.opcode in EXACT):
        return
    may_choose_type = "contraction" in instr.row.traits and declared.is_array
    if may_choose_type and compatible(declared, inferred.with_type(declared.element_type)):
        _verify_chosen_type(instr, declared, inferred)
        return
    refuse(
        instr,
        "HLO030",
        f"declared as {declared.text_without_layout}, but is {inferred.text_without_layout}",
    )


def _verify_chosen_type(instr: Instruction, declared: Shape, inferred: Shape) -> None:
    """Check a declared element type: a convolution of integers may widen them, but not narrow."""
    chosen, own = declared.element_type, inferred.element_type
    if instr.opcode == "convolution" and own.is_integer and chosen.bits < own.bits:
        refuse(instr, "HLO022", f"makes {chosen} of {own}: a result may not be narrower")


def _verify_form(instr: Instruction, shape: Shape) -> None:
    """Check that sizes are countable and known, and that layouts are orders of all dimensions."""
    for index, leaf in shape.leaves():
        try:
            expect_bounded(leaf)
        except HloError as error:
            message = f"{instr.opcode}: {error.message}"
            raise HloError(error.code, message, instr.span) from None
        if UNBOUNDED in leaf.dims:
            refuse(
                instr,
                "HLO042",
                f"{leaf.text_without_layout} has a size without a bound",
                "write a bound: <=8",
            )
        if leaf.layout is None:
            continue
        order = leaf.layout.minor_to_major
        if sorted(order) != list(range(leaf.rank)):
            where = f" at {list(index)}" if index else ""
            refuse(
                instr,
                "HLO060",
                f"the layout {leaf.layout}{where} is no order of "
                f"the dimensions of {leaf.text_without_layout}",
            )
