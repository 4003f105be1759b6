"""The platforms that can run a module, for `hlo run --platform` and `--reference`.

A package that brings a platform adds its row here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal

from hlo.errors.error import HloError, did_you_mean
from hlo.sharded import reshardings

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from interpreter.engine.frame import Evaluation

Runner = Any
# Takes the arguments of each device, and gives the value on each.
Loaded = Callable[[Sequence[Sequence[Any]]], list[Any]]


@dataclass(frozen=True, slots=True)
class Platform:
    """One way to run a module.

    Attributes
    ----------
    summary : one line.
    runner : takes a module, the arguments of each device, and an observer; gives the value on each.
    load : does with a module what has to be done once; gives what takes the arguments. None if
        nothing has to be done.
    observable : whether the runner tells an observer every instruction's value.
    limited : whether the runner takes `max_iterations`, after which it gives a loop up.
    """

    summary: str
    runner: Runner
    observable: bool = False
    limited: bool = False
    load: Callable[[Module], Loaded] | None = None


def _interpret(
    module: Module,
    per_device: Sequence[Sequence[Any]],
    observe: Callable[[Evaluation], None] | None,
    max_iterations: int | None = None,
) -> list[Any]:
    from interpreter import evaluate  # noqa: PLC0415

    return evaluate(module, per_device=per_device, observe=observe, max_iterations=max_iterations)


def _compile_to_c(
    module: Module,
    per_device: Sequence[Sequence[Any]],
    observe: Callable[[Evaluation], None] | None,  # noqa: ARG001  it is not observable
) -> list[Any]:
    return _load_c(module)(per_device)


def _load_c(module: Module) -> Loaded:
    import emit_c  # noqa: PLC0415
    from optimizer.log import Log  # noqa: PLC0415
    from optimizer.partitioning.spmd_partitioning import SpmdPartitioning  # noqa: PLC0415

    whole = bool(reshardings(module))
    divided = SpmdPartitioning().run(module, Log())
    header = divided.header

    @cache
    def compiled(replicas: int) -> Any:
        return emit_c.compile(replace(divided, header=replace(header, replica_count=replicas)))

    def run(per_device: Sequence[Sequence[Any]]) -> list[Any]:
        given = list(per_device) * (header.num_partitions if whole else 1)
        # A lone device may run any module; else there are as many replicas as arguments.
        replicas = max(len(given) // header.num_partitions, 1)
        return compiled(replicas)(per_device=given)[: len(per_device)]

    _ = compiled(header.replica_count)
    return run


def first_communicating(module: Module) -> Instruction | None:
    """The first instruction whose value depends on which devices there are; None for none."""
    return next((i for i in module.instructions() if i.row.traits & {"collective", "device"}), None)


def refuse_communication(module: Module, devices: int) -> None:
    """Refuse several devices where each is run by itself, and needs to know of the others.

    Raises
    ------
    HloError
        HLO203 at the first instruction that does.
    """
    found = first_communicating(module) if devices > 1 else None
    if found is not None:
        message = f"{found.name}: {found.opcode} needs the other devices, and each is run by itself"
        notes = ["--platform interpreter and --platform c run them together"]
        raise HloError("HLO203", message, found.span, notes)


def _compile_to_cuda(
    device: Literal["gpu", "host"],
    module: Module,
    per_device: Sequence[Sequence[Any]],
    observe: Callable[[Evaluation], None] | None,  # noqa: ARG001  it is not observable
) -> list[Any]:
    return _load_cuda(device, module)(per_device)


def _load_cuda(device: Literal["gpu", "host"], module: Module) -> Loaded:
    import emit_cuda  # noqa: PLC0415

    executable = emit_cuda.compile(module, device)

    def run(per_device: Sequence[Sequence[Any]]) -> list[Any]:
        refuse_communication(module, len(per_device))
        return [executable(*arguments) for arguments in per_device]

    return run


# Names that others give to platforms.
_CALLED: Final = {"gpu": "cuda", "nvidia": "cuda", "cpu": "c", "host": "c", "numpy": "interpreter"}
PLATFORMS: Final = {
    "interpreter": Platform(
        "the reference interpreter, in NumPy", _interpret, observable=True, limited=True
    ),
    "c": Platform("optimized, emitted as C and compiled for the CPU", _compile_to_c, load=_load_c),
    "cuda": Platform(
        "emitted as CUDA C, run on a GPU",
        partial(_compile_to_cuda, "gpu"),
        load=partial(_load_cuda, "gpu"),
    ),
    "cuda-host": Platform(
        "the same CUDA C, run on the processor with a model of its threads",
        partial(_compile_to_cuda, "host"),
        load=partial(_load_cuda, "host"),
    ),
}


def runner(name: str, *, observed: bool = False, max_iterations: int | None = None) -> Runner:
    """The function that runs a module on a platform.

    Parameters
    ----------
    observed : whether an observer must be told every value.
    max_iterations : how often a loop may run its body, on a platform that can count.

    Raises
    ------
    HloError
        HLO203 if the platform cannot be observed; HLO204 if there is no such platform.
    """
    if name not in PLATFORMS:
        known = [f"did you mean `{_CALLED[name.lower()]}`?"] if name.lower() in _CALLED else []
        notes = known or did_you_mean(name, PLATFORMS) or [f"there are: {', '.join(PLATFORMS)}"]
        raise HloError("HLO204", f"there is no platform `{name}`", notes=notes)
    platform = PLATFORMS[name]
    if observed and not platform.observable:
        message = f"platform {name} does not show the values of instructions"
        raise HloError("HLO203", message, notes=["--platform interpreter does"])
    if max_iterations is not None and platform.limited:
        return partial(platform.runner, max_iterations=max_iterations)
    return platform.runner


def load(name: str, module: Module) -> Loaded:
    """A module on a platform, ready to run again and again.

    Parameters
    ----------
    name : of a platform that there is.
    """
    platform = PLATFORMS[name]
    if platform.load is not None:
        return platform.load(module)
    return lambda per_device: platform.runner(module, per_device, None)
