"""From when to when a value is needed, on the line of time of `optimizer.analysis.timeline`.

References
----------
XLA, `xla/hlo/utils/hlo_live_range.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from optimizer.analysis.timeline import Timeline

# A number on the line of time, and the computation that runs then.
Moment = tuple[int, "Computation"]
Span = tuple[int, int]


def last_iteration(timeline: Timeline, time: int, moment: Moment) -> Moment:
    """The end of the live range of a value that is read at a moment.

    A loop around the reader that is not around the maker reads the value in every iteration, so
    until it ends.
    """
    now, where = moment
    loop = timeline.loop[where]
    passed: list[tuple[int, int]] = []
    while loop and not loop.first <= time <= loop.last:
        key = (time, loop.first)
        if key in timeline.ends:
            now, where = timeline.ends[key]
            break
        passed.append(key)
        now, where = loop.last, loop.home
        loop = timeline.loop[where]
    timeline.ends.update(dict.fromkeys(passed, (now, where)))
    return now, where


def spans(timeline: Timeline, time: int, moments: Sequence[Moment]) -> list[Span]:
    """The spans from when a value is made to when it is read for the last time, in order.

    A value for which a conditional is the last reader is not needed in those of its branches that
    do not read it, nor in the others after they have.
    """
    last = max([time, *(now for now, _ in moments)])
    if not timeline.has_branches:
        return [(time, last)]
    ends = _ends_in_branches(timeline, time, moments)
    gaps: list[Span] = []
    for conditional in dict.fromkeys(timeline.site[branch] for branch in ends):
        if _is_needed_after(timeline, conditional, time, last, ends):
            continue
        for branch in conditional.called:
            first = ends[branch] + 1 if branch in ends else timeline.first[branch]
            gaps.append((first, timeline.last[branch]))
    return _without(gaps, time, last)


def _is_needed_after(
    timeline: Timeline,
    conditional: Instruction,
    time: int,
    last: int,
    ends: dict[Computation, int],
) -> bool:
    """Whether a value is read after a conditional, or after one around that."""
    around = _branch_around(timeline, timeline.home[conditional], time)
    while around and ends[around] <= timeline.time[conditional]:
        conditional = timeline.site[around]
        around = _branch_around(timeline, timeline.home[conditional], time)
    return around is not None or last > timeline.time[conditional]


def _ends_in_branches(
    timeline: Timeline, time: int, moments: Sequence[Moment]
) -> dict[Computation, int]:
    """The last moment in each branch that reads a value made before its conditional."""
    ends: dict[Computation, int] = {}
    for now, where in moments:
        branch = _branch_around(timeline, where, time)
        while branch:
            ends[branch] = max(ends.get(branch, 0), now)
            branch = _branch_around(timeline, timeline.home[timeline.site[branch]], time)
    return ends


def _branch_around(timeline: Timeline, where: Computation, time: int) -> Computation | None:
    """The innermost branch that a computation runs in, of a conditional that comes after `time`."""
    site: Instruction | None = timeline.site.get(where)
    while site and timeline.entry[site] >= time:
        if site.opcode == "conditional":
            return where
        where = timeline.home[site]
        site = timeline.site.get(where)
    return None


def _without(gaps: Sequence[Span], first: int, last: int) -> list[Span]:
    """The spans without the time between two moments."""
    left: list[Span] = []
    for start, end in sorted(gaps):
        if start > first:
            left.append((first, min(start - 1, last)))
        first = max(first, end + 1)
    return [*left, (first, last)] if first <= last else left
