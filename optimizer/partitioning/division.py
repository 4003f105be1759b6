"""The choice of how devices share the work of one instruction.

A *plan* gives each factor of the instruction (`sharding_rules`) an axis, or none. Operands and
result ask for plans: that of the result's cut, that of each operand's, and these completed by the
others'. The plan that moves fewest bytes wins: those of operands that are cut anew, those that the
instruction itself takes (sums to be added up, rows of neighbours), and those of its result. The
iterations of the instruction's loop nest count a little, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall, DynamicSlice, Slice
from hlo.types.shape import tuple_of
from optimizer.expanders.op_expander import ExpansionSite
from optimizer.partitioning.cuts import ArrayCut, CutAxis
from optimizer.partitioning.resharding import way
from optimizer.partitioning.sharding_rules import (
    PASS_THROUGH,
    PERMUTATION,
    REDUCTION,
    REPLICATION,
    Factor,
    Rule,
)
from optimizer.partitioning.summands import is_sum, left_of, linear_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hlo.attributes import Attrs
    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from optimizer.partitioning.communication import Network
    from optimizer.partitioning.held import Held


@dataclass(frozen=True)
class DivisionSite:
    """An instruction that is to be divided.

    Attributes
    ----------
    operands : the arrays among its operands; None for another value.
    wanted : the cuts in which the arrays of its result are wanted.
    regions : the axes of the regions that it is in.
    piece : a part of an array in some cut.
    found : the array of another instruction of the computation.
    """

    instr: Instruction
    operands: tuple[Held | None, ...]
    wanted: tuple[ArrayCut, ...]
    regions: tuple[CutAxis, ...]
    network: Network
    names: NameSupply
    piece: Callable[[Held, ArrayCut], Instruction]
    found: Callable[[Instruction], Held]

    @property
    def results(self) -> tuple[Shape, ...]:
        """The arrays of the result."""
        return tuple(shape for _, shape in self.instr.shape.leaves())

    def operand(self, number: int) -> Held:
        """An operand that is an array."""
        held = self.operands[number]
        assert held, "an array"
        return held

    def binary(self, opcode: str, element_type: ElementType) -> Computation:
        """The computation of one opcode on two scalars."""
        return ExpansionSite(self.instr, self.names).binary(opcode, element_type)


@dataclass(frozen=True)
class FactorPlan:
    """An axis for each factor of an instruction, or None.

    Attributes
    ----------
    regions : the axes of the regions that the instruction is in.
    summed : the axis along which devices compute summands of the result that stay so.
    summands : the operands that are summands, along the same axis.
    left : the axes of sums of which the instruction makes such summands itself.
    """

    rule: Rule
    axes: tuple[CutAxis | None, ...]
    regions: tuple[CutAxis, ...] = ()
    summed: CutAxis | None = None
    summands: tuple[int, ...] = ()
    left: tuple[CutAxis, ...] = ()

    def cut(self, rank: int, dims: Iterable[int | None]) -> ArrayCut:
        """The cut of an array with the dimensions that the factors run over."""
        axes: list[CutAxis | None] = [None] * rank
        for axis, dim in zip(self.axes, dims, strict=True):
            if dim is not None and axis:
                axes[dim] = axis
        return ArrayCut(tuple(axes), self.regions)

    def operand(self, site: DivisionSite, number: int) -> ArrayCut:
        """The cut of an operand."""
        rank = site.instr.operands[number].shape.rank
        cut = self.cut(rank, (f.operands[number] for f in self.rule))
        return replace(cut, summed=self.summed) if number in self.summands else cut

    def result(self, site: DivisionSite, number: int = 0) -> ArrayCut:
        """The cut of an array of the result."""
        cut = self.cut(site.results[number].rank, (f.results[number] for f in self.rule))
        return replace(cut, summed=self.summed)

    def cutting(self, *kinds: str) -> list[tuple[Factor, CutAxis]]:
        """The factors of some kinds that are cut."""
        pairs = zip(self.rule, self.axes, strict=True)
        return [(f, axis) for f, axis in pairs if axis and f.kind in kinds]

    @property
    def devices(self) -> int:
        """Among how many devices the work is shared."""
        return prod(axis.count for axis in self.axes if axis)


def _pass_through(_site: DivisionSite, factor: Factor, _axis: CutAxis) -> bool:
    return factor.kind == PASS_THROUGH


def _nothing(_site: DivisionSite, _plan: FactorPlan) -> int:
    return 0


def piece_of(site: DivisionSite, plan: FactorPlan, number: int) -> Instruction:
    """The part of an operand that a plan asks for, the whole of one that is no array."""
    held = site.operands[number]
    return site.piece(held, plan.operand(site, number)) if held else site.instr.operands[number]


def local(site: DivisionSite, plan: FactorPlan) -> Instruction:
    """The instruction on parts of its operands, whose dimensions pass through it."""
    instr = site.instr
    operands = [piece_of(site, plan, n) for n in range(len(instr.operands))]
    return rewritten(site, plan, operands, local_attrs(site, plan, operands))


def rewritten(
    site: DivisionSite,
    plan: FactorPlan,
    operands: Sequence[Instruction],
    attrs: Attrs | None = None,
) -> Instruction:
    """The instruction on other operands, with a part of the result."""
    parts = [plan.result(site, n).local(shape) for n, shape in enumerate(site.results)]
    shape = tuple_of(*parts) if site.instr.shape.is_tuple else parts[0]
    return site.instr.with_(shape=shape, operands=tuple(operands), attrs=attrs)


def local_attrs(site: DivisionSite, plan: FactorPlan, operands: Sequence[Instruction]) -> Attrs:
    """The attributes for parts: sizes of the result are a part's."""
    attrs = site.instr.attrs
    if isinstance(attrs, Slice):
        sizes = zip(attrs.slice, plan.result(site).dims, operands[0].shape.dims, strict=True)
        return replace(attrs, slice=tuple(
            replace(s, limit=size) if axis else s for s, axis, size in sizes
        ))  # fmt: skip
    if isinstance(attrs, DynamicSlice):
        return replace(attrs, dynamic_slice_sizes=plan.result(site).local(site.results[0]).dims)
    return constrained(attrs, operands)


def constrained(attrs: Attrs, operands: Sequence[Instruction]) -> Attrs:
    """The attributes of a custom call, whose layouts are of parts of the operands."""
    if isinstance(attrs, CustomCall) and attrs.operand_layout_constraints is not None:
        pairs = zip(attrs.operand_layout_constraints, operands, strict=True)
        shapes = tuple(
            shape.with_dims(o.shape.dims) if shape.is_array else shape for shape, o in pairs
        )
        return replace(attrs, operand_layout_constraints=shapes)
    return attrs


@dataclass(frozen=True)
class Strategy:
    """The way in which an opcode runs on parts, beside of dimensions that pass through it.

    Attributes
    ----------
    allows : whether a factor may be cut by an axis.
    moves : the bytes that a device receives within the instruction.
    parts : the instruction on parts.
    operand : the cut in which an operand is asked for, where not each factor's axis cuts it.
    """

    allows: Callable[[DivisionSite, Factor, CutAxis], bool] = _pass_through
    moves: Callable[[DivisionSite, FactorPlan], int] = _nothing
    parts: Callable[[DivisionSite, FactorPlan], Instruction] = local
    operand: Callable[[DivisionSite, FactorPlan, int], ArrayCut] = field(
        default=lambda site, plan, number: plan.operand(site, number)
    )


# A core multiplies and adds about as often while a byte comes from another core.
ITERATIONS_A_BYTE = 4
STRATEGIES: dict[str, Strategy] = {}
USUAL = Strategy()


def best_plan(site: DivisionSite, rule: Rule) -> FactorPlan:
    """The plan that moves fewest bytes."""
    strategy = STRATEGIES.get(site.instr.opcode, USUAL)

    work = prod(extent(site, factor) for factor in rule)

    def cost(plan: FactorPlan) -> tuple[float, int]:
        iterations = work / plan.devices
        return price(site, plan, strategy) + iterations / ITERATIONS_A_BYTE, -plan.devices

    plans = (p for plan in _plans(site, rule, strategy) for p in _with_summands(site, plan))
    return min(plans, key=cost)


def price(site: DivisionSite, plan: FactorPlan, strategy: Strategy) -> int:
    """The bytes that a device receives: for operands, within, and for results."""
    spent = strategy.moves(site, plan)
    for number, held in enumerate(site.operands):
        if held:
            spent += held.price(strategy.operand(site, plan, number))
    for number, (shape, wanted) in enumerate(zip(site.results, site.wanted, strict=True)):
        if shape.is_array:
            spent += moved(shape, plan.result(site, number), wanted)
    return spent


def moved(shape: Shape, before: ArrayCut, after: ArrayCut) -> int:
    """The bytes that a device receives on the cheapest way from one cut to another."""
    return -(-way(before, after, shape.dims).cost * shape.element_type.bits // 8)


def _plans(site: DivisionSite, rule: Rule, strategy: Strategy) -> Iterator[FactorPlan]:
    """The plans that operands and results ask for, each once."""
    asking = _asked(site, rule)
    seen: set[tuple[CutAxis | None, ...]] = set()
    uncut: tuple[CutAxis | None, ...] = (None,) * len(rule)
    for first in range(len(asking)):
        others = [a for n, a in enumerate(asking) if n != first]
        for completing in ([], others):
            axes = uncut
            for asked in (asking[first], *completing):
                axes = _filled(site, rule, axes, asked, strategy)
            for choice in (axes, *_turned(site, rule, axes, asking[first], strategy)):
                if choice not in seen:
                    seen.add(choice)
                    yield FactorPlan(rule, choice, site.regions)
    if uncut not in seen:
        yield FactorPlan(rule, uncut, site.regions)


def _with_summands(site: DivisionSite, plan: FactorPlan) -> Iterator[FactorPlan]:
    """A plan, and those that give summands where such are wanted."""
    yield plan
    summed = site.wanted[0].summed if site.wanted else None
    if summed is None:
        return
    cutting = [axis for axis in plan.axes if axis]
    for operands in linear_in(site.instr):
        if ArrayCut((*cutting, summed), site.regions).is_possible:
            yield replace(plan, summed=summed, summands=operands)
    summing = [axis for _, axis in plan.cutting(REDUCTION)]
    if is_sum(site.instr) and (left := left_of(summing, summed)):
        yield replace(plan, summed=summed, left=left)


def _asked(site: DivisionSite, rule: Rule) -> list[tuple[CutAxis | None, ...]]:
    """The axes that each array gives the factors: results first, then operands by size."""
    choices = [
        tuple(None if (d := f.results[n]) is None else cut.dims[d] for f in rule)
        for n, cut in enumerate(site.wanted)
    ]
    operands = [(n, held) for n, held in enumerate(site.operands) if held and held.shape.is_array]
    for n, held in sorted(operands, key=lambda pair: -pair[1].shape.bytes):
        choices += [
            tuple(None if (d := f.operands[n]) is None else cut.dims[d] for f in rule)
            for cut in held.versions
        ]
    return list(dict.fromkeys(axes for axes in choices if any(axes)))


def _filled(
    site: DivisionSite,
    rule: Rule,
    axes: tuple[CutAxis | None, ...],
    asked: tuple[CutAxis | None, ...],
    strategy: Strategy,
) -> tuple[CutAxis | None, ...]:
    """Axes for the factors that have none yet, as far as all axes are independent."""
    for n, (factor, axis) in enumerate(zip(rule, asked, strict=True)):
        if axis and axes[n] is None and _fits(site, factor, axis, strategy):
            trial = (*axes[:n], axis, *axes[n + 1 :])
            if ArrayCut(trial, site.regions).is_possible:
                axes = trial
    return axes


def _fits(site: DivisionSite, factor: Factor, axis: CutAxis, strategy: Strategy) -> bool:
    if factor.kind == REPLICATION or (factor.limit and factor.limit % axis.count):
        return False
    return strategy.allows(site, factor, axis)


def _turned(
    site: DivisionSite,
    rule: Rule,
    axes: tuple[CutAxis | None, ...],
    asked: tuple[CutAxis | None, ...],
    strategy: Strategy,
) -> Iterator[tuple[CutAxis | None, ...]]:
    """The same axes, with one that its factor can't have given to another factor."""
    for n, axis in enumerate(asked):
        if axis is None or axes[n] is not None or rule[n].kind not in (REPLICATION, PERMUTATION):
            continue
        for m, factor in enumerate(rule):
            if axes[m] is None and m != n and _fits(site, factor, axis, strategy):
                trial = (*axes[:m], axis, *axes[m + 1 :])
                if (
                    extent(site, factor) % axis.count == 0
                    and ArrayCut(trial, site.regions).is_possible
                ):
                    yield trial


def extent(site: DivisionSite, factor: Factor) -> int:
    """The number of values of a factor."""
    for held, dim in zip(site.operands, factor.operands, strict=True):
        if held and dim is not None:
            return held.shape.dims[dim]
    pairs = zip(site.results, factor.results, strict=True)
    return next(shape.dims[dim] for shape, dim in pairs if dim is not None)


def undivided(site: DivisionSite) -> FactorPlan:
    """The plan by which each device computes all."""
    return FactorPlan((), (), site.regions)


def is_even(site: DivisionSite, factor: Factor, axis: CutAxis) -> bool:
    """Whether no block of a factor reaches past its end."""
    return extent(site, factor) % axis.count == 0
