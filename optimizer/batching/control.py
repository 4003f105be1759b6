"""Batched computations, loops and branches.

    while c(s): s = f(s)           while any of c(s): s = select(c(s), f(s), s)
    p ? f(x) : g(x)          =>    select(p, f(x), g(x))

where examples decide for themselves; else loops and branches stay, on batched values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hlo import attributes as a
from hlo.effects import has_effect
from hlo.errors.error import HloError
from hlo.instruction import Computation
from hlo.opcode import FORWARDING
from hlo.types.element_type import PRED
from hlo.types.shape import array
from hlo.walk import called_first
from optimizer.batching.table import Batch, Flags, batches, refusal, unsharded
from optimizer.derivative.bodies import (
    assembled,
    elements,
    placeholder,
    single,
    together,
)
from optimizer.derivative.branches import conditional
from optimizer.derivative.control import marks
from optimizer.derivative.dependence import Dependence, Sets
from optimizer.derivative.linearize import copied, copies
from optimizer.derivative.loops import loop
from optimizer.derivative.movement import leaf_range
from optimizer.derivative.table import element, leaf_shapes, leaves_of
from optimizer.derivative.unfolded import WRITTEN_AS_OTHERS
from optimizer.dimensions import has_static_sizes
from optimizer.expanders.parts import folded, number, spread
from optimizer.rewriting.adopting import new_below
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


@dataclass(frozen=True, slots=True)
class BatchedValue:
    """A value, of which some leaves are batched."""

    value: Instruction
    flags: Flags


@dataclass(frozen=True, slots=True)
class BatchedBody:
    """A computation of one parameter, for many examples.

    Attributes
    ----------
    leaves : an instruction for each leaf of the parameter.
    root : the result.
    acting : values that have effects.
    """

    name: str
    leaves: list[Instruction]
    root: BatchedValue
    acting: list[Instruction]


@dataclass
class BatchedModule:
    """The batched form of all computations that a module's entry calls.

    Parameters
    ----------
    entry : the entry computation.
    flags : for each leaf of its parameters, in order, whether it is batched.
    """

    entry: Computation
    flags: Sequence[bool]
    batch: Batch
    bodies: dict[tuple[Computation, Sets], BatchedBody] = field(default_factory=dict[Any, Any])
    acting: list[Instruction] = field(default_factory=list[Any])
    forms: dict[Instruction, Instruction | None] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        """Batch all computations that loops and branches run, callees first."""
        self.dependence = Dependence(
            self.entry, lambda shape: shape.is_array, lambda _: False, decides=True
        )
        asked = self._asked()
        for computation in called_first(self.entry):
            if computation is not self.entry:
                for sets in asked.get(computation, ()):
                    self.bodies[computation, sets] = self._body(computation, sets)

    def of_entry(self) -> list[Sets]:
        """For each parameter of the entry, which leaves are batched."""
        rest = iter(self.flags)
        return [
            tuple(int(next(rest)) for _ in range(p.shape.leaf_count)) for p in self.entry.parameters
        ]

    def _asked(self) -> dict[Computation, dict[Sets, None]]:
        """The batched leaves of each computation's parameter, in all of its calls."""
        asked: dict[Computation, dict[Sets, None]] = {}
        for computation in reversed(called_first(self.entry)):
            requests = [self.of_entry()] if computation is self.entry else []
            requests += [[sets] for sets in asked.get(computation, ())]
            for request in requests:
                dependences = self.dependence.within(computation, request)
                for instr in computation.instructions:
                    if instr.opcode == "while":
                        for called in instr.called:
                            asked.setdefault(called, {})[marks(dependences[instr])] = None
                    if instr.opcode == "conditional":
                        for branch, operand in zip(instr.called, instr.operands[1:], strict=True):
                            asked.setdefault(branch, {})[marks(dependences[operand])] = None
        return asked

    def _body(self, computation: Computation, sets: Sets) -> BatchedBody:
        (parameter,) = computation.parameters
        flags = tuple(map(bool, sets))
        leaves = [
            placeholder(self.batch.shape(shape) if flag else shape)
            for shape, flag in zip(leaf_shapes(parameter.shape), flags, strict=True)
        ]
        self.acting = []
        whole = BatchedValue(together(parameter.shape, leaves), flags)
        root = self.run(computation, [whole], [sets])
        return BatchedBody(computation.name, leaves, root, self.acting)

    def run(
        self, computation: Computation, arguments: Sequence[BatchedValue], sets: Sequence[Sets]
    ) -> BatchedValue:
        """The batched root of a computation."""
        dependences = self.dependence.within(computation, sets)
        values = dict(zip(computation.parameters, arguments, strict=True))
        for start in computation.instructions:
            pending = [] if start in values else [start]
            while pending:
                instr = pending.pop()
                if instr in values:
                    continue
                other = self.other(instr, values)
                if other is None:
                    values[instr] = self.of(instr, [values[o] for o in instr.operands], dependences)
                elif other in values:
                    values[instr] = values[other]
                else:
                    pending += [instr, *reversed(new_below(other, values))]
        return values[computation.root]

    def other(
        self, instr: Instruction, values: dict[Instruction, BatchedValue]
    ) -> Instruction | None:
        """The form of a batched instruction by opcodes that have rules; None if it has a rule."""
        unfold = WRITTEN_AS_OTHERS.get(instr.opcode)
        if unfold is None or not any(any(values[o].flags) for o in instr.operands):
            return None
        if instr not in self.forms:
            self.forms[instr] = unfold(instr)
        return self.forms[instr]

    def of(
        self,
        instr: Instruction,
        operands: Sequence[BatchedValue],
        dependences: dict[Instruction, Sets],
    ) -> BatchedValue:
        """The batched form of an instruction."""
        values, flags = [e.value for e in operands], [e.flags for e in operands]
        if instr.opcode == "tuple":
            return BatchedValue(make("tuple", *values), tuple(f for flag in flags for f in flag))
        if isinstance(instr.attrs, a.GetTupleElement):
            first, count = leaf_range(instr)
            value = element(values[0], instr.attrs.index)
            return BatchedValue(value, flags[0][first : first + count])
        if instr in dependences and instr.opcode in ("while", "conditional"):
            wanted = tuple(map(bool, dependences[instr]))
            rule = self.loop if instr.opcode == "while" else self.branches
            return rule(instr, operands, wanted, dependences)
        if not any(map(any, flags)) or instr.opcode in FORWARDING:
            value = copied(instr, values)
            if instr.opcode in FORWARDING:
                return BatchedValue(unsharded(value).with_(shape=values[0].shape), flags[0])
            if has_effect(instr):
                self.acting.append(value)
            return BatchedValue(value, (False,) * instr.shape.leaf_count)
        try:
            return self.batched(instr, values, flags)
        except HloError as error:
            raise error.at(instr.span) from None

    def batched(
        self, instr: Instruction, values: Sequence[Instruction], flags: Sequence[Flags]
    ) -> BatchedValue:
        """The batched form of an instruction, some of whose operands are batched."""
        rule = batches.get(instr.opcode)
        if not has_static_sizes(instr):
            raise refusal(instr, "it has a run-time size", "`hlo opt --passes dynamic-padder`")
        if rule is None:
            raise refusal(instr, batches.not_supported.get(instr.opcode, "it has no rule"))
        value = rule(self.batch, instr, values, flags)
        return BatchedValue(value, tuple(s.is_array for s in leaf_shapes(instr.shape)))

    def leaves(self, example: BatchedValue, wanted: Sequence[int | bool]) -> list[Instruction]:
        """The leaves of a value, of which some are to be batched."""
        triples = zip(leaves_of(example.value), example.flags, wanted, strict=True)
        return [self.batch.spread(x, flag) if want else x for x, flag, want in triples]

    def loop(
        self,
        instr: Instruction,
        operands: Sequence[BatchedValue],
        wanted: Flags,
        dependences: dict[Instruction, Sets],
    ) -> BatchedValue:
        """A loop for all examples, until the last one ends."""
        sets = marks(dependences[instr])
        goes_on, body = (self.bodies[called, sets] for called in instr.called)
        (more,), ((differs,)) = leaves_of(goes_on.root.value), goes_on.root.flags
        results = self.leaves(body.root, wanted)
        if differs:
            if body.acting or goes_on.acting:
                raise refusal(instr, "it has effects, and examples end at different times")
            (own,) = copies([more], dict(zip(goes_on.leaves, body.leaves, strict=True)))
            triples = zip(results, body.leaves, wanted, strict=True)
            results = [chosen(own, new, old) if w else new for new, old, w in triples]
            more = any_of(more)
        state = loop(
            instr,
            self.leaves(operands[0], wanted),
            single(goes_on.name, goes_on.leaves, more),
            assembled(body.name, body.leaves, results, acting=body.acting),
        )
        return BatchedValue(together(instr.shape, elements(state)), wanted)

    def branches(
        self,
        instr: Instruction,
        operands: Sequence[BatchedValue],
        wanted: Flags,
        dependences: dict[Instruction, Sets],
    ) -> BatchedValue:
        """A conditional on batched values; where examples decide for themselves, all branches."""
        which, *arguments = operands
        pairs = zip(instr.called, instr.operands[1:], strict=True)
        sets = [marks(dependences[operand]) for operand in instr.operands[1:]]
        bodies = [self.bodies[branch, marks(dependences[operand])] for branch, operand in pairs]
        leaves_of_branches = [self.leaves(*pair) for pair in zip(arguments, sets, strict=True)]
        if not which.flags[0]:
            called = [
                assembled(b.name, b.leaves, self.leaves(b.root, wanted), acting=b.acting)
                for b in bodies
            ]
            packed = [make("tuple", *leaves) for leaves in leaves_of_branches]
            result = conditional(instr, which.value, packed, called)
            return BatchedValue(together(instr.shape, elements(result)), wanted)
        if any(b.acting for b in bodies):
            raise refusal(instr, "it has effects, and examples take different branches")
        results = [
            copies(self.leaves(b.root, wanted), dict(zip(b.leaves, leaves, strict=True)))
            for b, leaves in zip(bodies, leaves_of_branches, strict=True)
        ]
        *others, last = results
        index = which.value
        for k, values in reversed(list(enumerate(others))):
            is_pred = index.shape.element_type is PRED
            here = index if is_pred else make("compare", index, k, direction="EQ")
            pairs = zip(values, last, wanted, strict=True)
            last = [chosen(here, x, rest) if w else rest for x, rest, w in pairs]
        return BatchedValue(together(instr.shape, last), wanted)


def chosen(which: Instruction, x: Instruction, other: Instruction) -> Instruction:
    """For each example one of two values; the very value where both are one."""
    if x is other or not x.shape.is_array:
        return other
    return make("select", spread(which, x.shape.dims, (0,)), x, other)


def any_of(flags: Instruction) -> Instruction:
    """Whether any of some preds is true."""
    scalar = array(PRED)
    x, y = (make("parameter", shape=scalar, number=k) for k in (0, 1))
    both = make("or", x, y)
    return folded(flags, number(0, PRED), (0,), Computation("any", (x, y, both), both))
