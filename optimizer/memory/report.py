"""A buffer assignment as text, as XLA dumps it: allocations with their values, sums, and the peak.

References
----------
XLA, `BufferAssignment::ToString` and `ToVerboseString` in `xla/service/buffer_assignment.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.memory.buffer_assignment import block
from optimizer.memory.heap import peak, worst_moment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from optimizer.analysis.dataflow import Value
    from optimizer.memory.buffer_assignment import Allocation, BufferAssignment
    from optimizer.memory.buffers import Buffer

# Values that the report lists of the moment at which most bytes are needed.
AT_PEAK = 15


def report(assignment: BufferAssignment) -> str:
    """All that can be said of an assignment."""
    numbers = {value: n for n, value in enumerate(assignment.buffers.flow.values)}
    parts = ["BufferAssignment:"]
    for allocation in assignment.allocations:
        parts.append(f"allocation {allocation.index}: {_about(allocation, assignment)}")
        parts += _values(allocation, numbers)
        parts += _scratch(allocation, assignment)
    parts += ["", *_sums(assignment), "", *_peak(assignment)]
    return "\n".join(parts) + "\n"


def _about(allocation: Allocation, assignment: BufferAssignment) -> str:
    """The size of an allocation, and its use: a parameter, constant, output or temporaries."""
    words = [f"size {allocation.size}"]
    if allocation.thread_local:
        words.append(f"thread-local of %{allocation.thread_local.name}")
    if allocation.parameter is not None:
        leaves = [
            (number, index, shape)
            for number, parameter in enumerate(assignment.module.entry.parameters)
            for index, shape in parameter.shape.leaves()
        ]
        number, index, shape = leaves[allocation.parameter]
        path = ",".join(map(str, index))
        words.append(
            f"parameter {number}, shape |{shape.text_without_layout}| at ShapeIndex {{{path}}}"
        )
    if allocation.constant:
        words.append("constant")
    if allocation.output is not None:
        words.append("maybe-live-out")
    if allocation.is_temporary:
        words.append("preallocated-temp")
    return ", ".join(words) + ":"


def _values(allocation: Allocation, numbers: dict[Value, int]) -> Iterator[str]:
    for buffer, offset in allocation.buffers.items():
        for value in buffer.values:
            if value.kind == "output":
                continue
            label = f"<{numbers[value]} {value.name} @{offset}>"
            size = f"(size={value.shape.bytes},offset={offset})"
            yield f" value: {label} {size}: {value.shape} live {_spans(value)}"


def _scratch(allocation: Allocation, assignment: BufferAssignment) -> Iterator[str]:
    for instr, slice_ in assignment.scratch.items():
        if slice_.allocation is allocation:
            yield f" scratch memory: %{instr.name} (size={slice_.size},offset={slice_.offset})"


def _spans(value: Value) -> str:
    return " ".join(f"{first}-{last}" for first, last in value.live)


def _sums(assignment: BufferAssignment) -> Iterator[str]:
    kinds: dict[str, Callable[[Allocation], bool]] = {
        "parameter allocation": lambda a: a.parameter is not None,
        "constant allocation": lambda a: a.constant,
        "maybe_live_out allocation": lambda a: a.output is not None,
        "thread local allocation": lambda a: a.thread_local is not None,
        "preallocated temp allocation": lambda a: a.is_temporary,
    }
    yield "BufferAssignment stats:"
    for name, belongs in kinds.items():
        yield f"{name:>30}: {_spelled(sum(a.size for a in assignment.allocations if belongs(a)))}"
    arena = [b for a in assignment.allocations if a.is_temporary for b in a.buffers]
    least, size = peak([block(b) for b in arena]), assignment.temporary_bytes
    lost = f" ({100 * (size - least) / size:.2f}%)" if size else ""
    yield f"{'preallocated temp fragmentation':>30}: {_spelled(max(size - least, 0))}{lost}"
    total = sum(a.size for a in assignment.allocations)
    yield f"{'total allocation':>30}: {_spelled(total)}"


def in_units(size: int) -> tuple[float, str]:
    """Bytes as a number of the unit that suits them, and the unit."""
    number, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return number, unit


def _spelled(size: int) -> str:
    number, unit = in_units(size)
    return f"{size}B" if unit == "B" else f"{number:.2f}{unit} ({size}B)"


def _peak(assignment: BufferAssignment) -> Iterator[str]:
    """The values at the moment at which temporaries take most bytes."""
    moment, alive = at_peak(assignment)
    order = assignment.buffers.flow.timeline
    where = next((i for i in order.order if order.time[i] >= moment), None)
    total = sum(b.bytes for b, _ in alive)
    yield f"Peak of temporaries: {_spelled(total)}, at %{where.name if where else ''}"
    for number, (buffer, value) in enumerate(alive[:AT_PEAK], 1):
        name = f"%{value.name}, {value.instruction.opcode}"
        yield f"  buffer {number}: {_spelled(buffer.bytes)}, {name}, {value.shape}"
    if len(alive) > AT_PEAK:
        yield f"  and {len(alive) - AT_PEAK} more"
    # This is the peak that rematerialization makes smaller.
    moment, size = worst_moment([block(b) for b in assignment.buffers if not b.fixed])
    where = next((i for i in order.order if order.time[i] >= moment), None)
    name = where.name if where else ""
    yield f"Peak of temporaries and results: {_spelled(size)}, at %{name} (moment {moment})"


def at_peak(assignment: BufferAssignment) -> tuple[int, list[tuple[Buffer, Value]]]:
    """A moment at which temporaries take most bytes, and the buffers then, by size."""
    arena = [b for a in assignment.allocations if a.is_temporary for b in a.buffers]
    worst, _ = worst_moment([block(b) for b in arena])
    alive: list[tuple[Buffer, Value]] = []
    for buffer in arena:
        staying = [value for first, last, value in buffer.stays if first <= worst <= last]
        if staying:
            alive.append((buffer, staying[0]))
    return worst, sorted(alive, key=lambda pair: -pair[0].bytes)
