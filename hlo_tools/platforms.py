"""The platforms that can run a module, for `hlo run --platform` and `--reference`.

A package that brings a platform gives its row a function, in the place of None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hlo.error import HloError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Module
    from interpreter.frame import Event

# Takes a module, the arguments of each device, and an observer; gives the value on each device.
Runner = Any


@dataclass(frozen=True, slots=True)
class Platform:
    """One way to run a module.

    Attributes
    ----------
    summary : one line.
    runner : None if this version has none.
    """

    summary: str
    runner: Runner | None = None


def _interpret(
    module: Module, per_device: Sequence[Sequence[Any]], observe: Callable[[Event], None] | None
) -> list[Any]:
    from interpreter import evaluate  # noqa: PLC0415

    return evaluate(module, per_device=per_device, observe=observe)


PLATFORMS: Final = {
    "interpreter": Platform("the reference interpreter, in NumPy", _interpret),
    "c": Platform("optimized, emitted as C and compiled for the CPU"),
    "cuda": Platform("optimized, emitted as CUDA C and run on a GPU"),
    "cuda-host": Platform("the emitted CUDA C, run on the CPU"),
}


def runner(name: str) -> Runner:
    """The function that runs a module on a platform.

    Raises
    ------
    HloError
        HLO203 if this version has none, HLO204 if there is no such platform.
    """
    if name not in PLATFORMS:
        notes = did_you_mean(name, PLATFORMS)
        raise HloError("HLO204", f"there is no platform `{name}`", notes=notes)
    if PLATFORMS[name].runner is None:
        built = ", ".join(n for n, platform in PLATFORMS.items() if platform.runner)
        raise HloError("HLO203", f"platform {name} is not built yet", notes=[f"there are: {built}"])
    return PLATFORMS[name].runner
