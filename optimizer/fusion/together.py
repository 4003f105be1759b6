"""Fusions whose results one kernel computes together.

Such a kernel reads an element of an operand before it stores a result at the same address. Else one
kernel after another computes the results, and no result may overwrite an operand of a later kernel.
Emitters ask these functions before they write a kernel, and `optimizer.memory.alias_info` asks them
before buffers are shared; so a fusion for which one of them holds must become one kernel.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hlo.attributes import Dimensions
from optimizer.fusion.evaluations import RESULT, Evaluations, IndexNumbers
from optimizer.fusion.nest import nest_of
from optimizer.fusion.policy import CPU, GPU, is_large_window, is_plain

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from optimizer.fusion.nest import LoopNest


# Several ask it of each fusion, one after the other.
@lru_cache(maxsize=4096)
def common_nest(computation: Computation) -> LoopNest | None:
    """The loops in which a CPU computes all results of a fusion; None if they have none in common.

    They are those of one result, too, where nothing is computed at several indices.
    """
    results = _results(computation)
    others = {*computation.parameters, *([computation.root] if results else ())}
    outputs = results or (computation.root,)
    members = [instr for instr in computation.instructions if instr not in others]
    if not set(outputs) <= set(members) or not all(is_plain(m, CPU) for m in members):
        return None
    nest = nest_of(members, outputs)
    if isinstance(nest, str) or nest.repeated is not None or not nest.is_cached(CPU.row_bytes):
        return None
    return nest


@lru_cache(maxsize=4096)
def results_together(computation: Computation) -> tuple[Instruction, ...]:
    """The results that one thread of a GPU computes an element each of; none for other fusions.

    They have equal dimensions, and nothing is computed that is worth being stored before.
    """
    results, root = _results(computation), computation.root
    if any(not r.shape.is_array or r.shape.size == 0 or r.opcode == "parameter" for r in results):
        return ()
    cheap = all(is_cheap(instr) for instr in computation.instructions if instr is not root)
    return results if cheap and len({r.shape.dims for r in results}) == 1 else ()


@lru_cache(maxsize=4096)
def reduces_together(computation: Computation) -> tuple[Instruction, ...]:
    """The results of a fusion, where they are reduces of the same dimensions; none for others.

    A GPU's threads fold an element for each of them, and read once what several need.
    """
    results = _results(computation)
    if not results or any(r.opcode != "reduce" or not r.shape.is_array for r in results):
        return ()
    inside = [instr for instr in computation.instructions if instr is not computation.root]
    cheap = all(is_cheap(instr) for instr in inside if instr not in results)
    apart = not any(operand in results for instr in inside for operand in instr.operands)
    folded = {(r.operands[0].shape.dims, Dimensions.of(r).dimensions) for r in results}
    return results if cheap and apart and len(folded) == 1 else ()


@lru_cache(maxsize=4096)
def computed_at_once(computation: Computation) -> bool:
    """Whether a thread of a GPU computes an element of a fusion's result, and stores nothing else.

    What it needs at several indices it computes at each, as long as that are few values.
    """
    root = computation.root
    others = (instr for instr in computation.instructions if instr is not root)
    if not root.shape.is_array or not all(map(is_cheap, others)):
        return False
    numbers, count = IndexNumbers(), 0
    needed: dict[Instruction, Evaluations] = {root: {RESULT: 1}}
    for instr in reversed(computation.instructions):
        evaluations = needed.pop(instr, {})
        count += len(evaluations)
        for number, operand in enumerate(instr.operands):
            more = numbers.evaluations_of_operand(instr, number, evaluations)
            needed.setdefault(operand, {}).update(more)
    return count <= GPU.code


def product_with_epilogue(computation: Computation) -> Instruction | None:
    """The only product of a fusion, of which the root is an elementwise function; None for others.

    What it multiplies is as well computed as it is read.
    """
    products = [i for i in computation.instructions if i.opcode in ("convolution", "dot")]
    if len(products) != 1:
        return None
    (product,) = products
    users, inputs = {product}, {product}
    for instr in computation.instructions:
        if not users.isdisjoint(instr.operands):
            if not instr.row.elementwise or instr.shape.dims != product.shape.dims:
                return None
            users.add(instr)
    for instr in reversed(computation.instructions):
        inputs.update(instr.operands if instr in inputs else ())
    cheap = all(is_cheap(instr) for instr in inputs - {product})
    return product if computation.root in users and cheap else None


def is_cheap(instr: Instruction) -> bool:
    """Whether a GPU as well computes an element where it is read, as it stores it before."""
    if is_large_window(instr):
        return False
    known = instr.opcode in GPU.producers or instr.opcode == "parameter"
    return known or GPU.is_small_fold(instr)


def _results(computation: Computation) -> tuple[Instruction, ...]:
    """The results of a fusion that has several."""
    root = computation.root
    return root.operands if root.opcode == "tuple" else ()
