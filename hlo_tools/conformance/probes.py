"""Modules to hold a backend against: of each opcode with each element type, and random ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.build import module
from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.opcode import EXPLICIT_SHAPE
from hlo.opcode import OPCODES as ROWS
from hlo.read.parse import parse
from hlo.types.element_type import ARRAY_TYPES, PRED
from hlo.types.shape import array
from hlo.verify import verify
from hlo_tools.conformance.structures import STRUCTURES
from hlo_tools.generate.embedding import InstructionMaker, embedded
from hlo_tools.generate.modules import OPCODES_MADE, random_module
from hlo_tools.generate.operands import UnfitError, need, operands_for, scalar_computation
from hlo_tools.generate.random_shapes import TYPES, random_dims
from hlo_tools.generate.values import STYLES, nasty, small, specials, tame
from interpreter.numbers.compare import BITS, ROUNDING, ZERO_SIGN, Promise
from interpreter.numbers.widths import widened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Module
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

# Sums in another order, and approximations of functions; NaN and the signs of zeros must be right.
CLOSE = Promise(ulps=16, of_largest=True)
# The rounding of complex functions and of algorithms, for which XLA promises nothing. Its CPU code
# was at most 2.3 last places of the largest number away from the interpreter (powers: 6.9), in four
# seeds; NaN, infinities and the signs of zeros take other ways through it.
LOOSE = replace(ROUNDING, ulps=4)
# Opcodes of which IEEE 754 leaves nothing open, beside those that compute nothing.
EXACT = frozenset({
    *("abs", "add", "ceil", "clamp", "compare", "convert", "divide", "floor", "imag", "is-finite"),
    *("maximum", "minimum", "multiply", "negate", "real", "remainder", "round-nearest-afz"),
    *("round-nearest-even", "select", "sign", "subtract"),
})  # fmt: skip
OPCODES = tuple(sorted((*OPCODES_MADE, "fft", "cholesky", "triangular-solve")))
CALLING = ("call", "conditional", "fusion", "while")
# ... and of which it does, where numbers are complex.
_NOT_BY_PARTS = frozenset({"divide", "multiply", "sign"})
_ALGORITHMS = frozenset({"cholesky", "fft", "triangular-solve"})
# So many special numbers of a type are paired.
SPECIAL = 16
# How often to look for a shape of the type that the opcode can have.
_TRIES = 30
_MOST_ELEMENTS = 300


@dataclass(frozen=True)
class Probe:
    """A question to a backend.

    Attributes
    ----------
    about : an opcode, or what else the question is about.
    promise : how exact the answer must be.
    """

    about: str
    module: Module
    arguments: tuple[Any, ...]
    promise: Promise = CLOSE


def opcode_probes(
    opcode: str, seed: int = 0, types: Sequence[ElementType] = ARRAY_TYPES
) -> Iterator[Probe]:
    """Modules of one opcode, some for each element type that it can have.

    One has random special numbers, one ordinary ones, and where the opcode works element by
    element, another one has each pair of special numbers.
    """
    for element_type in types:
        random = Random(f"{seed} {opcode} {element_type}")
        for values in (nasty, small if "data_dependent" in ROWS[opcode].traits else tame):
            sample = _of_type(opcode, element_type, random)
            if sample is not None:
                arguments = tuple(values(p.shape, random) for p in sample.entry.parameters)
                yield Probe(opcode, sample, arguments, promise_of(opcode, sample))
        if ROWS[opcode].elementwise:
            sources = TYPES if opcode == "convert" else (element_type,)
            yield from _of_pairs(opcode, element_type, sources, random)


def _of_pairs(
    opcode: str, element_type: ElementType, sources: Sequence[ElementType], random: Random
) -> Iterator[Probe]:
    """Modules of an elementwise opcode, on each pair of special numbers of a type."""
    for source in sources:
        # The generator may choose another type for an operand.
        for result in (*(element_type,) * 6, PRED):
            shape = array(result, (SPECIAL**2,))
            try:
                program = single(opcode, shape, random, (source,))
            except (UnfitError, HloError):
                continue
            shapes = [p.shape for p in program.entry.parameters]
            if shapes and all(source is not s.element_type for s in shapes):
                continue
            yield Probe(
                opcode, program, tuple(map(_pairs, shapes, range(3))), promise_of(opcode, program)
            )
            break


def _pairs(shape: Shape, position: int) -> Any:
    """The special numbers of a type, so often that they meet those of another operand."""
    element_type = shape.element_type
    if element_type.is_complex:
        parts = _pairs(shape.with_type(element_type.real), position)
        whole = np.empty(parts.shape, element_type.dtype)
        whole.real, whole.imag = parts, np.roll(parts, 1 + position * SPECIAL)
        return whole
    row = np.resize(specials(element_type), SPECIAL)
    meeting = (np.repeat(row, SPECIAL), np.tile(row, SPECIAL), np.tile(row[::-1], SPECIAL))
    return np.resize(meeting[position], shape.dims)


def promise_of(opcode: str, sample: Module) -> Promise:
    """The exactness that is asked of a module of one opcode."""
    leaves = [s for p in (*sample.entry.parameters, sample.entry.root) for _, s in p.shape.leaves()]
    types = {leaf.element_type for leaf in leaves if leaf.is_array}
    if opcode in _ALGORITHMS:
        return LOOSE
    exact = opcode in EXACT or "movement" in ROWS[opcode].traits
    if any(t.is_complex for t in types):
        exact = exact and opcode not in _NOT_BY_PARTS
        if not exact:
            return LOOSE if ROWS[opcode].elementwise and opcode != "power" else ROUNDING
    promise = BITS if exact else CLOSE
    # A type without NaN has a zero in its place, of the sign that the NaN has by accident.
    return promise if all(map(_has_nan, types)) else promise | ZERO_SIGN


@cache
def _has_nan(element_type: ElementType) -> bool:
    if not element_type.is_floating:
        return True
    with np.errstate(all="ignore"):
        there: Any = np.array(np.nan).astype(element_type.dtype)
    return bool(np.isnan(widened(there)))


def _of_type(opcode: str, element_type: ElementType, random: Random) -> Module | None:
    """A module of an instruction that has an element type; None if it can't."""
    empty: Module | None = None
    for attempt in range(_TRIES):
        result = PRED if attempt % 2 and element_type is not PRED else element_type
        try:
            sample = single(opcode, array(result, random_dims(random)), random, (element_type,))
        except (UnfitError, HloError):
            continue
        shapes = [sample.entry.root.shape, *(p.shape for p in sample.entry.parameters)]
        leaves = [leaf for shape in shapes for _, leaf in shape.leaves()]
        if all(leaf.element_type is not element_type for leaf in leaves):
            continue
        if all(leaf.size for leaf in leaves):
            return sample
        empty = sample
    return empty


def single(opcode: str, shape: Shape, random: Random, types: tuple[ElementType, ...]) -> Module:
    """A module of one instruction, whose operands are parameters.

    Raises
    ------
    UnfitError, HloError
        if there is none of the shape.
    """
    wanted = operands_for[opcode](random, shape, {"types": types})
    need(all(s.size <= _MOST_ELEMENTS for w in wanted.operands for _, s in w.leaves()))
    maker = InstructionMaker()
    parameters = [maker.parameter(s, n) for n, s in enumerate(wanted.operands)]
    called = [
        scalar_computation(kind, wanted.operands[0].element_type, maker.names)
        for kind in wanted.called
    ]
    declared = shape if opcode in EXPLICIT_SHAPE else None
    root = maker.make(opcode, *parameters, shape=declared, called=called, **wanted.attrs)
    need(infer(root).compatible(shape) or declared is not None)
    sample = module(maker.computation("main", parameters, root))
    verify(sample)
    return sample


def calling_probes(seed: int = 0, count: int = 60) -> Iterator[Probe]:
    """Instructions in calls, branches, loops and fusions."""
    random = Random(f"{seed} calling")
    while count:
        opcode = random.choice(OPCODES)
        element_type = random.choice(ARRAY_TYPES)
        inner = _of_type(opcode, element_type, random)
        if inner is None:
            continue
        try:
            outer = embedded(inner, random)
            verify(outer)
        except (UnfitError, HloError):
            continue
        about = next(i.opcode for i in outer.entry.instructions if i.opcode in CALLING)
        arguments = tuple(nasty(p.shape, random) for p in outer.entry.parameters)
        yield Probe(about, outer, arguments, CLOSE)
        count -= 1


def random_probes(count: int, seed: int = 0) -> Iterator[Probe]:
    """Random modules; passes of the backend may round otherwise."""
    for number in range(count):
        random = Random(f"{seed} module {number}")
        sample = random_module(random, size=random.randint(2, 10))
        fill = STYLES[random.choice(sorted(STYLES))]
        arguments = tuple(fill(p.shape, random) for p in sample.entry.parameters)
        yield Probe("random modules", sample, arguments, ROUNDING)


@cache
def structures() -> tuple[Probe, ...]:
    """Modules whose difficulty is their form: results, loops and branches of all kinds."""
    probes: list[Probe] = []
    for about, text in STRUCTURES:
        sample = parse(text)
        verify(sample)
        random = Random(text)
        probes += [
            Probe(about, sample, tuple(fill(p.shape, random) for p in sample.entry.parameters))
            for fill in (small, tame)
        ]
    return tuple(probes)
