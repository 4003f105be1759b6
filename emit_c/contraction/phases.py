"""One spatial dimension of a convolution, without the holes of a dilated base.

A base that is dilated by d has d - 1 holes between neighbours. At one position of the output only
every so many elements of the window meet an element; which ones repeats after some positions. So
the positions are cut into phases, and inside a phase there are no holes: positions and window
elements are reached in equal steps through the base. Without dilation there is one phase, which
is all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.types.values import WindowDim


@dataclass(frozen=True, slots=True)
class Phase:
    """Positions of the output that meet the same elements of the window.

    Position `first_position + position_step * i` and window element `first_tap + tap_step * j` meet
    element `start + position_stride * i + tap_stride * j` of the base, which may lie outside of it.

    Attributes
    ----------
    positions, taps : how many there are of each.
    """

    first_position: int
    position_step: int
    positions: int
    first_tap: int
    tap_step: int
    taps: int
    start: int
    position_stride: int
    tap_stride: int

    @property
    def low(self) -> int:
        """The first element of the base that is met."""
        return self.start

    @property
    def high(self) -> int:
        """The last element of the base that is met."""
        return (
            self.start
            + (self.positions - 1) * self.position_stride
            + (self.taps - 1) * self.tap_stride
        )


def phases(window: WindowDim, positions: int) -> list[Phase]:
    """The phases of a dimension of the output.

    At position o, window element t is over element o * stride + t * window_dilation - pad_low of
    the dilated base; it is no hole if the base dilation divides that.
    """
    dilation = window.base_dilation
    period = dilation // gcd(dilation, window.stride)
    tap_period = dilation // gcd(dilation, window.window_dilation)
    phases_found: list[Phase] = []
    for first in range(min(period, positions)):
        position = first * window.stride - window.pad_low
        met = (
            t
            for t in range(min(tap_period, window.size))
            if (position + t * window.window_dilation) % dilation == 0
        )
        tap = next(met, None)
        phases_found.append(
            Phase(
                first_position=first,
                position_step=period,
                positions=len(range(first, positions, period)),
                first_tap=tap or 0,
                tap_step=tap_period,
                taps=0 if tap is None else len(range(tap, window.size, tap_period)),
                start=0 if tap is None else (position + tap * window.window_dilation) // dilation,
                position_stride=period * window.stride // dilation,
                tap_stride=tap_period * window.window_dilation // dilation,
            )
        )
    return phases_found
