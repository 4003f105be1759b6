"""Devices and their links: how long messages take that are sent at the same time.

    ring            torus:2x4             tree:4x2

    0 - 1 - 2       0 - 1 - 2 - 3         .--- . ---.
    |       |       |   |   |   |       .-.-.-.   .-.-.-.
    5 - 4 - 3       4 - 5 - 6 - 7       0 1 2 3   4 5 6 7

Messages take the shortest way; in a torus, one dimension after the other. Those that need the same
link share it. So a round of messages takes the latency of the longest way, and the bytes of the
busiest link at its bandwidth. Links go both ways at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[Any]

KINDS = ("ring", "torus", "tree")
_TEXT = re.compile(r"(ring|torus|tree)(?::(\d+(?:x\d+)*))?")


@dataclass(frozen=True, slots=True)
class Topology:
    """Devices that links connect.

    Attributes
    ----------
    kind : "torus", of any number of dimensions, or "tree", whose leaves are the devices.
    dims : of a torus, the devices along each dimension; of a tree, the children of each node, those
        of the switches above devices first.
    bandwidth : bytes a second of each link, in each direction.
    latency : seconds until the first byte has passed a link.
    """

    kind: str
    dims: tuple[int, ...]
    bandwidth: float
    latency: float

    @property
    def devices(self) -> int:
        """The number of devices."""
        return prod(self.dims)

    def __str__(self) -> str:
        """The text that `topology_of` reads."""
        if self.kind == "torus" and len(self.dims) == 1:
            return "ring"
        return f"{self.kind}:{'x'.join(map(str, self.dims))}"

    def load(self, sources: Numbers, targets: Numbers) -> tuple[int, int]:
        """The messages on the busiest link, and the links of the longest way.

        Parameters
        ----------
        sources, targets : the devices of each message.
        """
        away = sources != targets
        if not away.any():
            return 0, 0
        if self.kind == "tree":
            return self._tree(sources[away], targets[away])
        return self._torus(sources[away], targets[away])

    def _torus(self, sources: Numbers, targets: Numbers) -> tuple[int, int]:
        here = [*np.unravel_index(sources, self.dims)]
        there = np.unravel_index(targets, self.dims)
        busiest, hops = 0, np.zeros(len(sources), np.int64)
        for dim, size in enumerate(self.dims):
            forward = (there[dim] - here[dim]) % size
            backward = (size - forward) % size
            others = [n for n in range(len(self.dims)) if n != dim]
            line = np.zeros(len(sources), np.int64)
            for n in others:
                line = line * self.dims[n] + here[n]
            right = forward <= backward
            for chosen, steps, first in (
                (right, forward, here[dim]),
                (~right, backward, there[dim]),
            ):
                if chosen.any():
                    busiest = max(busiest, _overlap(
                        line[chosen], first[chosen], steps[chosen], self.devices // size, size
                    ))  # fmt: skip
            hops += np.minimum(forward, backward)
            here[dim] = there[dim]
        return busiest, int(hops.max())

    def _tree(self, sources: Numbers, targets: Numbers) -> tuple[int, int]:
        busiest, hops, below = 0, 0, 1
        for children in self.dims:
            here, there = sources // below, targets // below
            apart = here != there
            if not apart.any():
                break
            hops += 2
            for ends in (here, there):
                busiest = max(busiest, int(np.bincount(ends[apart]).max()))
            below *= children
        return busiest, hops


def _overlap(line: Numbers, first: Numbers, steps: Numbers, lines: int, size: int) -> int:
    """The most ways over one link of some rings, of ways of some steps from a first device on."""
    width = 2 * size + 1
    changes = np.bincount(line * width + first, minlength=lines * width)
    changes -= np.bincount(line * width + first + steps, minlength=lines * width)
    over = changes.reshape(lines, width).cumsum(axis=1)
    # What passes the end of the line begins it again.
    return int((over[:, :size] + over[:, size : 2 * size]).max())


def topology_of(text: str, devices: int, bandwidth: float, latency: float) -> Topology:
    """The links that a text names: `ring`, `torus:4x8`, `tree` (of two children), `tree:8x4`.

    Raises
    ------
    HloError
        HLO204 if the text names none, or one of another number of devices.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        notes = ["say ring, torus:4x8, tree (two children for each switch) or tree:8x4"]
        raise HloError("HLO204", f"there is no topology `{text}`", notes=notes)
    kind, sizes = found.groups()
    dims = tuple(map(int, sizes.split("x"))) if sizes else ()
    if not dims:
        dims = (devices,)
        if kind == "tree":
            dims = (2,) * max((devices - 1).bit_length(), 1)
        elif kind == "torus":
            dims = _square(devices)
    few = prod(dims) != devices if kind != "tree" else prod(dims) < devices
    if few or 0 in dims or (kind == "ring" and len(dims) > 1):
        message = f"the topology `{text}` is not one of {devices} devices"
        notes = [f"for instance torus:{'x'.join(map(str, _square(devices)))}"]
        raise HloError("HLO204", message, notes=notes)
    return Topology("tree" if kind == "tree" else "torus", dims, bandwidth, latency)


def _square(devices: int) -> tuple[int, ...]:
    """Two factors of a number, as near to each other as there are."""
    first = next(n for n in range(int(devices**0.5), 0, -1) if devices % n == 0)
    return (first, devices // first) if first > 1 else (devices,)
