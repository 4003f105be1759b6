"""The table of operations: how each becomes instructions of HLO.

A function is given the scope that it appends to, the operation, and the instructions of its
operands; it gives the instruction of its value, or those of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, did_you_mean
from hlo.frontends.stablehlo.numbers import integer_of
from hlo.instruction import Instruction
from hlo.opcode import ELEMENTWISE
from hlo.types.shape import UNBOUNDED

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.types.shape import Shape

Made = Instruction | Sequence[Instruction]
Translate = Callable[["RegionScope", "Operation", list[Instruction]], Made]

TRANSLATIONS: dict[str, Translate] = {}
# Dialects whose operations may be HLO's elementwise opcodes, by the same names. MHLO has the
# operations of StableHLO, and some more of HLO's.
_DIALECTS = ("stablehlo", "chlo", "mhlo")


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
    translation = TRANSLATIONS.get(op.name) or TRANSLATIONS.get(plain_name(op.name))
    if translation is not None:
        return translation
    dialect, _, word = op.name.partition(".")
    if dialect in _DIALECTS and word.replace("_", "-") in ELEMENTWISE:
        return _elementwise
    raise unknown(op)


def plain_name(name: str) -> str:
    """The name of an operation in StableHLO, where it is MHLO's."""
    dialect, _, word = name.partition(".")
    return f"stablehlo.{word}" if dialect == "mhlo" else name


def unknown(op: Operation) -> HloError:
    """The error for an operation that HLO has nothing for, HLO013."""
    dialect, _, _ = plain_name(op.name).partition(".")
    elementwise = [f"stablehlo.{name.replace('-', '_')}" for name in sorted(ELEMENTWISE)]
    known = [name for name in (*TRANSLATIONS, *elementwise) if name.startswith(f"{dialect}.")]
    notes = did_you_mean(plain_name(op.name), known)
    if not known:
        dialects = ("func", "stablehlo", "chlo", "mhlo", "vhlo", "sdy", "check", "interpreter")
        notes = [f"operations of these dialects are read: {', '.join(dialects)}"]
    return HloError("HLO013", f"HLO has nothing for `{op.name}`", op.span, notes)


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


def constants(operand: Instruction) -> tuple[int, ...]:
    """The numbers of an operand, if it is a constant of integers; else none."""
    literal: Any = getattr(operand.attrs, "literal", None)
    numbers: Any = literal.array if literal is not None and operand.shape.rank == 1 else None
    return () if numbers is None else tuple(integer_of(n) for n in numbers)


def told(op: Operation, sizes: Sequence[int]) -> Shape:
    """The shape of an operation's value, with some sizes where the text has `?`.

    Sizes of another number than its dimensions tell nothing.
    """
    shape = op.result_shapes[0]
    if UNBOUNDED not in shape.dims or len(sizes) != shape.rank:
        return shape
    open_ = [size == UNBOUNDED for size in shape.dims]
    dims = [known if o else size for size, known, o in zip(shape.dims, sizes, open_, strict=True)]
    dynamic = [shape.dynamic_at(d) and not o for d, o in enumerate(open_)]
    return shape.with_dims(tuple(dims), tuple(dynamic))


def integers(value: Any) -> tuple[int, ...]:
    """A list of integers, whether it is written as an array or as a list."""
    return tuple(integer_of(n) for n in value)


def word(value: Any) -> str:
    """The word of an enumeration: `#stablehlo<precision HIGH>` or `HIGH`."""
    return str(getattr(value, "words", (value,))[-1])
