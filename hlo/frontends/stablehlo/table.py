"""The table of operations: how each becomes instructions of HLO.

A function is given the scope that it appends to, the operation, and the instructions of its
operands; it gives the instruction of its value, or those of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, did_you_mean
from hlo.instruction import Instruction
from hlo.opcode import ELEMENTWISE

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope

Made = Instruction | Sequence[Instruction]
Translate = Callable[["RegionScope", "Operation", list[Instruction]], Made]

TRANSLATIONS: dict[str, Translate] = {}
# Dialects whose operations may be HLO's elementwise opcodes, by the same names.
_DIALECTS = ("stablehlo", "chlo", "mhlo")
_SHARDY = "Shardy makes it while it partitions: read the program from before or after that"


def translates(*names: str) -> Callable[[Translate], Translate]:
    """Enter a function into the table."""

    def enter(translate: Translate) -> Translate:
        for name in names:
            assert name not in TRANSLATIONS, name
            TRANSLATIONS[name] = translate
        return translate

    return enter


def translation_of(op: Operation) -> Translate:
    """The translation of an operation.

    Raises
    ------
    HloError
        HLO013 if that is not known.
    """
    found = TRANSLATIONS.get(op.name)
    if found is not None:
        return found
    dialect, _, word = op.name.partition(".")
    if dialect in _DIALECTS and word.replace("_", "-") in ELEMENTWISE:
        return _elementwise
    raise unknown(op)


def unknown(op: Operation) -> HloError:
    """The error for an operation that HLO has nothing for, HLO013."""
    notes = did_you_mean(op.name, _known())
    if not notes and op.name.startswith("sdy."):
        notes = [_SHARDY]
    return HloError("HLO013", f"HLO has nothing for `{op.name}`", op.span, notes)


def _known() -> list[str]:
    """The names of all operations that are known."""
    return [*TRANSLATIONS, *(f"stablehlo.{name.replace('-', '_')}" for name in sorted(ELEMENTWISE))]


def _elementwise(scope: RegionScope, op: Operation, operands: list[Instruction]) -> Instruction:
    """An opcode of the same name, which works element by element."""
    return scope.add(op.name.partition(".")[2].replace("_", "-"), *operands)


def given(op: Operation, *names: str, default: Any = None) -> Any:
    """An attribute by its name in the custom form or in the generic one.

    Raises
    ------
    HloError
        HLO013 if there is none, and no default.
    """
    for name in names:
        if name in op.attributes:
            return op.attributes[name]
    if default is None:
        raise HloError("HLO013", f"{op.name} needs `{names[-1]}`", op.span)
    return default


def integers(value: Any) -> tuple[int, ...]:
    """A list of integers, whether it is written as an array or as a list."""
    return tuple(int(n) for n in value)


def word(value: Any) -> str:
    """The word of an enumeration: `#stablehlo<precision HIGH>` or `HIGH`."""
    return str(getattr(value, "words", (value,))[-1])
