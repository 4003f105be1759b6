"""The parts of a graph that are compiled, and the operations between them that torch runs.

Each operation gets the number of a segment: one that is compiled runs in the first segment in which
all that it needs is there. What torch runs is run after the compiled part of its segment, in the
graph's order, so that random numbers are drawn as eager torch draws them. Draws that depend on
nothing come before the first compiled part. So there are no circles, and few parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hlo_torch.private import Node


@dataclass(slots=True)
class GraphSegment:
    """A part that is compiled, and the operations after it that torch runs."""

    compiled: list[Node] = field(default_factory=list[Any])
    eager: list[Node] = field(default_factory=list[Any])


def divide(nodes: Iterable[Node], is_compiled: Callable[[Node], bool]) -> list[GraphSegment]:
    """Operations as segments, in the order in which they run.

    Parameters
    ----------
    nodes : all that a graph calls, in its order.
    """
    number: dict[Node, int] = {}
    by_torch: set[Node] = set()
    found: dict[int, GraphSegment] = {}
    last = -1  # of what torch runs, which stays in order
    for node in nodes:
        needed = [n for n in node.all_input_nodes if n in number]
        compiled = is_compiled(node)
        at = max((number[n] + (compiled and n in by_torch) for n in needed), default=-1)
        if compiled:
            at = max(at, 0)
        else:
            at = last = max(at, last)
            by_torch.add(node)
        number[node] = at
        segment = found.setdefault(at, GraphSegment())
        (segment.compiled if compiled else segment.eager).append(node)
    return [found[at] for at in sorted(found)]


def used_later(nodes: Iterable[Node], inside: set[Any]) -> list[Node]:
    """The nodes whose values others use than those inside."""
    return [node for node in nodes if any(user not in inside for user in node.users)]
