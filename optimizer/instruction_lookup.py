"""Lookup of an instruction that a user names, with advice where it is not found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError, did_you_mean
from hlo.wording import with_article

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.instruction import Instruction, Module


def instruction_named(
    name: str, known: Iterable[Instruction], module: Module, message: str
) -> Instruction:
    """The instruction of a name, with or without "%".

    Parameters
    ----------
    known : the instructions among which to look.
    message : what to say if there is none, with {} for the name.

    Raises
    ------
    HloError
        HLO158 if none of them has the name; it tells where else one has.
    """
    wanted, listed = name.removeprefix("%"), list(known)
    for instr in listed:
        if instr.name == wanted:
            return instr
    elsewhere = [
        f"%{wanted} is computed inside of %{call.name}, {with_article(call.opcode)}: ask about that"
        for computation in module.computations
        if any(i.name == wanted for i in computation.instructions)
        for call in module.instructions()
        if computation in call.called
    ]
    notes = elsewhere[:1] or did_you_mean(wanted, [i.name for i in listed])
    raise HloError("HLO158", message.format(f"`{wanted}`"), notes=notes)
