"""Signatures of the known custom calls: element types, sizes, options.

HLO says nothing of a custom call, so that a module may declare any shapes. The functions behind the
calls believe them, LAPACK above all; so whoever runs a call, or writes C for it, asks `check_call`
first.

A signature is written as `T[*,m,n] -> T[*,m,n] T[*,k]? s32[*]?`. T is one of the call's element
types, R the real type of its parts and C the complex type with such parts. `*` are the dimensions
of a batch, the same wherever they are, and other letters are sizes; k is min(m, n) and h is
max(0, n - 1). Results with `?` may be left out at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hlo.attributes import CustomCall
from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES
from hlo.wording import counted
from interpreter.custom_calls.options import config
from interpreter.custom_calls.vendors import import_vendors

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

Options = Mapping[str, Any]
Sizes = Mapping[str, int]
# The fault of a call, given its options; "" if it has none. Options are None where only the
# run knows them.
Check = Callable[["Instruction", "Options | None"], str]

CHECKS: dict[str, Check] = {}
NOTES: dict[str, str] = {}
FACTORED = ("f32", "f64", "c64", "c128")  # the types of LAPACK
_ARRAY = re.compile(r"(\w+)\[([^\]]*)\](\??)")
_COMPLEX_OF = {"f32": "c64", "f64": "c128"}
_MOST = 2**31  # LAPACK counts in s32


@dataclass(frozen=True)
class Signature:
    """The operands and results of a custom call.

    Attributes
    ----------
    text : the shapes, as the module's docstring explains.
    options : for each option that must be there its letters, or "number" or "flag".
    needs : what else must hold, in words.
    holds : whether it does, given the sizes, and the options if they are known.
    more : any other arrays may follow the results.
    """

    text: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    needs: str = ""
    holds: Callable[[Sizes, Options | None], bool] = lambda _sizes, _options: True
    more: bool = False

    @cached_property
    def operands(self) -> list[tuple[str, list[str]]]:
        """The element type and the sizes of each operand."""
        return [(kind, _sizes(dims)) for kind, dims, _ in _ARRAY.findall(self._sides[0])]

    @cached_property
    def results(self) -> list[tuple[str, list[str], bool]]:
        """The element type and the sizes of each result, and whether it may be left out."""
        matches = _ARRAY.findall(self._sides[1])
        return [(kind, _sizes(dims), bool(optional)) for kind, dims, optional in matches]

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """For each operand, the dimensions after the batch."""
        return tuple(len([d for d in dims if d != "*"]) for _, dims in self.operands)

    @property
    def _sides(self) -> tuple[str, str]:
        taken, results = self.text.split("->")
        return taken, results

    def problem(
        self, operands: list[Shape], results: list[Shape], types: tuple[str, ...],
        options: Options | None,
    ) -> str:  # fmt: skip
        """The fault of shapes and options; "" if there is none."""
        if len(operands) != len(self.operands):
            return f"takes {counted(len(self.operands), 'array')}, not {len(operands)}"
        least = sum(not optional for *_, optional in self.results)
        if len(results) < least or not (self.more or len(results) <= len(self.results)):
            return f"gives {counted(len(self.results), 'array')}, not {len(results)}"
        known = _Known(types)
        pairs = [
            *((f"operand {i}", *p, s) for i, (p, s) in enumerate(zip(self.operands, operands))),  # noqa: B905
            *((f"result {i}", *p[:2], s) for i, (p, s) in enumerate(zip(self.results, results))),  # noqa: B905
        ]
        for noun, kind, dims, shape in pairs:
            if (wanted := known.misfit(kind, dims, shape)) is not None:
                return f"{noun} is {shape.text_without_layout}, not {wanted}"
        if (wrong := self._wrong_option(options)) is not None:
            return wrong
        return "" if self.holds(known.sizes, options) else self.needs

    def _wrong_option(self, options: Options | None) -> str | None:
        """The fault in the options; None if there is none, or if only the run knows them."""
        if options is None:
            return None
        for key, kind in self.options.items():
            value = options.get(key)
            if kind in ("number", "flag"):
                if not isinstance(value, int) or abs(value) >= _MOST:
                    return f"the option {key!r} can't be {value!r}"
            elif letter_of(value) not in kind:
                return f"the option {key!r} is one of {', '.join(kind)}, not {value!r}"
        return None


def _sizes(dims: str) -> list[str]:
    return [d for d in dims.split(",") if d]


def letter_of(value: object) -> str:
    """The letter that an option is, which may be written as its number; "?" if it is none."""
    text = chr(value) if isinstance(value, int) and 0 <= value < 128 else value
    return text if isinstance(text, str) and len(text) == 1 and text.isalpha() else "?"


class _Known:
    """The element type and sizes of a call, as far as its shapes have told them."""

    def __init__(self, types: tuple[str, ...]) -> None:
        self.sizes: dict[str, int] = {}
        self._types, self._type = types, ""
        self._batch: tuple[int, ...] | None = None

    def misfit(self, kind: str, dims: list[str], shape: Shape) -> str | None:
        """The expected shape, if it is another one; the sizes of one that fits are known then."""
        wanted = self._element_types(kind)
        sizes = [d for d in dims if d != "*"]
        spelled = f"{' or '.join(wanted) or 'an array'}[{','.join(dims)}]"
        if not shape.is_array or (wanted and shape.element_type.name not in wanted):
            return spelled
        if kind == "T":
            self._type = shape.element_type.name
        front = shape.rank - len(sizes)
        if front < 0 or (front and "*" not in dims):
            return spelled
        if "*" in dims and self._batch is None:
            self._batch = shape.dims[:front]
        fits = shape.dims[:front] == (self._batch if "*" in dims else ())
        fits = fits and all(map(self._is_size, sizes, shape.dims[front:]))
        return None if fits else self._spelled(spelled)

    def _element_types(self, kind: str) -> tuple[str, ...]:
        """The names of the element types that a letter stands for; () for all."""
        if kind in ELEMENT_TYPES:
            return (kind,)
        if not self._type:
            return self._types
        real = ELEMENT_TYPES[self._type].real.name
        return ({"T": self._type, "R": real, "C": _COMPLEX_OF.get(real, real)}[kind],)

    def _is_size(self, name: str, size: int) -> bool:
        derived = {"k": ("m", "n"), "h": ("n",)}.get(name, ())
        if derived and name not in self.sizes and all(d in self.sizes for d in derived):
            sizes = [self.sizes[d] for d in derived]
            self.sizes[name] = min(sizes) if name == "k" else max(0, sizes[0] - 1)
        return size < _MOST and self.sizes.setdefault(name, size) == size

    def _spelled(self, text: str) -> str:
        """A shape in letters, with the sizes known for letters."""
        known = [f"{name} = {n}" for name, n in self.sizes.items() if name in text.split("[")[1]]
        batch = [f"* = {','.join(map(str, self._batch))}"] if "*" in text and self._batch else []
        return f"{text} with {', '.join(batch + known)}" if batch + known else text


def checked(*targets: str, note: str = "") -> Callable[[Check], Check]:
    """Register the decorated function as the check of custom calls of some names.

    Parameters
    ----------
    note : what such calls take and give, in a line.
    """

    def register(check: Check) -> Check:
        for target in targets:
            CHECKS[target], NOTES[target] = check, note
        return check

    return register


def register_signature(
    signature: Signature,
    *targets: str,
    types: tuple[str, ...] = FACTORED,
    scalars: int | None = None,
) -> None:
    """Register a signature for custom calls of some names.

    Parameters
    ----------
    types : what T may be.
    scalars : at least so many numbers are in front of the arrays and tell the options; None where
        the backend configuration does.
    """

    def check(instr: Instruction, options: Options | None) -> str:
        operands = [o.shape for o in instr.operands]
        results = list(instr.shape.elements if instr.shape.is_tuple else (instr.shape,))
        front = 0 if scalars is None else max(0, len(operands) - len(signature.operands))
        if front < (scalars or 0) or any(s.rank or not s.is_array for s in operands[:front]):
            numbers = counted(scalars or 0, "number")
            return f"takes {numbers} or more, then {counted(len(signature.operands), 'array')}"
        said = config(instr) if scalars is None and options is None else options
        return signature.problem(operands[front:], results, types, said)

    checked(*targets, note=signature.text)(check)


def check_call(instr: Instruction, options: Options | None = None) -> None:
    """Check the operands and results of a custom call, if it is known here.

    Parameters
    ----------
    options : what the call's options are; None where nobody knows before the run.

    Raises
    ------
    HloError
        HLO122 if shapes or options are not those of the function behind the call.
    """
    problem = problem_of(instr, options)
    if problem:
        target = CustomCall.of(instr).custom_call_target
        message = f"{instr.name}: {target} {problem}"
        note = NOTES[target]
        raise HloError("HLO122", message, instr.span, [note] if note else ())


def problem_of(instr: Instruction, options: Options | None = None) -> str:
    """The fault of a custom call's shapes in words, as in the error of `check_call`; else ""."""
    target = CustomCall.of(instr).custom_call_target
    if target not in CHECKS:
        import_vendors()
    check = CHECKS.get(target)
    return check(instr, options) if check else ""
