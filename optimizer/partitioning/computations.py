"""Computations whose instructions devices run on parts; loops keep parts in their state.

    state = (s32[], f32[8]) while(start), body=body    =>    (s32[], f32[4]) while(...), body=body.1

Instructions are divided one after the other, each by the plan that moves fewest bytes
(`division`). What a computation takes and gives is cut as `propagation` found it.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall, GetTupleElement
from hlo.instruction import Computation
from hlo.opcode import FORWARDING
from hlo.sharded import CUTS
from hlo.types.shape import tuple_of
from optimizer.expanders.op_expander import element
from optimizer.partitioning import concatenation, indexing, pooling, reductions, windows
from optimizer.partitioning.building import PartsBuilder
from optimizer.partitioning.custom import DIVIDERS
from optimizer.partitioning.cuts import (
    ArrayCut,
    combined,
    cut_of,
    everyone,
    sharding_of,
    split,
    whole,
)
from optimizer.partitioning.division import (
    STRATEGIES,
    USUAL,
    DivisionSite,
    best_plan,
    constrained,
    undivided,
)
from optimizer.partitioning.held import Held
from optimizer.partitioning.propagation import is_free
from optimizer.partitioning.reshapes import common
from optimizer.partitioning.resharding import nested
from optimizer.partitioning.sharding_rules import (
    CALLS_ON_PARTS,
    CONSTRAINTS,
    SHARDING_GROUP,
    rule_of,
)
from optimizer.partitioning.single_device import device_of, on_one_device
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.types.sharding import Sharding
    from optimizer.partitioning.building import Cuts, Devices

# The strategies register themselves.
_ = concatenation, indexing, pooling, reductions, windows


class ComputationDivision(PartsBuilder):
    """The division of one computation's instructions."""

    def run(self, computation: Computation) -> None:
        """Divide the instructions, operands first; parameters have been kept before."""
        divide = {
            "call": self._call,
            "conditional": self._branches,
            "custom-call": self._custom_call,
            "get-tuple-element": self._element,
            "reshape": self._reshape,
            "tuple": self._tuple,
            "while": self._loop,
            **dict.fromkeys(FORWARDING, self._forward),
        }
        for instr in computation.instructions:
            if instr not in self.values:
                divide.get(instr.opcode, self._divide)(instr)

    def _tuple(self, instr: Instruction) -> None:
        self.values[instr] = {
            (n, *path): held
            for n, operand in enumerate(instr.operands)
            for path, held in self.values[operand].items()
        }

    def _element(self, instr: Instruction) -> None:
        index, pieces = GetTupleElement.of(instr).index, self.values[instr.operands[0]]
        self.values[instr] = {p[1:]: held for p, held in pieces.items() if p[0] == index}

    def _custom_call(self, instr: Instruction) -> None:
        target = CustomCall.of(instr).custom_call_target
        one_array = len(instr.operands) == 1 and instr.shape.is_array
        device = device_of(instr)
        if instr in self.devices.flow.borders:
            self._border(instr)
        elif target in CONSTRAINTS and one_array:
            self._constraint(instr)
        elif target == SHARDING_GROUP:
            self.values[instr] = {}
        elif target in CALLS_ON_PARTS:
            self._on_parts_held(instr)
        elif target in DIVIDERS:
            self._divided_by_user(instr)
        elif device is not None:
            self._single_device(instr, device)
        else:
            self._divide(instr)

    def _site(self, instr: Instruction) -> DivisionSite:
        nodes = self.devices.flow.leaves[instr].values()
        operands = tuple(
            held if (held := self.values[o].get(())) and o.shape.is_array else None
            for o in instr.operands
        )
        regions = max((h.cut.manual for h in operands if h), key=len, default=())
        return DivisionSite(
            instr, operands, tuple(self.devices.cuts[n] for n in nodes), regions,
            self.devices.network, self.devices.names,
            lambda held, cut: self.piece(held, cut, instr), lambda other: self.values[other][()],
        )  # fmt: skip

    def _divide(self, instr: Instruction) -> None:
        """Divide an instruction by the best plan, or let each device compute all of it."""
        site = self._site(instr)
        rule = rule_of(instr) if all(s.is_array and s.size for s in site.results) else ()
        summed = any(cut.summed for cut in site.wanted)
        divides = (rule or summed) and not is_free(instr)
        plan = best_plan(site, rule) if divides else undivided(site)
        if plan.devices > 1 or plan.summed:
            strategy = STRATEGIES.get(instr.opcode, USUAL)
            parts = strategy.parts(site, plan)
            taken = [strategy.operand(site, plan, n) if held else None
                     for n, held in enumerate(site.operands)]  # fmt: skip
            results = [plan.result(site, n) for n in range(len(site.results))]
            self.devices.plans[instr] = tuple(taken), tuple(results)
            cuts = {p: plan.result(site, n) for n, (p, _) in enumerate(instr.shape.leaves())}
        else:
            operands = tuple(self.whole(o) for o in instr.operands)
            parts = instr.with_(operands=operands)
            cuts = {
                p: whole(s.rank if s.is_array else 0, site.regions) for p, s in instr.shape.leaves()
            }
        self.keep(instr, self.put(parts, instr, keeps=parts.opcode == instr.opcode), cuts)
        if is_free(instr):
            self.values[instr][()].made_by = instr

    def _reshape(self, instr: Instruction) -> None:
        """Reshape parts whose blocks stay blocks."""
        if not instr.shape.size or instr.shape.is_dynamic or instr.operands[0].shape.is_dynamic:
            self._divide(instr)
            return
        site = self._site(instr)
        held, (operand,) = site.operand(0), instr.operands
        before, after = operand.shape.dims, instr.shape.dims
        wanted = site.wanted[0]
        back, wished = common(wanted, after, before)[::-1]
        pairs = [(whole(len(before)), whole(len(after))), (back, wished)]
        for version in held.versions:
            pairs += [common(cut, before, after) for cut in _coarser(version)]

        both = [
            (replace(here, manual=site.regions, summed=wanted.summed),
             replace(there, manual=site.regions, summed=wanted.summed))
            for here, there in pairs
        ]  # fmt: skip

        def price(pair: tuple[ArrayCut, ArrayCut]) -> tuple[int, int]:
            there = Held(instr.shape, {pair[1]: instr})
            return held.price(pair[0]) + there.price(wanted), -prod(pair[1].counts)

        here, there = min((p for p in both if p[0].is_possible), key=price)
        reshaped = instr.with_(operands=(site.piece(held, here),), shape=there.local(instr.shape))
        self.keep(instr, self.put(reshaped, instr, keeps=True), {(): there})

    def _constraint(self, instr: Instruction) -> None:
        """Cut a value as a program says."""
        held = self.values[instr.operands[0]][()]
        node = self.devices.flow.leaves[instr][()]
        cut = replace(self.devices.cuts[node], manual=held.cut.manual)
        # Who makes summands of a free value puts its blocks into their places.
        if (
            self.devices.has_summands or not is_free(instr.operands[0])
        ) and not instr.shape.is_dynamic:
            self.piece(held, cut, instr)
        self.values[instr] = {(): held}

    def _single_device(self, instr: Instruction, device: int) -> None:
        """Let one device make a call, and give its results to all."""
        network, count = self.devices.network, self.devices.network.grid[1]
        operand = self.put(make("tuple", *(self.whole(o) for o in instr.operands)), instr)
        here = [number == device for number in range(count)]
        call = self.put(on_one_device(instr, operand, here, self.devices.names), instr)
        self.became[instr] = call
        self.values[instr] = {}
        for path, shape in instr.shape.leaves():
            one = call
            for index in path:
                one = element(one, index)
            if shape.is_array:
                kind = shape.element_type
                by = self._site(instr).binary("or" if kind.kind == "pred" else "add", kind)
                one = network.folded(one, (), (everyone(count),), by)
            cut = whole(shape.rank if shape.is_array else 0)
            one = one if one is call else self.put(one, instr)
            self.values[instr][path] = Held(shape, {cut: one})

    def _divided_by_user(self, instr: Instruction) -> None:
        """Let each device run the computation that the user has for parts."""
        nodes = [self.devices.flow.leaves[o][()] for o in instr.operands]
        own = self.devices.flow.leaves[instr]
        divide = DIVIDERS[CustomCall.of(instr).custom_call_target]
        operand_cuts, taken = (
            [sharding_of(self.devices.cuts[n]) for n in some] for some in (nodes, own.values())
        )
        call = divide(instr, operand_cuts, taken)
        operands = [
            self.piece(self.values[o][()], _cut_as(sharding, o.shape.rank), instr)
            for o, sharding in zip(instr.operands, call.operands, strict=True)
        ]
        cuts = {
            path: _cut_as(sharding, shape.rank)
            for (path, shape), sharding in zip(instr.shape.leaves(), call.results, strict=True)
        }
        body = self.devices.adopted(call.module)
        result = make("call", *operands, shape=body.root.shape, called=(body,))
        if not instr.shape.is_tuple and result.shape.is_tuple:
            result = element(result, 0)
        self.keep(instr, self.put(result, instr), cuts)

    def _on_parts_held(self, instr: Instruction) -> None:
        """Let each device make a call with its parts, as they are held."""
        operands = tuple(
            self.formed(o, {p: held.cut.reduced for p, held in self.values[o].items()})
            for o in instr.operands
        )
        part = instr.with_(operands=operands, attrs=constrained(instr.attrs, operands))
        cuts = {p: whole(s.rank if s.is_array else 0) for p, s in instr.shape.leaves()}
        self.keep(instr, self.put(part, instr, keeps=True), cuts)

    def _forward(self, instr: Instruction) -> None:
        """Barriers and the like: the same arrays in the same cuts."""
        first, *others = instr.operands
        cuts = {path: held.cut for path, held in self.values[first].items()}
        operands = (self.formed(first, cuts), *(self.whole(o) for o in others))
        forwarded = instr.with_(operands=operands, shape=operands[0].shape)
        self.keep(instr, self.put(forwarded, instr, keeps=True), cuts)

    def _border(self, instr: Instruction) -> None:
        """Begin or end a region: the same part under another name."""
        begins = CustomCall.of(instr).custom_call_target in CUTS
        border, nodes = self.devices.flow.borders[instr], self.devices.flow.leaves[instr]
        parts: dict[tuple[int, ...], Held] = {}
        for (path, node), operand, outside in zip(
            nodes.items(), instr.operands, border.cuts, strict=True
        ):
            held, shape = self.values[operand][()], self.devices.flow.shapes[node]
            inside = self.devices.cuts[node] if begins else held.cut
            inside = replace(inside, manual=inside.manual or (border.axis,))
            # Rows past the end of a block within a block would lie amid those of the whole array.
            inside = inside.without([
                d for d, n in enumerate((held.shape if begins else shape).dims)
                if not nested(combined(outside.dims[d], inside.dims[d]), outside.dims[d], n)
            ])  # fmt: skip
            dims = tuple(combined(o, i) for o, i in zip(outside.dims, inside.dims, strict=True))
            around = ArrayCut(dims, inside.manual[:-1], outside.summed)
            before, after = (around, inside) if begins else (inside, around)
            parts[path] = Held(shape, {after: self.piece(held, before, instr)})
        self.values[instr] = parts

    # ----------------------------------------------------------------------------- control

    def _cuts(self, instr: Instruction) -> dict[tuple[int, ...], ArrayCut]:
        """The cuts of an instruction's arrays, as they were propagated."""
        leaves = self.devices.flow.leaves[instr]
        return {path: self.devices.cuts[node] for path, node in leaves.items()}

    def _loop(self, instr: Instruction) -> None:
        state = self._cuts(instr)
        start = self.formed(instr.operands[0], state)
        condition, body = instr.called
        called = (
            called_on_parts(condition, [state], None, self.devices),
            called_on_parts(body, [state], state, self.devices),
        )
        loop = instr.with_(operands=(start,), shape=start.shape, called=called)
        self.keep(instr, self.put(loop, instr, keeps=True), state)

    def _branches(self, instr: Instruction) -> None:
        results = self._cuts(instr)
        chosen, *arguments = instr.operands
        operands, called = [self.whole(chosen)], list[Computation]()
        for operand, branch in zip(arguments, instr.called, strict=True):
            taken = self._cuts(branch.parameters[0])
            operands.append(self.formed(operand, taken))
            called.append(called_on_parts(branch, [taken], results, self.devices))
        conditional = instr.with_(
            operands=tuple(operands), shape=called[0].root.shape, called=tuple(called)
        )
        self.keep(instr, self.put(conditional, instr, keeps=True), results)

    def _call(self, instr: Instruction) -> None:
        results, (body,) = self._cuts(instr), instr.called
        taken = [self._cuts(p) for p in body.parameters]
        operands = tuple(self.formed(o, t) for o, t in zip(instr.operands, taken, strict=True))
        called = called_on_parts(body, taken, results, self.devices)
        call = instr.with_(operands=operands, shape=called.root.shape, called=(called,))
        self.keep(instr, self.put(call, instr, keeps=True), results)


def called_on_parts(
    computation: Computation,
    taken: Sequence[Cuts],
    operand_cuts: Cuts | None,
    devices: Devices,
) -> Computation:
    """A computation whose parameters' arrays have some cuts, and so have those of its root.

    Parameters
    ----------
    taken : the cuts of each parameter.
    operand_cuts : the cuts of the root; None for whole arrays.
    """
    division = ComputationDivision(devices)
    for parameter, cuts in zip(computation.parameters, taken, strict=True):
        part = parameter.with_(shape=local_shape(parameter.shape, cuts))
        division.keep(parameter, division.put(part, parameter, keeps=True), cuts)
    division.run(computation)
    root = division.formed(computation.root, operand_cuts)
    return division.built(computation, root)


def local_shape(shape: Shape, cuts: Cuts, path: tuple[int, ...] = ()) -> Shape:
    """The shape of a value whose arrays are cut."""
    if shape.is_tuple:
        parts = (local_shape(s, cuts, (*path, n)) for n, s in enumerate(shape.elements))
        return tuple_of(*parts)
    return cuts[path].local(shape) if shape.is_array else shape


def _cut_as(sharding: Sharding, rank: int) -> ArrayCut:
    return cut_of(sharding, rank) or whole(rank)


def _coarser(cut: ArrayCut) -> Iterator[ArrayCut]:
    """A cut, and those with larger blocks of one dimension."""
    yield cut
    for dim, axis in enumerate(cut.dims):
        for inner in range(2, axis.count if axis else 0):
            if axis and axis.count % inner == 0:
                yield cut.with_dim(dim, split(axis, inner)[0])
