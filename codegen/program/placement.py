"""The values of a computation that get a buffer, and those computed where they are used."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from codegen.elements.table import Entry, Scalar, WholeArray, elemental
from hlo.attributes import Slice
from hlo.opcode import COMPILE_TIME, CONTROL, SAME_ORDER, TUPLES, having
from hlo.walk import users

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.table import OpTable

    Table = OpTable[Entry]

# These only say where an element comes from: computing them again costs nothing.
_REPEATING = COMPILE_TIME - {"constant"} | {"broadcast"}
_INDEXING = COMPILE_TIME | {"broadcast"}
# A loop for one element: never to be run twice for the same one.
_LOOPS = having("reduction") | having("contraction") | {"map"}
# Their value is in their operands' memory.
_RENAMING = TUPLES | SAME_ORDER
_PLUMBING = TUPLES | {"parameter"}


def in_memory(table: Table, computation: Computation) -> set[Instruction]:
    """The instructions of a fused computation whose values are stored.

    That is what leaves the fusion, what a kernel reads through a pointer, and what would be
    computed several times: folds, and values that are used at several indices.
    """
    using = users(computation)
    outputs = _outputs(computation.root, _RENAMING)
    return {
        instr
        for instr in computation.instructions
        if instr.opcode not in _PLUMBING
        and (instr in outputs or _stored(table, instr, using[instr]))
    }


def read_from_memory(table: Table, computation: Computation) -> set[Instruction]:
    """The instructions of a sequential computation whose values someone reads through a pointer."""
    using = users(computation)
    read = _outputs(computation.root, _RENAMING - {"copy"})
    for instr in reversed(computation.instructions):
        if any(
            _reads_memory(table, user, instr)
            or (user.opcode in _RENAMING - {"copy"} and user in read)
            for user in using[instr]
        ):
            read.add(instr)
    return read


def recomputed(table: Table, computation: Computation) -> set[Instruction]:
    """The instructions of a sequential computation that are computed wherever they are used."""
    read = read_from_memory(table, computation)
    return {i for i in computation.instructions if i.opcode in _REPEATING and i not in read}


def _outputs(root: Instruction, renaming: Collection[str]) -> set[Instruction]:
    """The outputs of a computation: the root, or the elements of its tuples."""
    outputs: set[Instruction] = set()
    stack = [root]
    while stack:
        instr = stack.pop()
        if instr in outputs:
            continue
        outputs.add(instr)
        if instr.opcode in renaming:
            stack += instr.operands
    return outputs


def _stored(table: Table, instr: Instruction, users: list[Instruction]) -> bool:
    if any(_reads_memory(table, user, instr) for user in users):
        return True
    if instr.opcode in _INDEXING:
        return False
    if not elemental(table, instr.opcode) or instr.opcode in _LOOPS:
        return True
    elsewhere = [u for u in users if not isinstance(table.get(u.opcode), Scalar)]
    return len(users) > 1 and bool(elsewhere) and not _each_a_part(users)


def _each_a_part(users: Sequence[Instruction]) -> bool:
    """Whether all users are slices, none of which has an element of another one."""
    if any(user.opcode != "slice" for user in users):
        return False
    parts = [Slice.of(user) for user in users]
    return all(_apart(one, other) for one, other in combinations(parts, 2))


def _apart(one: Slice, other: Slice) -> bool:
    """Whether two slices have no element in common."""
    pairs = zip(one.slice, other.slice, strict=True)
    return any(a.limit <= b.start or b.limit <= a.start for a, b in pairs)


def _reads_memory(table: Table, user: Instruction, operand: Instruction) -> bool:
    """Whether a user needs an operand in memory."""
    if user.opcode in {*CONTROL, "tuple", "dot", "convolution", "copy-start"}:
        return True
    if user.opcode == "fusion":
        read = _parameters_in_memory(table, user.called[0])
        return any(user.operands[k] is operand for k in read)
    entry = table.get(user.opcode)
    if not isinstance(entry, WholeArray):
        return False
    if entry.in_memory is None:
        return True
    return any(user.operands[i] is operand for i in entry.in_memory)


@lru_cache(maxsize=256)
def _parameters_in_memory(table: Table, computation: Computation) -> frozenset[int]:
    """The parameters of a fusion that must be in memory: outputs, and operands of kernels."""
    outputs = _outputs(computation.root, _RENAMING)
    read = {o for i in computation.instructions for o in i.operands if _reads_memory(table, i, o)}
    indices = [p for p in computation.parameters if p in outputs or p in read]
    return frozenset(computation.parameters.index(p) for p in indices)
