"""Registering a platform with JAX, which then treats it as the CPU."""

from __future__ import annotations

import dataclasses
import os
import warnings
from types import SimpleNamespace
from typing import Any

from hlo_jax.private.versions import PLATFORM, VIEW, module


def register_plugin(capsule: object) -> None:
    """Let JAX know the plugin by the address of its table.

    Public is only `library_path`, a shared library that has a function `GetPjrtApi`. `c_api` takes
    a capsule, so that no such library is needed.
    """
    module("jax._src.xla_bridge").register_plugin(PLATFORM, c_api=capsule)


def register_failure(error: Exception) -> None:
    """Let JAX know a backend that raises the reason why there is none."""

    def start() -> Any:
        raise error

    register = module("jax._src.xla_bridge").register_backend_factory
    register(PLATFORM, start, priority=0, fail_quietly=False)


def choose_if_viewed() -> None:
    """Make PyHLO JAX's platform where a page of its program is wanted and no platform is named."""
    if not os.environ.get(VIEW):
        return
    config = module("jax").config
    if not config.jax_platforms:
        config.update("jax_platforms", PLATFORM)
    elif PLATFORM not in config.jax_platforms.split(","):
        told = f"no page is written: JAX runs on {config.jax_platforms}, and not on {PLATFORM}"
        warnings.warn(f"{VIEW}: {told}", RuntimeWarning, stacklevel=2)


def is_asked_for() -> bool:
    """Whether `JAX_PLATFORMS`, or the option of that name, names PyHLO.

    If nothing is said, JAX starts every backend that it knows, and takes the one of the highest
    priority: whoever has PyHLO installed beside JAX would pay for it, or get it without a word.
    If JAX loads a library of that name by its path, that library registers it.
    """
    platforms = module("jax").config.jax_platforms or ""
    libraries = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    named = {entry.partition(":")[0] for entry in libraries.split(",")}
    return PLATFORM in platforms.split(",") and PLATFORM not in named


def find_cpu() -> None:
    """Let XLA's CPU be found under `JAX_PLATFORMS=pyhlo` alone, once somebody asks for it.

    JAX puts the arguments of callbacks on a device of the platform "cpu", and programs ask for
    `jax.devices("cpu")`. The default platform and its devices stay PyHLO's.
    """
    bridge = module("jax._src.xla_bridge")
    name_of = bridge.canonicalize_platform

    # JAX calls this with the platform that is asked for, just before it looks for its backend.
    def name_of_started(platform: str) -> str:
        backends = bridge.backends()
        if platform == "cpu" and PLATFORM in backends:
            with bridge._backend_lock:
                if "cpu" not in backends:
                    backends["cpu"] = bridge._init_backend("cpu")
        return name_of(platform)

    bridge.canonicalize_platform = name_of_started


def wait_so_that_signals_end_it() -> None:
    """Let Ctrl-C end the wait for an array's value, as it ends `block_until_ready`.

    jaxlib looks for signals in `block_until_ready` only.
    """
    kind = module("jax._src.array").ArrayImpl
    name = "_single_device_array_to_np_array_did_copy"
    value_of = getattr(kind, name)

    def value_when_ready(array: Any) -> Any:
        if array.platform() == PLATFORM:
            array.block_until_ready()
        return value_of(array)

    setattr(kind, name, value_when_ready)


def lower_like_cpu() -> None:
    """Let JAX lower primitives for PyHLO as it does for the CPU.

    JAX has lowering rules by platform, by which `cholesky` becomes a custom call of LAPACK; PyHLO
    knows these custom calls. The CPU's own table is used, so that rules which are entered later
    are there, too. And only platforms of this list are told which arguments are donated.
    """
    mlir = module("jax._src.interpreters.mlir")
    mlir._platform_specific_lowerings[PLATFORM] = mlir._platform_specific_lowerings["cpu"]
    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)


def choose_like_cpu() -> None:
    """Let `lax.platform_dependent` take the branch of the CPU where there is none for PyHLO.

    Branches are chosen when they are lowered: by then PyHLO has started, which a program's first
    computation makes it do. A primitive gives the branch's number, and the conditional drops those
    of other platforms.
    """
    conditionals = module("jax._src.lax.control_flow.conditionals")
    lowerings = module("jax._src.interpreters.mlir")._lowerings
    for primitive, platforms in (
        (conditionals.platform_index_p, "platforms"),
        (conditionals.cond_p, "branches_platforms"),
    ):
        entry = lowerings[primitive]
        rule = _lowered_for_ours(entry.rule, platforms)
        lowerings[primitive] = dataclasses.replace(entry, rule=rule)


def _lowered_for_ours(rule: Any, platforms: str) -> Any:
    """The rule of a primitive, one of whose parameters has the platforms of each branch."""

    def lowered(context: Any, *operands: Any, **parameters: Any) -> Any:
        if parameters.get(platforms) is not None:
            parameters[platforms] = _with_ours(parameters[platforms])
        return rule(context, *operands, **parameters)

    return lowered


def _with_ours(platforms: Any) -> Any:
    """The platforms of each branch, None for any other platform, with ours beside the CPU."""
    if any(PLATFORM in own for own in platforms if own is not None):
        return platforms
    return tuple(own if own is None or "cpu" not in own else (*own, PLATFORM) for own in platforms)


def keep_in_compilation_cache() -> None:
    """Let JAX's compilation cache keep PyHLO's executables.

    JAX asks only by the names of a few platforms whether a backend's executables can be kept.
    """
    cache = module("jax._src.compilation_cache")
    is_used = cache.is_cache_used

    def is_used_by_ours(backend: Any) -> bool:
        return is_used(_LIKE_CPU if backend.platform == PLATFORM else backend)

    cache.is_cache_used = is_used_by_ours


_LIKE_CPU = SimpleNamespace(platform="cpu")


def call_what_is_exported_for_cpu() -> None:
    """Let functions that `jax.export` exported for the CPU be called on PyHLO.

    They have custom calls of the CPU at most, and PyHLO knows these.
    """
    export = module("jax._src.export._export")
    lower = export._call_exported_lowering

    def lower_ours(ctx: Any, *arguments: Any, exported: Any) -> Any:
        if tuple(ctx.module_context.platforms) == (PLATFORM,):
            names = [
                PLATFORM if name == "cpu" and PLATFORM not in exported.platforms else name
                for name in exported.platforms
            ]
            exported = dataclasses.replace(exported, platforms=tuple(names))
        return lower(ctx, *arguments, exported=exported)

    module("jax._src.interpreters.mlir").register_lowering(export.call_exported_p, lower_ours)


def trace_annotation(name: str) -> Any:
    """A context that names a stretch of time for JAX's profiler; cheap while none runs."""
    return module("jax.profiler").TraceAnnotation(name)
