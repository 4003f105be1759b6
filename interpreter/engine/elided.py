"""Constants whose numbers the text leaves out: `constant({...})`."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

from hlo.attributes import Constant

if TYPE_CHECKING:
    from collections.abc import Generator

    from hlo.instruction import Instruction, Module

_TOLD: WeakSet[Module] = WeakSet()


class ElidedConstantWarning(UserWarning):
    """Numbers that a text leaves out are made up."""


@contextmanager
def elided_untold() -> Generator[None]:
    """Let modules run without a warning that numbers are made up, for a while."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElidedConstantWarning)
        yield


def is_elided(instr: Instruction) -> bool:
    """Whether an instruction is a constant that the text elides, whose numbers are made up."""
    return isinstance(instr.attrs, Constant) and instr.attrs.literal.elided


def warn_of_elided(module: Module) -> None:
    """Warn the caller's caller, once for each module, that numbers are made up.

    Warns
    -----
    ElidedConstantWarning
        with the line of the first such constant, and how to write whole ones.
    """
    if module in _TOLD:
        return
    _TOLD.add(module)
    message = elided_text(module)
    if message:
        warnings.warn(message, ElidedConstantWarning, stacklevel=3)


def elided_text(module: Module) -> str:
    """The warning about constants that the text leaves out; "" if there are none."""
    elided = [instr for instr in module.instructions() if is_elided(instr)]
    if not elided:
        return ""
    first, span = elided[0], elided[0].span
    line = f", line {span.line}," if span is not None else ""
    others = f" and {len(elided) - 1} more" if elided[1:] else ""
    return (
        f"the text leaves out the value of {first.name}{line}{others} (`{{...}}`); numbers are "
        "made up, as XLA does. XLA_FLAGS=--xla_dump_large_constants writes the value"
    )
