"""The cost of an instruction: operations, transcendental operations, and bytes per operand.

A model, not a measurement: every value is read from memory and written to it, and inside a fusion
nothing is but what goes in and comes out. Fusion passes and reports compare such numbers.

References
----------
XLA, `xla/service/hlo_cost_analysis.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.opcode import FORWARDING, GIVEN, SEQUENTIAL, TRANSCENDENTAL, TUPLES, having
from hlo.support.memo import callees_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hlo.instruction import Computation, Instruction, Module

# Their value is memory that is there already, or a number in the code.
FREE = GIVEN | TUPLES | FORWARDING | having("device_number") | {"after-all", "bitcast"}
# These read no more of their first operand than they yield.
_SLICING = having("slicing")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one run of an instruction.

    Attributes
    ----------
    flops : arithmetic operations, comparisons among them; a multiplication with an addition is two.
    transcendentals : operations such as `exp`, which take many times as long.
    bytes_read : from each operand, in order.
    bytes_written : of the result.
    """

    flops: int = 0
    transcendentals: int = 0
    bytes_read: tuple[int, ...] = ()
    bytes_written: int = 0

    @property
    def bytes_accessed(self) -> int:
        """Bytes read and written."""
        return sum(self.bytes_read) + self.bytes_written


def cost(instr: Instruction) -> Cost:
    """The cost of one run of an instruction; a loop counts one iteration, a conditional all."""
    if instr.opcode in FREE:
        return Cost(bytes_read=(0,) * len(instr.operands))
    if instr.opcode in SEQUENTIAL:
        return _called(instr)
    flops, transcendentals = operations(instr)
    read, written = _bytes(instr)
    return Cost(flops, transcendentals, read, written)


def operations(instr: Instruction) -> tuple[int, int]:
    """Flops and transcendental operations of an instruction."""
    if instr.opcode == "fusion":
        return _inside(instr.called[0])
    if instr.opcode in TRANSCENDENTAL:
        return 0, instr.shape.size
    if instr.opcode in _OPERATIONS:
        return _OPERATIONS[instr.opcode](instr)
    if instr.row.elementwise and instr.opcode != "convert":
        return instr.shape.size, 0
    return 0, 0


def _sum(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    flops = transcendentals = 0
    for more, harder in pairs:
        flops, transcendentals = flops + more, transcendentals + harder
    return flops, transcendentals


@callees_first
def _inside(computation: Computation) -> tuple[int, int]:
    return _sum(map(operations, computation.instructions))


def _times(instr: Instruction, count: int) -> tuple[int, int]:
    """`count` runs of the scalar computation that an instruction applies."""
    flops, hard = _sum(map(_inside, instr.called))
    return flops * count, hard * count


def _first(instr: Instruction) -> int:
    return next((s.size for _, s in instr.shape.leaves()), 0)


def _map(instr: Instruction) -> tuple[int, int]:
    return _times(instr, instr.shape.size)


def _reduce(instr: Instruction) -> tuple[int, int]:
    """To fold n elements into m takes n - m steps."""
    return _times(instr, max(instr.operands[0].shape.size - _first(instr), 0))


def _reduce_window(instr: Instruction) -> tuple[int, int]:
    attrs = a.Windowed.of(instr)
    return _times(instr, _first(instr) * max(prod(w.size for w in attrs.window) - 1, 0))


def _select_and_scatter(instr: Instruction) -> tuple[int, int]:
    attrs = a.Windowed.of(instr)
    return _times(instr, instr.operands[1].shape.size * prod(w.size for w in attrs.window))


def _scatter(instr: Instruction) -> tuple[int, int]:
    return _times(instr, instr.operands[-1].shape.size)


def _dot(instr: Instruction) -> tuple[int, int]:
    """A multiplication and an addition for each element and each contracted index."""
    attrs = a.DotDims.of(instr)
    dims = instr.operands[0].shape.dims
    return 2 * instr.shape.size * prod(dims[d] for d in attrs.lhs_contracting_dims), 0


def _convolution(instr: Instruction) -> tuple[int, int]:
    """Each element sums the window's elements over the input features of its group."""
    attrs = a.Convolution.of(instr)
    features = instr.operands[1].shape.dims[attrs.dim_labels.kernel_input_feature]
    return 2 * instr.shape.size * features * prod(w.size for w in attrs.window), 0


def _sort(instr: Instruction) -> tuple[int, int]:
    """About n log n comparisons."""
    size = instr.operands[0].shape.size
    return _times(instr, size * max(size - 1, 0).bit_length())


_OPERATIONS: dict[str, Callable[[Instruction], tuple[int, int]]] = {
    "convolution": _convolution,
    "dot": _dot,
    "map": _map,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "sort": _sort,
}


def _called(instr: Instruction) -> Cost:
    costs = [computation_cost(c) for c in instr.called]
    return Cost(
        sum(c.flops for c in costs),
        sum(c.transcendentals for c in costs),
        tuple(sum(c.bytes_read) for c in costs),
        sum(c.bytes_written for c in costs),
    )


@callees_first
def computation_cost(computation: Computation) -> Cost:
    """The sum over the instructions of a computation; `bytes_read` is one number."""
    costs = [cost(i) for i in computation.instructions]
    return Cost(
        sum(c.flops for c in costs),
        sum(c.transcendentals for c in costs),
        (sum(sum(c.bytes_read) for c in costs),),
        sum(c.bytes_written for c in costs),
    )


def module_cost(module: Module) -> Cost:
    """The cost of one run of a module; each loop counts as one iteration."""
    return computation_cost(module.entry)


# ------------------------------------------------------------------------ bytes


def _bytes(instr: Instruction) -> tuple[tuple[int, ...], int]:
    """Bytes read of each operand, and bytes written."""
    if instr.opcode == "fusion":
        return _fusion_bytes(instr)
    read = tuple(bytes_read_of(instr, k) for k in range(len(instr.operands)))
    return read, bytes_written_by(instr)


def bytes_read_of(user: Instruction, number: int) -> int:
    """The number of bytes that an instruction reads of one operand."""
    operand = user.operands[number]
    if operand.opcode == "constant" and operand.shape.size == 1:
        return 0  # a number in the code
    whole = operand.shape.bytes
    if user.opcode in _SLICING and number == 0:
        return min(user.shape.bytes, whole)
    if "updating" in user.row.traits and number == 0:
        # It is changed in place: a scatter reads the elements that it changes, an update none.
        updates = 0 if user.opcode == "dynamic-update-slice" else user.operands[-1].shape.bytes
        return min(updates, whole)
    return whole


def bytes_written_by(instr: Instruction) -> int:
    """The number of bytes that an instruction writes."""
    if instr.opcode == "dynamic-update-slice":
        return instr.operands[1].shape.bytes
    if instr.opcode == "scatter":
        half = len(instr.operands) // 2
        return sum(update.shape.bytes for update in instr.operands[half + 1 :])
    return instr.shape.bytes


def _fusion_bytes(instr: Instruction) -> tuple[tuple[int, ...], int]:
    """The bytes that a fusion reads: of a parameter those its users read, each byte once."""
    inner = instr.called[0]
    root = inner.root
    outputs = root.operands if root.opcode == "tuple" else (root,)
    members = [i for i in inner.instructions if i.opcode not in ("parameter", "tuple")]
    read, written = traffic(members, outputs)
    return tuple(read.get(parameter, 0) for parameter in inner.parameters), written


def traffic(
    members: Iterable[Instruction], outputs: Iterable[Instruction]
) -> tuple[dict[Instruction, int], int]:
    """Bytes that one kernel reads of everything outside of it, and bytes that it writes.

    Parameters
    ----------
    members : what it computes, each after its operands.
    outputs : whose values it stores.
    """
    inside: set[Instruction] = set()
    read: dict[Instruction, int] = {}
    for member in members:
        for number, operand in enumerate(member.operands):
            if operand not in inside:
                read[operand] = read.get(operand, 0) + bytes_read_of(member, number)
        inside.add(member)
    read = {operand: min(bytes_, operand.shape.bytes) for operand, bytes_ in read.items()}
    return read, sum(bytes_written_by(o) for o in outputs)


def kernels(module: Module) -> int:
    """The number of kernels and library calls of a module.

    Control flow has none itself; what it runs has.
    """
    seen: dict[Computation, None] = {}
    stack = [module.entry]
    count = 0
    while stack:
        computation = stack.pop()
        if computation in seen:
            continue
        seen[computation] = None
        for instr in computation.instructions:
            if instr.opcode in SEQUENTIAL:
                stack += instr.called
            elif instr.opcode not in FREE and instr.opcode != "reshape":
                count += 1
    return count
