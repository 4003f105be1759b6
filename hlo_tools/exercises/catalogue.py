"""All exercises, by number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.exercises import (
    analyses,
    backends,
    emitting,
    gradients,
    kernels,
    loop_nests,
    loops,
    meaning,
    memory,
    parsing,
    products,
    reading,
    rewriting,
    searching,
    several_devices,
    testing,
    tracing,
    whole,
)

if TYPE_CHECKING:
    from hlo_tools.exercises.exercise import Exercise

FILES = (
    parsing,
    reading,
    meaning,
    rewriting,
    loops,
    memory,
    emitting,
    whole,
    kernels,
    loop_nests,
    gradients,
    several_devices,
    backends,
    tracing,
    analyses,
    testing,
    searching,
    products,
)
EXERCISES: dict[int, Exercise] = {
    e.number: e for e in sorted((e for f in FILES for e in f.EXERCISES), key=lambda e: e.number)
}


def find_exercise(word: str) -> Exercise:
    """The exercise of a number.

    Raises
    ------
    HloError
        HLO204 if there is none.
    """
    if word.isdigit() and int(word) in EXERCISES:
        return EXERCISES[int(word)]
    note = f"they are {min(EXERCISES)} to {max(EXERCISES)}: `hlo exercise` lists them"
    raise HloError("HLO204", f"there is no exercise {word}", notes=[note])
