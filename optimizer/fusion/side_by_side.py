"""Finds kernels that have nothing to do with each other, and may run as one, side by side.

A GPU takes longer to launch a small kernel than to run it. The typical case is an optimizer's
update, which has a kernel for each of a network's parameters.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hlo.instruction import Instruction
from hlo.walk import names_of, users
from optimizer.fusion.contraction import Contraction
from optimizer.fusion.kernels import NewKernel, with_kernels
from optimizer.fusion.merged import joined, mergeable
from optimizer.fusion.multi_output_fusion import own_names, replaced
from optimizer.fusion.policy import GPU

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator

    from hlo.instruction import Computation, Module
    from hlo.names import NameSupply
    from optimizer.fusion.merged import MergedKernel
    from optimizer.log import Log

    Kind = Callable[[MergedKernel], Hashable]
    Values = dict[Instruction, Instruction]
    Fuse = Callable[[MergedKernel, NameSupply, Collection[str]], tuple[Instruction, Values]]


def fuse_side_by_side(module: Module, log: Log, kind: Kind, fuse: Fuse, most: int) -> Module:
    """A module in which the kernels that one instruction needs are fewer.

    Parameters
    ----------
    kind : only kernels for which this gives the same become one; None for those that stay alone.
    fuse : makes an instruction of a kernel, and what takes the place of its values; given the names
        that its members may keep.
    most : kernels that become one.
    """
    names = names_of(module)
    calls = Counter(c.name for instr in module.instructions() for c in instr.called)
    sharded = module.header.num_partitions * module.header.replica_count > 1

    def kernels(computation: Computation) -> Iterator[NewKernel]:
        for kernel in _found(computation, kind, most, sharded=sharded):
            fusion, values = fuse(kernel, names, own_names(kernel, calls))
            yield NewKernel(kernel.parts[0], fusion, values, replaced(kernel))

    return with_kernels(module, log, "side-by-side", kernels, _of_scalar_loops(module))


def _of_scalar_loops(module: Module) -> set[str]:
    """The computations of loops whose state is scalars: each such loop is a kernel already."""
    loops = (i for i in module.instructions() if i.opcode == "while")
    return {
        computation.name
        for loop in loops
        if all(s.is_array and s.rank == 0 for _, s in loop.shape.leaves())
        for computation in loop.called
    }


def _found(
    computation: Computation, kind: Kind, most: int, *, sharded: bool
) -> Iterator[MergedKernel]:
    """Kernels made of several that an instruction needs and that don't need each other."""
    using = users(computation)
    candidates = mergeable(computation, using, GPU, sharded=sharded)
    kinds = {k.parts[0]: (k, kind(k)) for k in candidates if len(k.values) == 1}
    graph = Contraction(computation, using, {i: k for i, (k, _) in kinds.items()})
    # From uses to definitions, and a merged kernel at once: it needs the operands that its parts
    # needed each for itself.
    pending: list[Instruction | MergedKernel] = list(computation.instructions)
    done: set[Hashable] = set()
    while pending:
        consumer = pending.pop()
        node = graph.node(consumer) if isinstance(consumer, Instruction) else consumer
        if node in done:
            continue
        done.add(node)
        by_kind: dict[Hashable, list[MergedKernel]] = {}
        for operand in dict.fromkeys(consumer.operands):
            kernel, its_kind = kinds.get(operand, (None, None))
            # A value that others need too would have to wait for the rest.
            alone = all(graph.node(u) is node or u is computation.root for u in using[operand])
            if kernel and alone and its_kind is not None and graph.node(operand) is kernel:
                by_kind.setdefault(its_kind, []).append(kernel)
        for kernels in by_kind.values():
            for whole in _merged(graph, kernels, most):
                pending.append(whole)
                yield whole


def _merged(graph: Contraction, kernels: list[MergedKernel], most: int) -> Iterator[MergedKernel]:
    """Join kernels into as few as may be."""
    others = sorted(kernels, key=graph.number)
    while others:
        whole, *candidates = others
        others: list[MergedKernel] = []
        for other in candidates:
            first, second = sorted((whole, other), key=graph.number)
            operands = len(whole.operands) + len(other.operands)
            fits = whole.count < most and operands <= GPU.operands
            between = graph.between(first, second) if fits else None
            if between is None or second in graph.following(first):
                others.append(other)
                continue
            kernel = joined(first, second, lambda _instr, _parts: True)
            graph.merge(first, second, between, kernel)
            whole = kernel
        if whole.count > 1:
            yield whole
