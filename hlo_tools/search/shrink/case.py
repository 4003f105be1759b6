"""A module with arguments, and how large both are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import Constant, ParameterNumber
from hlo.attributes.annotations import NO_ANNOTATIONS
from hlo.build import module as module_of
from hlo.effects import without_dead
from hlo.opcode import GIVEN
from hlo.types.element_type import ELEMENT_TYPES
from hlo.walk import rebuild
from hlo_tools.generate.resizing import with_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape

Value = Any  # an array, None for a token, or a tuple of values

# Types that everybody knows; all others count as less plain.
PLAIN_TYPES = tuple(ELEMENT_TYPES[name] for name in ("f32", "s32", "pred", "f64", "s64", "u32"))


@dataclass(frozen=True)
class Case:
    """A module, and a value for each parameter; None for all of them where nobody runs it."""

    module: Module
    arguments: tuple[Value, ...] | None = None

    @cached_property
    def size(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """The size by which cases are compared first: instructions, then shapes."""
        instructions = list(self.module.instructions())
        computed = sum(i.opcode not in GIVEN for i in instructions)
        tied = sum(len(i.control_predecessors) for i in instructions)
        noted = sum(i.annotations != NO_ANNOTATIONS for i in instructions)
        header = 0 if self.module.header == bare(self.module).header else 1
        shapes = [s for i in instructions for _, s in i.shape.leaves()]
        elements = sum(s.size + s.rank for s in shapes)
        odd = sum(not _is_plain(s) for s in shapes)
        total = (len(instructions), computed + tied + noted + header, len(self.module.computations))
        return total, (elements, odd, sum(map(_type_cost, shapes)))

    @property
    def elements(self) -> int:
        """The number of elements of all arrays, and of their dimensions."""
        return self.size[1][0]

    @cached_property
    def constants(self) -> int:
        """The cost of all constants and arguments, by which cases of one size are compared."""
        literals = [v for i in self.module.instructions() for v in _literal(i)]
        return sum(map(cost, [*literals, *(self.arguments or ())]))

    def is_smaller_than(self, other: Case) -> bool:
        """Whether the case is easier to read than another one."""
        if self.size != other.size:
            return self.size < other.size
        return self.constants < other.constants

    def with_entry(self, entry: Computation, *, dead: bool = False) -> Case:
        """The case with another entry computation, without parts that it does not need.

        Parameters
        ----------
        dead : keep what the result does not need.
        """
        entry = entry if dead else without_dead(entry)
        used = {o for i in entry.instructions for o in (*i.operands, *i.control_predecessors)}
        used.add(entry.root)
        used_ones = [p for p in entry.parameters if p in used]
        plan = {
            p: p.with_(attrs=ParameterNumber(number=i))
            for i, p in enumerate(used_ones)
            if number(p) != i
        }
        arguments = (
            None if self.arguments is None else [self.arguments[number(p)] for p in used_ones]
        )
        alive = tuple(i for i in entry.instructions if i.opcode != "parameter" or i in used_ones)
        entry = rebuild(_with(entry, alive), plan)
        return Case(with_entry(self.module, entry), None if arguments is None else tuple(arguments))

    def __str__(self) -> str:
        """The text of the module, and the arguments."""
        return f"{self.module}{_text(self.arguments)}"


def bare(module: Module) -> Module:
    """The module without whatever its first line says beside its name."""
    return module_of(module.entry, module.name)


def number(parameter: Instruction) -> int:
    """The position of a parameter."""
    return ParameterNumber.of(parameter).number


def _with(entry: Computation, instructions: tuple[Instruction, ...]) -> Computation:
    smaller = type(entry)(entry.name, instructions, entry.root, entry.execution_thread)
    return entry if instructions == entry.instructions else smaller


def _is_plain(shape: Shape) -> bool:
    return not shape.is_dynamic and shape == shape.with_default_layout()


def _type_cost(shape: Shape) -> int:
    known = shape.element_type in PLAIN_TYPES
    return PLAIN_TYPES.index(shape.element_type) if known else len(PLAIN_TYPES)


def _literal(instr: Instruction) -> Iterable[Value]:
    if isinstance(instr.attrs, Constant):
        yield instr.attrs.literal.value


def cost(value: Value) -> int:
    """The amount of text in a value: nothing in zeros, much in numbers of many digits."""
    if isinstance(value, tuple):
        return sum(map(cost, cast("tuple[Value, ...]", value)))
    if value is None:
        return 0
    array: Any = np.asarray(value)
    parts: list[Any] = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    return sum(map(_cost_of_row, parts))


def _cost_of_row(array: Any) -> int:
    wide = array if array.dtype.kind in "biu" else array.astype(np.float64)
    counts: Any = np.unique(wide.reshape(-1), return_counts=True)
    negative_zeros = int(((wide == 0) & np.signbit(wide)).sum()) if wide.dtype.kind == "f" else 0
    pairs: Any = zip(*(numbers.tolist() for numbers in counts), strict=True)
    return 2 * negative_zeros + sum(number_cost(x) * n for x, n in pairs if x != 0)


def number_cost(number: float) -> int:
    """The cost of one number: the plainer, the less.

    A reader understands a mistake at 1 sooner than one at -0, NaN or an infinity.
    """
    x = float(number)
    if x == 0:
        return 2 if np.signbit(x) else 0
    if x in (1, 2):
        return 1
    if x != x or x == np.inf:
        return 2
    whole = x == round(x) if np.isfinite(x) else True
    return 2 + (x < 0) + (len(f"{abs(x):.6g}") if whole else 4 + len(repr(x)))


def _text(arguments: Sequence[Value] | None) -> str:
    values = [np.asarray(leaf) for a in arguments or () for leaf in flat(a)]
    return "".join(f"{v.dtype}{v.shape}{v.tobytes().hex()}" for v in values)


def flat(value: Value) -> list[Value]:
    """The arrays of a value."""
    if isinstance(value, tuple):
        return [leaf for e in cast("tuple[Value, ...]", value) for leaf in flat(e)]
    return [] if value is None else [value]
