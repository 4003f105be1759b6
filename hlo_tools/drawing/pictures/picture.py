"""Draws a buffer assignment: time to the right, addresses upwards.

Three panels above each other: how many bytes of the arena are in use, what lies at which of its
addresses, and what lies where the results will be until they are there. Only instructions that
read or make something take room on the line of time.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING

from hlo.wording import counted
from hlo_tools.drawing.pictures.families import COLOURS
from hlo_tools.drawing.pictures.palette import STYLE, kind_of, spelled, tag, text
from optimizer.analysis.cost import FREE
from optimizer.memory.report import at_peak

if TYPE_CHECKING:
    from collections.abc import Iterator

    from optimizer.analysis.dataflow import Value
    from optimizer.memory.buffer_assignment import Allocation, BufferAssignment
    from optimizer.memory.buffers import Buffer

# Sizes in pixels.
WIDTH, LEFT, RIGHT = 1200, 92, 24
HEAD, GAP, FOOT = 64, 34, 62
USE, PANELS = 64, 550
# A panel has at least this share of the height, however few bytes it shows.
_LEAST_SHARE = 0.27
_LETTER, _LINE = 6.0, 11
# A panel has so many lines with sizes, at most.
_TICKS = 5


@dataclass(frozen=True)
class Panel:
    """Part of the picture, with addresses upwards.

    Attributes
    ----------
    base : the address at which each allocation begins, as if all lay one after the other.
    """

    title: str
    base: dict[Allocation, int]
    top: int
    height: int

    @property
    def size(self) -> int:
        """Bytes of all allocations."""
        return sum(allocation.size for allocation in self.base)

    def up(self, address: float) -> float:
        """The height of an address in the picture."""
        return self.top + self.height * (1 - address / max(self.size, 1))


def picture(assignment: BufferAssignment) -> str:
    """An SVG file of the arena of temporaries, and of the results' memory.

    Colours tell what makes a value; pointing at a bar tells its name, shape, bytes and moments.
    """
    return _MemoryPicture(assignment).drawn()


class _MemoryPicture:
    """One assignment on its way to a picture."""

    def __init__(self, assignment: BufferAssignment) -> None:
        self.assignment = assignment
        line = assignment.buffers.flow.timeline
        self.working = [line.time[i] for i in line.order if i.opcode not in FREE]
        self.panels: list[Panel] = []
        top = HEAD + USE + GAP
        allocations = [a for a in assignment.allocations if a.size]
        shown = {
            "temporaries": [a for a in allocations if a.is_temporary],
            "results": [a for a in allocations if a.output is not None],
        }
        total = sum(a.size for chosen in shown.values() for a in chosen)
        for title, chosen in shown.items():
            if chosen:
                starts = list(accumulate((a.size for a in chosen), initial=0))
                share = (starts[-1] / total) if all(shown.values()) else 1 - _LEAST_SHARE
                height = int(PANELS * min(max(share, _LEAST_SHARE), 1 - _LEAST_SHARE))
                base = dict(zip(chosen, starts[:-1], strict=True))
                self.panels.append(Panel(title, base, top, height))
                top += height + GAP
        self.height = top - GAP + FOOT

    def drawn(self) -> str:
        """The whole file."""
        size = f'width="{WIDTH}" height="{self.height}" viewBox="0 0 {WIDTH} {self.height}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            f"<style>{STYLE}</style>",
            tag("rect", width=WIDTH, height=self.height, rx=8, fill="#ffffff"),
            *self.heading(),
        ]
        for panel in self.panels:
            lines += [*self.frame(panel), *self.bars(panel)]
        if self.panels:
            lines += [*self.use(), *self.legend()]
        return "\n".join([*lines, "</svg>\n"])

    def across(self, moment: int) -> float:
        """The abscissa of a moment: as far as instructions have worked before it."""
        share = bisect_left(self.working, moment) / max(len(self.working), 1)
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    # --------------------------------------------------------------- around

    def heading(self) -> Iterator[str]:
        """The lines of the module's name, and of the sums of its memory."""
        name = self.assignment.module.name
        yield text(LEFT, 28, name, "title")
        if not self.panels:
            yield text(LEFT, 48, "no memory")
            return
        sums = [f"{panel.title} {spelled(panel.size)}" for panel in self.panels]
        yield text(
            LEFT, 48, ", ".join([*sums, f"{counted(len(self.working), 'instruction')} at work"])
        )

    def frame(self, panel: Panel) -> Iterator[str]:
        """Title and sizes of a panel."""
        before = ", and what lies in their memory before" if panel.title == "results" else ""
        yield text(LEFT, panel.top - 8, panel.title + before, "strong")
        step = 1
        while step * _TICKS < panel.size:
            step *= 2
        for address in (*range(0, panel.size - step // 2, step), panel.size):
            y = panel.up(address)
            yield tag("line", "grid", x1=LEFT, y1=y, x2=WIDTH - RIGHT, y2=y)
            yield text(LEFT - 8, y + 4, spelled(address), "end")

    def use(self) -> Iterator[str]:
        """The bytes of the arena that are in use at each moment, and where they are most."""
        arena = self.panels[0]
        if arena.title != "temporaries":
            return
        moment, alive = at_peak(self.assignment)
        most = sum(b.bytes for b, _ in alive)
        used = [0] * (len(self.working) + 1)
        for allocation in arena.base:
            for buffer in allocation.buffers:
                for first, last, _ in buffer.stays:
                    left, right = (bisect_left(self.working, t) for t in (first, last + 1))
                    for column in range(left, right):
                        used[column] += buffer.bytes
        wide, base = (WIDTH - LEFT - RIGHT) / max(len(self.working), 1), HEAD + USE
        steps = [f"M{LEFT},{base}"]
        for column, bytes_ in enumerate(used[:-1]):
            y = base - (USE - 12) * min(bytes_ / max(most, 1), 1)
            steps.append(f"V{y:.1f}H{LEFT + wide * (column + 1):.1f}")
        yield tag("path", "use", d="".join([*steps, f"V{base}Z"]))
        x = self.across(moment) + wide / 2
        bottom = self.panels[-1].top + self.panels[-1].height
        yield tag("line", "peak", x1=x, y1=HEAD + 2, x2=x, y2=bottom)
        label, turned = f"peak: {spelled(most)}", x > WIDTH - 200
        yield text(x - 6 if turned else x + 6, HEAD + 10, label, "end red" if turned else "red")
        yield text(LEFT - 8, base, "in use", "end")

    def legend(self) -> Iterator[str]:
        """The legend of the colours."""
        bottom = self.height - FOOT
        yield text(LEFT, bottom + 22, "instructions in the order in which they run", "small")
        x = LEFT
        for kind, colour in COLOURS.items():
            yield tag("rect", x=x, y=bottom + 34, width=12, height=12, rx=2, fill=colour)
            yield text(x + 17, bottom + 44, kind)
            x += 34 + int(len(kind) * _LETTER)

    # ----------------------------------------------------------------- bars

    def bars(self, panel: Panel) -> Iterator[str]:
        """All stays of all values in a panel."""
        for allocation, base in panel.base.items():
            for buffer, offset in allocation.buffers.items():
                stays = [s for s in buffer.stays if buffer.bytes and s[2].kind != "output"]
                # The next value may come while the last one is read, and then covers it.
                starts = [first for first, _, _ in stays[1:]]
                for (first, last, value), covered in zip_longest(stays, starts):
                    span = (first, last, last + 1 if covered is None else min(last + 1, covered))
                    yield self.bar(panel, buffer, base + offset, span, value)

    def bar(
        self, panel: Panel, buffer: Buffer, start: int, span: tuple[int, int, int], value: Value
    ) -> str:
        """The bar of a value in its buffer: its live range, and how far the bar is visible."""
        x, end = self.across(span[0]), self.across(span[1] + 1)
        y, bottom = panel.up(start + buffer.bytes), panel.up(start)
        width, height = max(end - x, 0.1), max(bottom - y, 0.1)
        tooltip = (
            f"%{value.name} = {value.shape} {value.instruction.opcode}\n{spelled(buffer.bytes)}, "
            f"bytes {start:,} to {start + buffer.bytes:,}, moments {span[0]} to {span[1]}"
        )
        fill = COLOURS[kind_of(value)]
        box = {"x": x, "y": y, "width": width, "height": height}
        bar = tag("rect", "bar", tooltip, fill=fill, **box)
        return bar + _label(value.name, x, y, self.across(span[2]) - x, height)


def _label(name: str, x: float, y: float, width: float, height: float) -> str:
    """The name in a bar, along its longer side, as far as there is room."""
    along = max(width, height) if min(width, height) >= _LINE else 0
    letters = int((along - 6) / _LETTER)
    if letters < 4:
        return ""
    label = name if len(name) <= letters else name[: letters - 1] + "…"
    middle_x, middle_y = x + width / 2, y + height / 2
    turn = {} if width >= height else {"transform": f"rotate(-90 {middle_x:.1f} {middle_y:.1f})"}
    return text(middle_x, middle_y + 3.5, label, "middle small", **turn)
