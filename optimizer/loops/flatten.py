"""Flattens a loop's state: one tuple of arrays instead of tuples in tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.shape import tuple_of
from hlo.walk import rebuild
from optimizer.loops.state import flat_annotations
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from optimizer.loops.site import LoopSite


def flatten_nested_tuples(site: LoopSite) -> Instruction | None:
    """Makes the leaves of nested tuples elements of the state.

    What a send or a recv has started stays as it is, for its end to find.

    References
    ----------
    XLA, `TryFlattenNestedTuples` in `xla/service/while_loop_simplifier.cc`.
    """
    instr = site.loop.instr
    nests = [e for e in instr.shape.elements if e.is_tuple]
    if not nests or any(leaf.is_token for nest in nests for _, leaf in nest.leaves()):
        return None
    paths = [path for path, _ in instr.shape.leaves()]
    flat = tuple_of(*[leaf for _, leaf in instr.shape.leaves()])

    def flattened(whole: Instruction) -> Instruction:
        """A tuple of all leaves, which stands for a nested one."""
        leaves = [leaf_of(whole, path, site.named) for path in paths]
        flat = site.named(make("tuple", *leaves))
        return flat.with_(annotations=flat_annotations(whole))

    def nested(whole: Instruction) -> Instruction:
        """The nested tuple that a tuple of all leaves stands for."""
        leaves = (site.element(whole, i) for i in range(len(paths)))
        return nest(instr.shape, leaves, site.named)

    def inside(computation: Computation) -> Computation:
        state, root = computation.parameters[0], computation.root
        new_state = state.with_(shape=flat, annotations=flat_annotations(state))
        plan = {state: nested(new_state)}
        if root.shape.is_tuple:
            plan[root] = flattened(root)
        return rebuild(computation, plan)

    loop = instr.with_(
        operands=(flattened(instr.operands[0]),),
        shape=flat,
        called=tuple([inside(site.own(c)) for c in instr.called]),
        annotations=flat_annotations(instr),
    )
    return nested(loop)


def leaf_of(
    whole: Instruction, path: tuple[int, ...], named: Callable[[Instruction], Instruction]
) -> Instruction:
    """A leaf of nested tuples: the operand of a `tuple` instruction, else a get-tuple-element."""
    for i in path:
        if whole.opcode == "tuple":
            whole = whole.operands[i]
        else:
            whole = named(make("get-tuple-element", whole, index=i))
    return whole


def nest(
    shape: Shape,
    leaves: Iterator[Instruction],
    named: Callable[[Instruction], Instruction],
) -> Instruction:
    """A nested tuple of a shape, from all of its leaves in order."""
    if not shape.is_tuple:
        return next(leaves)
    return named(make("tuple", *[nest(e, leaves, named) for e in shape.elements]))
