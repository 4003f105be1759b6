"""The ways in which `hlo run` runs a module: once, timed, watched, or compiled in several ways."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo.backend import refuse_communication, without_donations
from hlo.errors.error import HloError
from hlo_tools.console import is_watched, print_table
from hlo_tools.running.observers import observing
from hlo_tools.values.show import duration

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from hlo.backend import Backend
    from hlo.instruction import Module

Value = Any  # an array, None for a token, or a tuple of values


def chosen_runner(
    arguments: Namespace, backend: Backend
) -> Callable[[Module, Sequence[Sequence[Any]]], list[Value]]:
    """The runner of a module on the inputs of each device, watched as the options ask for."""
    observed = bool(arguments.trace or arguments.stop_at_nan or arguments.stop_at_inf)
    options = limits(arguments, backend)
    own: dict[str, Any] = {}
    if arguments.schedule:
        from hlo_tools.own_schedules import own_schedule  # noqa: PLC0415 - imports emit_c

        own["schedule"] = own_schedule(arguments.schedule)
    if arguments.profile or arguments.profile_trace or arguments.sanitize:
        return partial(run_watched, arguments, backend, own)
    options |= own
    if arguments.transport:
        options["transport"] = arguments.transport
    if arguments.no_library:
        options["libraries"] = False
    if arguments.checked:
        options |= {"checked": True, "seed": arguments.seed}
    if arguments.mode is not None or arguments.ablate:
        return partial(run_ways, arguments, backend.offers["profile_as_is"])
    timed = is_watched() and not observed and not arguments.checked and not arguments.no_library
    if arguments.repeat is not None or timed:
        return partial(run_timed, arguments, backend, options)

    def run_observed(module: Module, inputs: Sequence[Sequence[Any]]) -> list[Value]:
        with observing(
            module,
            trace=arguments.trace,
            stop_at_nan=arguments.stop_at_nan,
            stop_at_inf=arguments.stop_at_inf,
        ) as observe:
            return run_once(backend, {**options, "observe": observe}, module, inputs)

    return run_observed if observed else partial(run_once, backend, options)


def limits(arguments: Namespace, backend: Backend) -> dict[str, Any]:
    """The compiler's options that end loops, where the backend has them."""
    limit = arguments.max_iterations
    known = limit is not None and "max_iterations" in backend.options
    return {"max_iterations": limit} if known else {}


def run_once(
    backend: Backend, options: dict[str, Any], module: Module, inputs: Sequence[Sequence[Any]]
) -> list[Value]:
    """The value of a module on a backend, on each device; no argument is donated."""
    return backend.load(without_donations(module), **options)(inputs)


def run_timed(
    arguments: Namespace,
    backend: Backend,
    options: dict[str, Any],
    module: Module,
    inputs: Sequence[Sequence[Any]],
) -> list[Value]:
    """Run a module so many times, and tell on standard error how long it took."""
    start = time.perf_counter()
    loaded = backend.load(without_donations(module), **options)
    ready = time.perf_counter()
    values: list[Value] = []
    times: list[float] = []
    for _ in range(arguments.repeat or 1):
        begin = time.perf_counter()
        values = loaded(inputs)
        times.append(time.perf_counter() - begin)
    times_text = f"ready in {duration(ready - start)}, ran in {duration(times[0])}"
    if len(times) > 1:
        middle = duration(sorted(times)[len(times) // 2])
        times_text = f"{len(times)} runs: best {duration(min(times))}, median {middle}"
        times_text = f"ready in {duration(ready - start)}, {times_text}"
    print(f"{arguments.platform}: {times_text}", file=sys.stderr)
    return values


def run_ways(
    arguments: Namespace,
    profile: Callable[..., Any],
    module: Module,
    inputs: Sequence[Sequence[Any]],
) -> list[Value]:
    """Run a module compiled in several ways, and print the time of each.

    Raises
    ------
    HloError
        HLO203 for several devices.
    """
    from hlo_tools.running.modes import table, ways  # noqa: PLC0415

    if len(inputs) > 1:
        raise HloError("HLO203", "modes are compared on one device")
    mode, ablated = arguments.mode or "compiled", arguments.ablate or ()
    runs = ways(module, inputs[0], mode, ablated, profile)
    print_table(table(runs))
    return [runs[0].value]


def run_watched(
    arguments: Namespace,
    backend: Backend,
    options: dict[str, Any],
    module: Module,
    inputs: Sequence[Sequence[Any]],
) -> list[Value]:
    """Run a module for a profile, or under sanitizers.

    Parameters
    ----------
    options : of the profile.

    Raises
    ------
    HloError
        HLO203 if devices need each other, and the backend runs each by itself.
    """
    from hlo_tools.running.watching import run_profiled, run_sanitized  # noqa: PLC0415

    way = "sanitize" if arguments.sanitize else "profile"
    run = (
        run_sanitized
        if arguments.sanitize
        else partial(run_profiled, trace=arguments.profile_trace)
    )
    if len(inputs) > 1 and f"{way}_together" in backend.offers:
        return run(partial(backend.offers[f"{way}_together"], **options), module, [inputs])[0]
    refuse_communication(module, len(inputs))
    return run(partial(backend.offers[way], **options), module, inputs)


def limit_threads(number: int, *backends: Backend | None) -> None:
    """Let compiled modules use at most so many threads."""
    for backend in backends:
        if backend is not None and "threads" in backend.offers:
            backend.offers["threads"](number)
