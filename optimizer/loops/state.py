"""A loop over a tuple: what each element of the state is at first, and what it becomes.

    init = (s32[], f32[4]) tuple(zero, x)
    ROOT w = (s32[], f32[4]) while(init), condition=cond, body=body

Most passes over loops look at single elements of the state, take some away, or add some. They do it
with what is here, and only for loops that take their state apart element by element.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from hlo.support.memo import remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.attributes.annotations import Annotations
    from hlo.instruction import Computation, Instruction


@dataclass(frozen=True)
class Loop:
    """A while whose state is a tuple that condition and body only take elements of.

    Attributes
    ----------
    instr : the while.
    next : what each element becomes: the operands of the body's root, which is a tuple.
    """

    instr: Instruction
    next: tuple[Instruction, ...]

    @property
    def condition(self) -> Computation:
        """The condition of the loop."""
        return self.instr.called[0]

    @property
    def body(self) -> Computation:
        """The next state, from the state."""
        return self.instr.called[1]

    @property
    def size(self) -> int:
        """The number of elements of the state."""
        return len(self.next)

    def initial(self, i: int) -> Instruction | None:
        """The initial value of an element; None if no tuple here has it."""
        init = self.instr.operands[0]
        return init.operands[i] if init.opcode == "tuple" else None

    def is_invariant(self, i: int) -> bool:
        """Whether the body passes an element on as it is."""
        return element_of(self.next[i], self.body.parameters[0]) == i


def loop_of(instr: Instruction) -> Loop | None:
    """A while, element by element; None for other instructions and for loops of another form."""
    if instr.opcode != "while" or not instr.shape.is_tuple:
        return None
    _, body = instr.called
    if body.root.opcode != "tuple" or not all(map(is_taken_apart, instr.called)):
        return None
    return Loop(instr, body.root.operands)


@remembered
def is_taken_apart(computation: Computation) -> bool:
    """Whether the only use of a computation's one parameter is to take elements of it."""
    state = computation.parameters[0]
    return computation.root is not state and all(
        i.opcode == "get-tuple-element" for i in computation.instructions if state in i.operands
    )


def element_of(instr: Instruction, whole: Instruction) -> int | None:
    """The element of a tuple that an instruction takes; None if it does something else."""
    if instr.opcode != "get-tuple-element" or instr.operands[0] is not whole:
        return None
    return GetTupleElement.of(instr).index


@remembered
def elements_taken(computation: Computation) -> dict[Instruction, int]:
    """The instructions that take an element of the first parameter, and which one."""
    whole = computation.parameters[0]
    return {
        i: GetTupleElement.of(i).index
        for i in computation.instructions
        if i.opcode == "get-tuple-element" and i.operands[0] is whole
    }


def elements_needed(computation: Computation, wanted: Iterable[Instruction]) -> set[int]:
    """The elements of the first parameter from which some instructions are computed."""
    taken, needed = elements_taken(computation), set(wanted)
    for instr in reversed(computation.instructions):
        if instr in needed:
            needed.update(instr.operands)
    return {index for instr, index in taken.items() if instr in needed}


def elements_used(instr: Instruction, users: Sequence[Instruction], *, is_root: bool) -> set[int]:
    """The elements of a tuple that others use: all if one of them uses it as a whole.

    Parameters
    ----------
    users : of the tuple.
    is_root : it is the value of its computation.
    """
    used = [element_of(user, instr) for user in users]
    if is_root or None in used:
        return set(range(len(instr.shape.elements)))
    return {i for i in used if i is not None}


def chosen(instr: Instruction, indices: Sequence[int]) -> Annotations:
    """The annotations of a tuple that has only some of its elements left.

    The shardings of those elements stay; what is said of indices of the tuple does not.
    """
    annotations = replace(instr.annotations, backend_config="", origin="")
    sharding = annotations.sharding
    if sharding is None or sharding.kind != "tuple":
        return annotations
    leaves = [index for index, _ in instr.shape.leaves()]
    left = tuple(
        [
            element
            for i in indices
            for index, element in zip(leaves, sharding.elements, strict=False)
            if index[0] == i
        ]
    )
    return replace(annotations, sharding=replace(sharding, elements=left) if left else None)


def flat_annotations(instr: Instruction) -> Annotations:
    """The annotations of a nested tuple that is made flat: it has the same leaves."""
    return replace(instr.annotations, backend_config="", origin="")
