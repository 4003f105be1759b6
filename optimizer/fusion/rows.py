"""Computations that go through rows several times, but never look at two rows: softmax, layer norm.

    m = f32[8] reduce(x, -inf), dimensions={1}      each row has a maximum,
    b = f32[8,99] broadcast(m), dimensions={0}      which all of the row see;
    e = f32[8,99] exponential(x - b)                what is made of it
    s = f32[8] reduce(e, 0), dimensions={1}         is folded again.

Whoever owns a row computes all of it, and reads it once. An array of such a computation is *wide*,
with an element for each of a row, or *narrow*, with one for each row. Which computations are such
ones is told by their shapes and edges alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.opcode import COMPILE_TIME, GIVEN
from optimizer.fusion.policy import ELEMENTWISE
from optimizer.reducers import operation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Computation, Instruction

LEAST_ROW, MOST_ROW = 8, 1 << 16
"""Chosen: rows that are gone through several times by one kernel. Shorter ones are better folded by
one thread each; longer ones by several blocks."""

Dims = tuple[int, ...]
# Each element of these is known by its index: nobody stores them, and each kernel has its own.
LEAVES = COMPILE_TIME | {"broadcast"}


@dataclass(frozen=True, slots=True)
class Rows:
    """The dimensions that rows have in common, and those of a row, which are the last ones."""

    kept: Dims
    row: Dims

    @property
    def count(self) -> int:
        """The number of rows."""
        return prod(self.kept)

    @property
    def size(self) -> int:
        """Elements of a row."""
        return prod(self.row)

    def is_wide(self, instr: Instruction) -> bool:
        """Whether a value has an element for each of a row."""
        return instr.shape.is_array and instr.shape.dims == self.kept + self.row

    def is_narrow(self, instr: Instruction) -> bool:
        """Whether a value has an element for each row."""
        return instr.shape.is_array and instr.shape.dims == self.kept

    def spreads(self, instr: Instruction) -> bool:
        """Whether an instruction hands each row's element to all of the row."""
        if instr.opcode != "broadcast" or not self.is_wide(instr):
            return False
        attrs = a.Dimensions.of(instr)
        prefix = tuple(range(len(self.kept)))
        return attrs.dimensions == prefix and self.is_narrow(instr.operands[0])

    def folds(self, instr: Instruction) -> bool:
        """Whether an instruction reduces each row to one element."""
        return instr.opcode == "reduce" and rows_of(instr) == self

    def along(self, instr: Instruction) -> tuple[Instruction, ...] | None:
        """The operands of which an instruction reads, for a row, that row alone; None for others.

        What else it reads is no row: scalars, and what leaves are made of.
        """
        if self.folds(instr):
            return instr.operands[: len(instr.operands) // 2]
        if self.spreads(instr):
            return instr.operands
        if not (self.is_wide(instr) or self.is_narrow(instr)):
            return None
        if instr.opcode in ELEMENTWISE:
            return tuple(o for o in instr.operands if o.shape.rank == instr.shape.rank)
        return () if instr.opcode in LEAVES else None


def rows_of(instr: Instruction) -> Rows | None:
    """The rows that a reduce folds by one known operation; None for others, and for one row."""
    if instr.opcode != "reduce" or not instr.shape.is_array:
        return None
    if instr.shape.element_type.is_complex or not operation_of(instr.called[0], instr):
        return None
    attrs = a.Dimensions.of(instr)
    dims, rank = instr.operands[0].shape.dims, instr.operands[0].shape.rank
    first = rank - len(attrs.dimensions)
    if sorted(attrs.dimensions) != list(range(first, rank)):
        return None
    rows = Rows(dims[:first], dims[first:])
    useful = rows.count > 1 and LEAST_ROW <= rows.size <= MOST_ROW
    return rows if useful else None


def rows_of_all(computation: Computation) -> Rows | None:
    """The rows of a computation of which all is computed row by row; None for other ones.

    It spreads what it folds: else it is a reduction as others are.
    """
    rows = next(filter(None, map(rows_of, computation.instructions)), None)
    if rows is None:
        return None
    inside = [i for i in computation.instructions if i.opcode not in GIVEN]
    if inside and inside[-1].opcode == "tuple":
        inside.pop()
    root = computation.root
    results = root.operands if root.opcode == "tuple" else (root,)
    if any(r.opcode in GIVEN for r in results):
        return None
    return rows if inside and _fits(rows, inside) else None


def _fits(rows: Rows, inside: Sequence[Instruction]) -> bool:
    own = set(inside)
    for instr in inside:
        along = rows.along(instr)
        if along is None or any(o in own and o not in along for o in instr.operands):
            return False
    return _has_diamond(rows, inside)


def _has_diamond(rows: Rows, members: Iterable[Instruction]) -> bool:
    """Whether a row's fold comes back to the row."""
    folded: set[Instruction] = set()
    for instr in members:
        if rows.folds(instr) or (rows.is_narrow(instr) and folded.intersection(instr.operands)):
            folded.add(instr)
        elif rows.spreads(instr) and instr.operands[0] in folded:
            return True
    return False


# ---------------------------------------------------------------------- finding them


def groups_of_rows(
    computation: Computation, taken: Iterable[Instruction] = ()
) -> list[tuple[Instruction, ...]]:
    """Groups of instructions that work row by row, each in order, none of which waits for itself.

    Leaves belong to no group: each takes copies of its own.

    Parameters
    ----------
    taken : instructions that stay as they are.
    """
    groups: list[tuple[Instruction, ...]] = []
    done = set(taken)
    for instr in computation.instructions:
        rows = rows_of(instr) if instr not in done else None
        if rows is None:
            continue
        for group in _groups(rows, instr, computation, done):
            done.update(group)
            groups.append(group)
    return groups


def _groups(
    rows: Rows, start: Instruction, computation: Computation, done: set[Instruction]
) -> Iterable[tuple[Instruction, ...]]:
    """The instructions around a fold, as far as all their users stay inside."""
    edges = _edges(rows, computation.instructions, done)
    reached = _connected(start, edges)
    inside: dict[Instruction, None] = {}
    late: set[Instruction] = set()
    for instr in computation.instructions:
        along = rows.along(instr) if instr in reached else None
        before = (*instr.operands, *instr.control_predecessors)
        if along is not None and not any(
            o in late or (o in inside and o not in along) for o in before
        ):
            inside[instr] = None
        elif any(o in late or o in inside for o in before):
            late.add(instr)
    left = _edges(rows, inside, done)
    while inside:
        part = _connected(next(iter(inside)), left)
        members = tuple(i for i in inside if i in part)
        if _has_diamond(rows, members):
            yield members
        inside = dict.fromkeys(i for i in inside if i not in part)


def _edges(
    rows: Rows, instructions: Iterable[Instruction], done: set[Instruction]
) -> dict[Instruction, list[Instruction]]:
    """Neighbours of instructions that work row by row, in both directions."""
    edges: dict[Instruction, list[Instruction]] = {}
    for instr in instructions:
        along = None if instr in done or _is_leaf(rows, instr) else rows.along(instr)
        if along is None:
            continue
        edges[instr] = []
        for operand in along:
            if operand in edges:
                edges[instr].append(operand)
                edges[operand].append(instr)
    return edges


def _is_leaf(rows: Rows, instr: Instruction) -> bool:
    return instr.opcode in LEAVES and not rows.spreads(instr)


def _connected(start: Instruction, edges: dict[Instruction, list[Instruction]]) -> set[Instruction]:
    reached, stack = {start}, [start]
    while stack:
        for node in edges.get(stack.pop(), ()):
            if node not in reached:
                reached.add(node)
                stack.append(node)
    return reached


def with_leaves(members: Sequence[Instruction]) -> list[Instruction]:
    """The members of a group, each after the leaves that it reads.

    A leaf that waits for another instruction goes on waiting where it is.
    """
    leaves: dict[Instruction, None] = {}
    for member in members:
        for operand in member.operands:
            if operand.opcode in LEAVES and operand not in members and not _waits(operand):
                if operand.operands and operand.operands[0].opcode == "constant":
                    leaves[operand.operands[0]] = None
                if operand.opcode != "constant" or operand.shape.size == 1:
                    leaves[operand] = None
        leaves[member] = None
    return list(leaves)


def _waits(leaf: Instruction) -> bool:
    """Whether a leaf, or the constant that it is made of, waits for another instruction."""
    made_of = (o for o in leaf.operands if o.opcode == "constant")
    return any(i.control_predecessors for i in (leaf, *made_of))
