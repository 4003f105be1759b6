"""Phases say the same of a window as its definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emit_c.contraction.phases import phases
from hlo.types.values import WindowDim

windows = st.builds(
    WindowDim,
    size=st.integers(1, 5),
    stride=st.integers(1, 4),
    pad_low=st.integers(-2, 4),
    base_dilation=st.integers(1, 4),
    window_dilation=st.integers(1, 3),
)


@given(windows, st.integers(1, 9))
def test_all_places_meet_what_the_window_covers(window, positions):
    found = set()
    for phase in phases(window, positions):
        for i in range(phase.positions):
            for j in range(phase.taps):
                position = phase.first_position + i * phase.position_step
                tap = phase.first_tap + j * phase.tap_step
                element = phase.start + i * phase.position_stride + j * phase.tap_stride
                assert not phase.taps or phase.low <= element <= phase.high
                found.add((position, tap, element))
    expected = set()
    for position in range(positions):
        for tap in range(window.size):
            over = position * window.stride + tap * window.window_dilation - window.pad_low
            if over % window.base_dilation == 0:
                expected.add((position, tap, over // window.base_dilation))
    assert found == expected
    assert sum(phase.positions for phase in phases(window, positions)) == positions
