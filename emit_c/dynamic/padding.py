"""A module with run-time sizes becomes a static one, which takes and yields sizes besides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from emit_c.dynamic.rules import CUSTOM_CALLS, RULES, elements, elementwise, refusal, unruled
from emit_c.dynamic.values import Padded, Tree, instruction_of, padded_leaves, static
from hlo.build import module as build_module
from hlo.instruction import Computation
from hlo.names import NameSupply
from hlo.types.element_type import S32
from hlo.types.shape import UNBOUNDED, array
from hlo.walk import called_first
from interpreter.custom_calls.signatures import check_call
from optimizer.calls.call_inliner import CallInliner
from optimizer.expanders.op_expander import new_below
from optimizer.log import Log
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hlo import attributes as a
    from hlo.instruction import Instruction, Module

_CHANGING = frozenset({"set-dimension-size", "dynamic-reshape"})


@dataclass(frozen=True, slots=True)
class Static:
    """A static module in the place of a dynamic one.

    Attributes
    ----------
    module : behind the parameters of the old one, it has one for each dynamic dimension of these;
        it yields the old result, and behind it sizes.
    given : (leaf of the arguments, dimension) whose size each further parameter is.
    yielded : (leaf of the result, dimension) whose size each further result is.
    """

    module: Module
    given: tuple[tuple[int, int], ...]
    yielded: tuple[tuple[int, int], ...]


def is_dynamic(module: Module) -> bool:
    """Whether any value of a module may have sizes that only the run knows."""
    return any(map(changes_sizes, called_first(module.entry)))


def changes_sizes(computation: Computation) -> bool:
    """Whether any value of a computation may."""
    return any(
        i.shape.is_dynamic or (i.opcode in _CHANGING and not _sets_all(i))
        for i in computation.instructions
    )


def _sets_all(instr: Instruction) -> bool:
    """Whether a set-dimension-size sets the size that is there."""
    if instr.opcode != "set-dimension-size":
        return False
    dims = cast("a.Dimensions", instr.attrs).dimensions
    wanted = value_of(instr.operands[1])
    return wanted is not None and int(wanted) == instr.operands[0].shape.dims[dims[0]]


def to_static(module: Module) -> Static:
    """Pad what is dynamic in a module.

    Raises
    ------
    HloError
        HLO181 for what has no static form: opcodes that compute in dynamic dimensions otherwise
        than element by element, dimensions without a bound.
    """
    entry = CallInliner().run(module, Log()).entry
    trees: dict[Instruction, Tree] = {}
    further: list[Instruction] = []
    given: list[tuple[int, int]] = []
    first = 0
    for parameter in entry.parameters:
        leaves = [shape for _, shape in parameter.shape.leaves()]
        found = [(k, d) for k, s in enumerate(leaves) for d in range(s.rank) if s.dynamic_at(d)]
        sizes: dict[int, dict[int, Instruction]] = {}
        for k, d in found:
            if leaves[k].dims[d] == UNBOUNDED:
                raise refusal(parameter, "a dimension has no bound")
            number = len(entry.parameters) + len(further)
            further.append(make("parameter", shape=array(S32), number=number))
            sizes.setdefault(k, {})[d] = further[-1]
            given.append((first + k, d))
        first += len(leaves)
        value = parameter.with_(shape=static(parameter.shape))
        trees[parameter] = with_sizes(elements(value), sizes)
    for instr in entry.instructions:
        if instr.opcode != "parameter":
            # Arrays get sizes beside them, for which nothing says how they are sharded.
            notes = replace(instr.annotations, sharding=None)
            plain = instr.with_(annotations=notes)
            trees[instr] = padded(plain, [trees[o] for o in instr.operands])
    results = padded_leaves(trees[entry.root])
    yielded = [(number, d) for number, leaf in enumerate(results) for d in leaf.sizes]
    counts = [size for leaf in results for size in leaf.sizes.values()]
    root = make("tuple", instruction_of(trees[entry.root]), *counts)
    order = in_order([*trees.values(), *map(Padded, further), Padded(root)])
    whole = uniquely_named(Computation(entry.name, tuple(order), root))
    return Static(build_module(whole, module.name), tuple(given), tuple(yielded))


def with_sizes(tree: Tree, sizes: Mapping[int, Mapping[int, Instruction]], first: int = 0) -> Tree:
    """A value whose leaves, counted from `first` on, have some sizes."""
    if isinstance(tree, Padded):
        return Padded(tree.value, sizes.get(first, {}))
    made: list[Tree] = []
    for element in cast("tuple[Tree, ...]", tree):
        made.append(with_sizes(element, sizes, first))
        first += len(padded_leaves(element))
    return tuple(made)


def padded(instr: Instruction, operands: Sequence[Tree]) -> Tree:
    """What an instruction makes of its operands' values."""
    if instr.annotations.sharding is not None:
        # It is of the arrays that the instruction had, and one device runs what is made of it.
        instr = instr.with_(annotations=replace(instr.annotations, sharding=None))
    target = cast("a.CustomCall", instr.attrs) if instr.opcode == "custom-call" else None
    if target is not None:
        check_call(instr)
    found = CUSTOM_CALLS.get(target.custom_call_target) if target else RULES.get(instr.opcode)
    if found is None and instr.row.elementwise:
        return elementwise(instr, *cast("Sequence[Padded]", operands))
    if found is not None:
        return found(instr, *operands)
    if any(leaf.sizes for operand in operands for leaf in padded_leaves(operand)):
        raise refusal(instr, "an operand has a run-time size")
    if any(s.is_dynamic for _, s in instr.shape.leaves()):
        raise refusal(instr, "its result has a run-time size")
    if any(map(changes_sizes, called_first(*instr.called))):
        raise refusal(instr, "what it calls has values of run-time size")
    return unruled(instr, *operands)


def in_order(trees: Iterable[Tree]) -> list[Instruction]:
    """All instructions that some values are made of, operands first."""
    order: dict[Instruction, None] = {}
    for tree in trees:
        for leaf in padded_leaves(tree):
            for root in (leaf.value, *leaf.sizes.values()):
                if root not in order:
                    order.update(dict.fromkeys(new_below(root, order)))
    return list(order)


def uniquely_named(entry: Computation) -> Computation:
    """The same under names that are all different, as those of what was made anew are not."""
    names, titles = NameSupply(), NameSupply()
    made: dict[Computation, Computation] = {}
    for computation in called_first(entry):
        order: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            order[instr] = instr.with_(
                name=names.unique(instr.name),
                operands=tuple(order[o] for o in instr.operands),
                called=tuple(made[c] for c in instr.called),
                control_predecessors=tuple(order[p] for p in instr.control_predecessors),
            )
        made[computation] = replace(
            computation,
            name=titles.unique(computation.name),
            instructions=tuple(order.values()),
            root=order[computation.root],
        )
    return made[entry]
