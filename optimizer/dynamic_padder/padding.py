"""A module with run-time sizes becomes one of static arrays, and of sizes beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from hlo import attributes as a
from hlo.build import module as build_module
from hlo.instruction import Computation
from hlo.sharded import with_sharding
from hlo.types.element_type import S32
from hlo.types.shape import UNBOUNDED, array, tuple_of
from hlo.walk import called_first
from interpreter.custom_calls.signatures import check_call
from optimizer.calls.call_inliner import CallInliner
from optimizer.calls.clone import uniquely_named
from optimizer.cleanup.dce import Dce
from optimizer.dynamic_padder.rules import (
    CUSTOM_CALLS,
    RULES,
    elementwise,
    refusal,
    unruled,
)
from optimizer.dynamic_padder.values import Padded, Tree, padded_leaves, static
from optimizer.expanders.parts import number
from optimizer.log import Log
from optimizer.rewriting.adopting import new_below
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape

# Custom calls between dynamic and static arrays, named as by XLA.
PAD, SLICE = "PadToStatic", "SliceToDynamic"
_CHANGING = frozenset({"set-dimension-size", "dynamic-reshape"})


def is_dynamic(module: Module) -> bool:
    """Whether any value of a module may have sizes that only the run knows."""
    return any(map(changes_sizes, called_first(module.entry)))


def changes_sizes(computation: Computation) -> bool:
    """Whether any value of a computation may."""
    return any(map(changes_size, computation.instructions))


def changes_size(instr: Instruction) -> bool:
    """Whether a value may have sizes that only the run knows."""
    return instr.shape.is_dynamic or (instr.opcode in _CHANGING and not _sets_all(instr))


def _sets_all(instr: Instruction) -> bool:
    """Whether a set-dimension-size sets the size that is there."""
    if instr.opcode != "set-dimension-size":
        return False
    dims = a.Dimensions.of(instr).dimensions
    wanted = value_of(instr.operands[1])
    return wanted is not None and int(wanted) == instr.operands[0].shape.dims[dims[0]]


def pad(module: Module) -> Module:
    """The module with static arrays between PadToStatic at its arguments and SliceToDynamic.

    Its parameters and its result are the old ones. What is dynamic in them is padded right where
    it is given, and cut right where it is yielded.

    Raises
    ------
    HloError
        HLO181 for what has no static form: opcodes that compute in dynamic dimensions otherwise
        than element by element, dimensions without a bound.
    """
    # The interpreter computes nothing that is dead, so nothing dead is refused.
    entry = Dce().run(CallInliner().run(module, Log()), Log()).entry
    trees = padded_body(entry, {p: _given(p) for p in entry.parameters})
    root = _sharded(_yielded(trees[entry.root], entry.root.shape), entry.root)
    order = in_order([*map(Padded, entry.parameters), *trees.values(), Padded(root)])
    whole = uniquely_named(waiting_as_before(Computation(entry.name, tuple(order), root), trees))
    return build_module(whole, module.name, module.header)


def _given(value: Instruction) -> Tree:
    """A value that is a parameter of the module, its dynamic dimensions padded."""
    if value.shape.is_tuple:
        count = len(value.shape.elements)
        return tuple(_given(make("get-tuple-element", value, index=i)) for i in range(count))
    if not value.shape.is_dynamic:
        return Padded(value)
    if UNBOUNDED in value.shape.dims:
        raise refusal(value, "a dimension has no bound")
    rank = value.shape.rank
    shape = tuple_of(static(value.shape), *[array(S32)] * rank)
    both = make("custom-call", value, shape=shape, custom_call_target=PAD)
    parts = [make("get-tuple-element", both, index=i) for i in range(1 + rank)]
    return Padded(parts[0], {d: parts[1 + d] for d in range(rank) if value.shape.dynamic_at(d)})


def _yielded(tree: Tree, shape: Shape) -> Instruction:
    """A value that is a result of the module, its dynamic dimensions cut to their sizes."""
    if isinstance(tree, tuple):
        pairs = zip(cast("tuple[Tree, ...]", tree), shape.elements, strict=True)
        return make("tuple", *(_yielded(*pair) for pair in pairs))
    if not shape.is_dynamic:
        return tree.value
    sizes = (tree.sizes.get(d) or number(size) for d, size in enumerate(shape.dims))
    return make("custom-call", tree.value, *sizes, shape=shape, custom_call_target=SLICE)


def _sharded(value: Instruction, root: Instruction) -> Instruction:
    """The result of the module, cut among devices as before."""
    sharding = root.annotations.sharding
    if sharding is None or value.annotations.sharding == sharding:
        return value
    if value.opcode not in ("tuple", "custom-call"):
        value = make("copy", value)  # it may have users, and a sharding of its own
    return with_sharding(value, sharding)


def padded(instr: Instruction, operands: Sequence[Tree]) -> Tree:
    """The padded value of an instruction, from its operands'."""
    target = a.CustomCall.of(instr) if instr.opcode == "custom-call" else None
    if target is not None:
        check_call(instr)
    rule = CUSTOM_CALLS.get(target.custom_call_target) if target else RULES.get(instr.opcode)
    if rule is None and instr.row.elementwise:
        return elementwise(instr, *cast("Sequence[Padded]", operands))
    if rule is not None:
        return rule(instr, *operands)
    if any(leaf.sizes for operand in operands for leaf in padded_leaves(operand)):
        raise refusal(instr, "an operand has a run-time size")
    if any(s.is_dynamic for _, s in instr.shape.leaves()):
        raise refusal(instr, "its result has a run-time size")
    if any(map(changes_sizes, called_first(*instr.called))):
        raise refusal(instr, "what it calls has values of run-time size")
    return unruled(instr, *operands)


def padded_body(
    computation: Computation, known: Mapping[Instruction, Tree]
) -> dict[Instruction, Tree]:
    """The padded values of a computation's instructions, from those of its parameters."""
    trees = dict(known)
    for instr in computation.instructions:
        if instr.opcode != "parameter":
            trees[instr] = padded(instr, [trees[o] for o in instr.operands])
    return trees


def in_order(trees: Iterable[Tree]) -> list[Instruction]:
    """All instructions that some values are made of, operands first."""
    order: dict[Instruction, None] = {}
    for tree in trees:
        for leaf in padded_leaves(tree):
            for root in (leaf.value, *leaf.sizes.values()):
                if root not in order:
                    order.update(dict.fromkeys(new_below(root, order)))
    return list(order)


def waiting_as_before(computation: Computation, trees: Mapping[Instruction, Tree]) -> Computation:
    """The computation with the control dependencies of that whose values are in the trees.

    What makes a value waits for the values that its instruction waited for.
    """
    awaited: dict[Instruction, list[Instruction]] = {}
    for old, tree in trees.items():
        before = [leaf.value for p in old.control_predecessors for leaf in padded_leaves(trees[p])]
        for leaf in padded_leaves(tree):
            awaited.setdefault(leaf.value, before)
    if not any(awaited.values()):
        return computation
    became: dict[Instruction, Instruction] = {}
    for instr in computation.instructions:
        # One value may stand for several; it does not wait for those that are made of it.
        before = [became[p] for p in awaited.get(instr, ()) if p in became]
        operands = tuple(became[o] for o in instr.operands)
        became[instr] = instr.with_(
            operands=operands, control_predecessors=tuple(dict.fromkeys(before))
        )
    instructions = tuple(became.values())
    return replace(computation, instructions=instructions, root=became[computation.root])
