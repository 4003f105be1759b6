"""A picture of an assignment: across, when each value is needed; upwards, where it lies."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from zlib import crc32

from optimizer.memory.report import at_peak

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optimizer.analysis.dataflow import Value
    from optimizer.memory.buffer_assignment import Allocation, BufferAssignment
    from optimizer.memory.buffers import Buffer

# Sizes in pixels.
WIDTH, HEIGHT = 1100, 560
LEFT, TOP, BOTTOM = 90, 46, 40
_LETTER, _LINE = 6.2, 11
_STYLE = (
    "text{font:11px sans-serif;fill:#222}.small{font-size:10px}.axis{stroke:#888}"
    "rect{stroke:#fff;stroke-width:.5}rect.bar:hover{stroke:#000;stroke-width:1.5}"
    ".peak{stroke:#c00;stroke-dasharray:4 3}"
)


def picture(assignment: BufferAssignment) -> str:
    """An SVG file of the arena of temporaries, or of the results' memory where there is no arena.

    Bars of one opcode have one colour; pointing at a bar tells its name, shape, bytes and moments.
    """
    arena = next((a for a in assignment.allocations if a.is_temporary and a.size), None)
    shown = arena or max(assignment.allocations, key=lambda a: a.size, default=None)
    body = list(_bars(shown, assignment)) if shown else []
    lines = "\n".join([*_frame(shown, assignment), *body])
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fafafa"/>\n{lines}\n</svg>\n'
    )


def _across(moment: float, assignment: BufferAssignment) -> float:
    moments = max(assignment.buffers.flow.timeline.last.values()) + 2
    return LEFT + (WIDTH - LEFT - 20) * moment / moments


def _up(address: float, allocation: Allocation) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * address / max(allocation.size, 1)


def _frame(allocation: Allocation | None, assignment: BufferAssignment) -> Iterator[str]:
    """Title and axes."""
    name = _text(assignment.module.name)
    if allocation is None:
        yield f'<text x="{LEFT}" y="20">{name}: no memory</text>'
        return
    what = "temporaries" if allocation.is_temporary else f"allocation {allocation.index}"
    yield f'<text x="{LEFT}" y="20">{name}: {what}, {allocation.size:,} bytes</text>'
    right, base = WIDTH - 20, HEIGHT - BOTTOM
    yield f'<line class="axis" x1="{LEFT}" y1="{base}" x2="{right}" y2="{base}"/>'
    yield f'<line class="axis" x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{base}"/>'
    for part in range(5):
        address = allocation.size * part // 4
        y = _up(address, allocation) + 4
        yield f'<text class="small" text-anchor="end" x="{LEFT - 6}" y="{y:.1f}">{address:,}</text>'
    about = "instructions in the order in which they run"
    yield f'<text class="small" x="{LEFT}" y="{base + 28}">{about}</text>'
    if allocation.is_temporary:
        moment, _ = at_peak(assignment)
        x = _across(moment + 0.5, assignment)
        yield f'<line class="peak" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{base}"/>'
        yield f'<text class="small" x="{x + 3:.1f}" y="{TOP - 4}">peak</text>'


def _bars(allocation: Allocation, assignment: BufferAssignment) -> Iterator[str]:
    for buffer, offset in allocation.buffers.items():
        for first, last, value in buffer.stays:
            if buffer.bytes and value.kind != "output":
                yield _bar(allocation, assignment, buffer, offset, first, last, value)


def _bar(
    allocation: Allocation, assignment: BufferAssignment, buffer: Buffer, offset: int,
    first: int, last: int, value: Value,
) -> str:  # fmt: skip
    """One stay of a value in its buffer."""
    x, end = _across(first, assignment), _across(last + 1, assignment)
    y, bottom = _up(offset + buffer.bytes, allocation), _up(offset, allocation)
    width, height = max(end - x, 1.0), max(bottom - y, 0.6)
    hue = crc32(value.instruction.opcode.encode()) % 360
    told = f"%{value.name} = {value.shape} {value.instruction.opcode}"
    told += f"\nbytes {offset:,} to {offset + buffer.bytes:,}, moments {first} to {last}"
    bar = (
        f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="hsl({hue},55%,72%)"><title>{_text(told)}</title></rect>'
    )
    letters = int(width / _LETTER) - 1
    if height < _LINE or letters < 3:
        return bar
    label = value.name if len(value.name) <= letters else value.name[: letters - 1] + "…"
    middle = y + height / 2 + 3.5
    return f'{bar}<text class="small" x="{x + 3:.1f}" y="{middle:.1f}">{_text(label)}</text>'


def _text(text: str) -> str:
    """What may stand in a file of XML: names of HLO may hold anything."""
    return escape("".join(c if c.isprintable() or c == "\n" else "?" for c in text))
