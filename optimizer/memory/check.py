"""Proves of an assignment that nothing is overwritten that is still to be read.

It knows nothing of live ranges, nor of how the assignment came about: it runs the module on a
memory in which every byte holds no number but a *mark*, which says whose byte it is. An instruction
must find its operands' marks where they are said to lie, and leaves its own. Both branches of a
conditional run, and loops run twice, since the first iteration begins with the initial state and
every later one with what an iteration has left; so what holds here holds for every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.opcode import GIVEN, SEQUENTIAL
from optimizer.analysis.dataflow import COLLECTIVE_ENDS, COLLECTIVE_STARTS, operands_shown
from optimizer.memory.marks import MarkedMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from optimizer.memory.buffer_assignment import AllocationSlice, BufferAssignment
    from optimizer.memory.marks import Mark

# The mark that must lie in a slice when a leaf is read: none for a token, several for a value that
# is computed anew wherever it is used.
Leaf = tuple[tuple["AllocationSlice", "Mark"], ...]
Leaves = tuple[Leaf, ...]


def check(assignment: BufferAssignment) -> None:
    """Prove an assignment.

    Raises
    ------
    HloError
        HLO172, naming an instruction that would read or write what it must not.
    """
    Checker(assignment).run()


class Checker:
    """One run of a module over marks."""

    def __init__(self, assignment: BufferAssignment) -> None:
        self.assignment, self.info = assignment, assignment.buffers.info
        self.memory = MarkedMemory()
        self.shown: dict[Instruction, Leaves] = {}

    def run(self) -> None:
        """Run all of it."""
        module = self.assignment.module
        for computation in module.computations:
            for instr in computation.instructions:
                if instr.opcode == "constant" and instr in self.assignment.buffers.flow.at:
                    self.shown[instr] = self._marked(instr)
        arguments = [self._marked(p) for p in module.entry.parameters]
        results = self._computation(module.entry, arguments)
        for number, leaf in enumerate(results):
            self._read(module.entry.root, leaf)
            for piece, _ in leaf:
                if piece.allocation.output != number or piece.offset:
                    self._fail(module.entry.root, f"result {number} does not lie in its output")

    def _fail(self, instr: Instruction, problem: str) -> None:
        raise HloError("HLO172", f"%{instr.name}: {problem}", instr.span)

    def _slices(self, instr: Instruction) -> list[AllocationSlice | None]:
        count = sum(1 for _ in instr.shape.leaves())
        return [self.assignment.slice(instr, n) for n in range(count)]

    def _marked(self, instr: Instruction, skipped: range = range(0)) -> Leaves:
        """New marks where an instruction's value lies, save some leaves."""
        leaves: list[Leaf] = []
        for number, piece in enumerate(self._slices(instr)):
            mark = object()
            if piece and number not in skipped:
                self.memory.write(piece, mark)
            leaves.append(((piece, mark),) if piece else ())
        return tuple(leaves)

    def _read(self, reader: Instruction, *leaves: Leaf) -> None:
        """Check that the operands of an instruction are not overwritten yet."""
        for leaf in leaves:
            for piece, mark in leaf:
                if not self.memory.holds(piece, mark):
                    end = piece.offset + piece.size
                    where = f"bytes {piece.offset} to {end} of allocation {piece.allocation.index}"
                    self._fail(reader, f"what it reads in {where} was overwritten")

    def _computation(self, computation: Computation, arguments: Sequence[Leaves]) -> Leaves:
        for parameter, leaves in zip(computation.parameters, arguments, strict=True):
            self._show(parameter, leaves)
        for instr in computation.instructions:
            if instr.opcode not in GIVEN:
                self._show(instr, self._run(instr))
        return self.shown[computation.root]

    def _show(self, instr: Instruction, leaves: Leaves) -> None:
        """Remember the value of an instruction, which must lie where it is said to lie."""
        for number, (piece, leaf) in enumerate(zip(self._slices(instr), leaves, strict=True)):
            if piece and len(leaf) == 1 and leaf[0][0] != piece:
                self._fail(instr, f"leaf {number} is not where its value is")
        self.shown[instr] = leaves

    def _run(self, instr: Instruction) -> Leaves:
        operands = [self.shown[o] for o in instr.operands]
        flat = [leaf for leaves in operands for leaf in leaves]
        if instr.opcode in SEQUENTIAL or "async" in instr.row.traits:
            return self._control(instr, operands, flat)
        if instr.opcode == "get-tuple-element":
            attrs = a.GetTupleElement.of(instr)
            return self._element(instr.operands[0], attrs.index)
        if self.info.forwards(instr):
            return tuple(flat) if instr.opcode == "tuple" else operands[0]
        if instr in self.info.recomputed:
            return (tuple(pair for leaf in flat for pair in leaf),)
        self._read(instr, *flat)
        self._see_what_it_writes(instr, operands)
        return self._marked(instr)

    def _control(self, instr: Instruction, operands: list[Leaves], flat: list[Leaf]) -> Leaves:
        if instr.opcode == "while":
            return self._while(instr, operands[0])
        if instr.opcode == "conditional":
            return self._conditional(instr, operands)
        if instr.opcode == "call":
            return self._computation(instr.called[0], operands)
        if instr.opcode in COLLECTIVE_STARTS | COLLECTIVE_ENDS:
            return self._collective(instr, operands, flat)
        return self._asynchronous(instr, operands, flat)

    def _element(self, instr: Instruction, index: int) -> Leaves:
        counts = [sum(1 for _ in e.leaves()) for e in instr.shape.elements]
        start = sum(counts[:index])
        return self.shown[instr][start : start + counts[index]]

    def _asynchronous(self, instr: Instruction, operands: list[Leaves], flat: list[Leaf]) -> Leaves:
        """The work is done at the start; its operands must be there until it is waited for."""
        self._read(instr, *flat)
        if instr.opcode in ("async-done", "copy-done"):
            return self._element(instr.operands[0], int(instr.opcode == "async-done"))
        if instr.opcode == "async-update":
            return operands[0]
        if instr.opcode == "async-start":
            known = (*flat, *self._computation(instr.called[0], operands))
            return (*known, *self._marked(instr, skipped=range(len(known)))[len(known) :])
        if instr.opcode == "copy-start":
            count = len(flat)
            leaves = self._marked(instr, skipped=range(count, 2 * count))
            return (*leaves[:count], *flat, *leaves[2 * count :])
        self._see_what_it_writes(instr, operands)
        return self._marked(instr)

    def _collective(self, instr: Instruction, operands: list[Leaves], flat: list[Leaf]) -> Leaves:
        """The arrays of a collective's start must be there until its end, which has the results."""
        self._read(instr, *flat)
        if instr.opcode in COLLECTIVE_STARTS:
            before = operands_shown(instr)
            leaves = self._marked(instr, skipped=range(before))
            return (*flat[:before], *leaves[before:])
        start = instr.operands[0]
        self._read(instr, *(leaf for o in start.operands for leaf in self.shown[o]))
        return self._element(start, 1) if operands_shown(start) else operands[0]

    # ------------------------------------------------------------- control flow

    def _while(self, instr: Instruction, state: Leaves) -> Leaves:
        """Check no iteration and two: the state that one leaves is that of the next."""
        condition, body = instr.called
        self._read(condition.root, *self._computation(condition, [state]))
        ends = [(self.memory.copy(), state)]
        for _ in range(2):
            state = self._computation(body, [state])
            self._show(instr, state)
            self._read(condition.root, *self._computation(condition, [state]))
        return self._joined([*ends, (self.memory, state)])

    def _conditional(self, instr: Instruction, operands: list[Leaves]) -> Leaves:
        self._read(instr, *operands[0])
        before = self.memory
        ends: list[tuple[MarkedMemory, Leaves]] = []
        for branch, operand in zip(instr.called, operands[1:], strict=True):
            self.memory = before.copy()
            leaves = self._computation(branch, [operand])
            self._show(instr, leaves)
            ends.append((self.memory, leaves))
        return self._joined(ends)

    def _joined(self, ends: list[tuple[MarkedMemory, Leaves]]) -> Leaves:
        """Go on with the marks common to all branches' ends; a leaf that differs gets a new one.

        It gets it where all ends have it: who reads it elsewhere will miss it.
        """
        self.memory = ends[0][0].copy()
        for memory, _ in ends[1:]:
            self.memory.keep_common(memory)
        chosen: list[Leaf] = []
        for leaves in zip(*(leaves for _, leaves in ends), strict=True):
            leaf = leaves[0]
            if any(other != leaf for other in leaves):
                (piece, _), mark = leaf[0], object()
                if all(m.holds(*own[0]) for (m, _), own in zip(ends, leaves, strict=True)):
                    self.memory.write(piece, mark)
                leaf = ((piece, mark),)
            chosen.append(leaf)
        return tuple(chosen)

    # ------------------------------------------------------------------ writing

    def _see_what_it_writes(self, instr: Instruction, operands: list[Leaves]) -> None:
        """Hold where an instruction writes against the rules, and against where it reads."""
        results = self._slices(instr)
        scratch = self.assignment.scratch.get(instr)
        written = [p for p in (*results, scratch) if p]
        for number, piece in enumerate(written):
            kind = piece.allocation
            if kind.constant or (kind.parameter is not None and kind.output is None):
                self._fail(instr, "it writes to a constant, or to a parameter that is not donated")
            if any(piece.overlaps(other) for other in written[:number]):
                self._fail(instr, "two of its results share bytes")
        for number, leaves in enumerate(operands):
            for leaf_number, leaf in enumerate(leaves):
                for read, _ in leaf:
                    over = [n for n, p in enumerate(results) if p and p.overlaps(read)]
                    allowed = all(
                        results[n] == read and self._may(instr, number, leaf_number, n)
                        for n in over
                    )
                    if not allowed or (over and len(leaf) > 1):
                        self._fail(instr, f"it writes over operand {number}")
                    if scratch and scratch.overlaps(read):
                        self._fail(instr, f"its scratch memory shares bytes with operand {number}")
        if scratch:
            self.memory.write(scratch, object())

    def _may(self, instr: Instruction, operand: int, leaf: int, result: int) -> bool:
        """Whether the rules allow a result where an operand is."""
        if (operand, leaf, result) in self.info.must_share(instr):
            return True
        return self.info.may_share(instr, operand, result)
