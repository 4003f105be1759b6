"""Every private function of JAX and jaxlib that PyHLO calls, with the reason.

JAX has a public way to register a plugin that is a shared library. A plugin in Python, and one that
reads HLO, needs more; none of it is promised to stay. So it is all here: where a new version of
JAX breaks something, this is the file to look at. Each was tried with the versions in `TRIED`.
"""

from __future__ import annotations

import dataclasses
import os
import re
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import version
from inspect import signature
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PLATFORM = "pyhlo"
# Names the file of a page of the viewer, for the largest program.
VIEW = "PYHLO_VIEW"
TRIED = ("0.10.2", "0.10.1", "0.10.0", "0.9.2", "0.9.1", "0.9.0")
# Older ones were never tried; newer ones may have moved the functions used here.
OLDEST = (0, 9, 0)


def _module(name: str) -> Any:
    # JAX is imported when it is there; nothing else of PyHLO needs it, nor do type checkers.
    return import_module(name)


def jaxlib_version() -> str:
    """The installed jaxlib's version."""
    return version("jaxlib")


def is_too_old() -> bool:
    """Whether jaxlib is older than any version with which this file works."""
    found = tuple(int(n) for n in re.findall(r"\d+", jaxlib_version())[:3])
    return found < OLDEST


def moved(error: Exception) -> ImportError:
    """The message where JAX has changed a name of this file."""
    versions = f"JAX {version('jax')} with jaxlib {jaxlib_version()}"
    last = f"{type(error).__name__}: {error}"
    tried = f"PyHLO was tried with {', '.join(TRIED)}"
    return ImportError(f"{PLATFORM}: {versions} is not as PyHLO knows it ({last}); {tried}")


# ------------------------------------------------------------------------------- registration


def register_plugin(capsule: object) -> None:
    """Let JAX know the plugin by the address of its table.

    Public is only `library_path`, a shared library that has a function `GetPjrtApi`. `c_api` takes
    a capsule, so that no such library is needed.
    """
    _module("jax._src.xla_bridge").register_plugin(PLATFORM, c_api=capsule)


def register_failure(error: Exception) -> None:
    """Let JAX know a backend that raises the reason why there is none."""

    def start() -> Any:
        raise error

    register = _module("jax._src.xla_bridge").register_backend_factory
    register(PLATFORM, start, priority=0, fail_quietly=False)


def choose_if_viewed() -> None:
    """Make PyHLO JAX's platform where a page of its program is wanted and no platform is named."""
    if not os.environ.get(VIEW):
        return
    config = _module("jax").config
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
    platforms = _module("jax").config.jax_platforms or ""
    libraries = os.environ.get("PJRT_NAMES_AND_LIBRARY_PATHS", "")
    named = {entry.partition(":")[0] for entry in libraries.split(",")}
    return PLATFORM in platforms.split(",") and PLATFORM not in named


def find_cpu() -> None:
    """Let XLA's CPU be found under `JAX_PLATFORMS=pyhlo` alone, once somebody asks for it.

    JAX puts the arguments of callbacks on a device of the platform "cpu", and programs ask for
    `jax.devices("cpu")`. The default platform and its devices stay PyHLO's.
    """
    bridge = _module("jax._src.xla_bridge")
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
    kind = _module("jax._src.array").ArrayImpl
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
    mlir = _module("jax._src.interpreters.mlir")
    mlir._platform_specific_lowerings[PLATFORM] = mlir._platform_specific_lowerings["cpu"]
    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)


def choose_like_cpu() -> None:
    """Let `lax.platform_dependent` take the branch of the CPU where there is none for PyHLO.

    Branches are chosen when they are lowered: by then PyHLO has started, which a program's first
    computation makes it do. A primitive gives the branch's number, and the conditional drops those
    of other platforms.
    """
    conditionals = _module("jax._src.lax.control_flow.conditionals")
    lowerings = _module("jax._src.interpreters.mlir")._lowerings
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
    cache = _module("jax._src.compilation_cache")
    is_used = cache.is_cache_used

    def is_used_by_ours(backend: Any) -> bool:
        return is_used(_LIKE_CPU if backend.platform == PLATFORM else backend)

    cache.is_cache_used = is_used_by_ours


_LIKE_CPU = SimpleNamespace(platform="cpu")


def call_what_is_exported_for_cpu() -> None:
    """Let functions that `jax.export` exported for the CPU be called on PyHLO.

    They have custom calls of the CPU at most, and PyHLO knows these.
    """
    export = _module("jax._src.export._export")
    lower = export._call_exported_lowering

    def lower_ours(ctx: Any, *arguments: Any, exported: Any) -> Any:
        if tuple(ctx.module_context.platforms) == (PLATFORM,):
            names = [
                PLATFORM if name == "cpu" and PLATFORM not in exported.platforms else name
                for name in exported.platforms
            ]
            exported = dataclasses.replace(exported, platforms=tuple(names))
        return lower(ctx, *arguments, exported=exported)

    _module("jax._src.interpreters.mlir").register_lowering(export.call_exported_p, lower_ours)


def emit_callbacks(whole: str, shards: str, enter: Callable[[Any], tuple[int, Any]]) -> None:
    """Let `pure_callback`, `io_callback` and `jax.debug` become a custom call of PyHLO's.

    JAX emits callbacks into Python for platforms of a list only. Its own custom call finds the
    function through a part of jaxlib that plugins can't reach.

    Parameters
    ----------
    whole : the name of the custom call; its attribute `index` is the function's number.
    shards : the same, for functions that each device calls with its part of an array.
    enter : takes a function; gives its number, and what the program keeps as long as it may call.
    """
    callback = _module("jax._src.callback")
    emit = callback.emit_python_callback

    def emit_ours(
        ctx: Any, function: Any, token: Any, operands: Any, operand_avals: Any, result_avals: Any,
        *, has_side_effect: bool, sharding: Any = None, **others: Any,
    ) -> Any:  # fmt: skip
        if tuple(ctx.module_context.platforms) != (PLATFORM,):
            more = {"has_side_effect": has_side_effect, "sharding": sharding, **others}
            return emit(ctx, function, token, operands, operand_avals, result_avals, **more)
        if others.get("partitioned") and result_avals:
            raise ValueError("Partitioned callback not supported with return values.")
        number, kept = enter(_checked(function, result_avals))
        ctx.module_context.add_keepalive(kept)
        if token:
            abstract = _module("jax._src.core").abstract_token
            operands = [token, *operands]
            # Without results, the sharding that every operation must have is the token's.
            sharding = _with_token(sharding) if result_avals else sharding
            avals_in, avals_out = [abstract, *ctx.avals_in], [abstract, *ctx.avals_out]
            ctx = dataclasses.replace(ctx, avals_in=avals_in, avals_out=avals_out)
        build = _module("jax._src.ffi").build_ffi_lowering_function
        target = shards if others.get("partitioned") else whole
        called = build(target, has_side_effect=has_side_effect)(
            ctx, *operands, index=np.uint64(number)
        )
        if sharding is not None:
            _set_sharding(ctx, called, sharding)
        results = list(called.results)
        return results[bool(token) :], results[0] if token else token, function

    callback.emit_python_callback = emit_ours


def _set_sharding(ctx: Any, operation: Any, sharding: Any) -> None:
    """Say how an operation's results are divided; before 0.10 it took no context."""
    set_sharding = _module("jax._src.interpreters.mlir").set_sharding
    context = [ctx.module_context] if len(signature(set_sharding).parameters) > 2 else []
    set_sharding(*context, operation, sharding)


def _with_token(sharding: Any) -> Any:
    """The shardings of results, with one for a token in front of them."""
    if not hasattr(sharding, "shardings"):
        return sharding
    sdy, first = _module("jax._src.sharding_impls"), sharding.shardings[0]
    own = sdy.SdyArray(mesh_shape=(), dim_shardings=(), logical_device_ids=first.logical_device_ids)
    return sdy.SdyArrayList((own, *sharding.shardings))


def _checked(function: Any, result_avals: Any) -> Callable[..., list[Any]]:
    """A callback whose results are arrays, and of the shapes that were promised."""
    dtypes = _module("jax._src.dtypes")

    def call(*arguments: Any) -> list[Any]:
        made = function(*arguments)
        if len(made) != len(result_avals):
            counts = f"Expected: {len(result_avals)}, Actual: {len(made)}"
            raise RuntimeError(f"Mismatched number of outputs from callback. {counts}")
        arrays = [dtypes.canonicalize_value(np.asarray(value)) for value in made]
        for k, (array, aval) in enumerate(zip(arrays, result_avals, strict=True)):
            for what in ("shape", "dtype"):
                found, wanted = getattr(array, what), getattr(aval, what)
                if found != wanted:
                    start = f"Incorrect output {what} for return value #{k}"
                    raise RuntimeError(f"{start}: Expected: {wanted}, Actual: {found}")
        return arrays

    return call


def hear_of_foreign_functions(target: Callable[..., None], type_: Callable[..., None]) -> None:
    """Be told of handlers registered with `jax.ffi` for this platform, earlier ones included.

    Parameters
    ----------
    target : takes a name, capsules, the platform, the version of the interface, and traits.
    type_ : takes a name and capsules.
    """
    client = _module("jaxlib.xla_client")
    client.register_custom_call_handler(PLATFORM, target)
    client.register_custom_type_handler(PLATFORM, type_)


def targets_of_cpu() -> dict[str, Any]:
    """The foreign functions that are registered for XLA's CPU backend: capsules, by stage."""
    return _module("jaxlib.xla_client").custom_call_targets("cpu")


def trace_annotation(name: str) -> Any:
    """A context that names a stretch of time for JAX's profiler; cheap while none runs."""
    return _module("jax.profiler").TraceAnnotation(name)


# ----------------------------------------------------------------------------------- programs


@cache
def _hlo() -> Any:
    """The part of jaxlib with HLO's classes; before 0.10.2 these were among all others."""
    try:
        return _module("jaxlib._hlo")
    except ModuleNotFoundError:
        return _module("jaxlib._jax")


@cache
def _print_options(*, constants: bool) -> Any:
    options = _hlo().HloPrintOptions()
    options.print_large_constants = constants
    return options


def hlo_of_mlir(code: bytes) -> bytes:
    """A program in StableHLO, as text or bytecode of any version, to a serialized HloModuleProto.

    No public function goes from StableHLO to HLO.
    """
    mlir = _module("jaxlib._jax").mlir
    return mlir.mlir_module_to_xla_computation(code).as_serialized_hlo_module_proto()


def text_of_hlo(proto: bytes, *, constants: bool = True) -> str:
    """The text of a serialized HloModuleProto, with or without the values of large constants."""
    module = _hlo().HloModule.from_serialized_hlo_module_proto(proto)
    return module.to_string(_print_options(constants=constants))


def compiled_by_xla(proto: bytes) -> tuple[Any, Any]:
    """XLA's executable for the CPU of a serialized HloModuleProto, and the device.

    XLA computes as it does for JAX.

    It has a method `execute` that takes a list of JAX's arrays and gives one. No public function
    compiles HLO.

    Raises
    ------
    Exception
        Of jaxlib, if XLA refuses the module.
    """
    jaxlib, jax = _module("jaxlib._jax"), _module("jax")
    # Without it, custom calls of LAPACK jump to address 0.
    _module("jaxlib.cpu._lapack").initialize()
    program = jaxlib.mlir.xla_computation_to_mlir_module(_hlo().XlaComputation(proto))
    devices = jax.devices("cpu")[:1]
    listed = jaxlib.DeviceList(tuple(devices))
    # These are JAX's options. Without any, maximum and minimum lose NaN (fast_min_max).
    options = jaxlib.CompileOptions()
    return devices[0].client.compile_and_load(program, listed, options), devices[0]


def hlo_of_text(text: str) -> bytes:
    """A serialized HloModuleProto from text.

    Raises
    ------
    Exception
        Of jaxlib, if XLA can't read the text.
    """
    return _hlo().hlo_module_from_text(text).as_serialized_hlo_module_proto()


def compile_options(serialized: bytes) -> Any:
    """A CompileOptionsProto as jaxlib's object for it; there is no public class."""
    return _module("jaxlib._jax").CompileOptions.ParseFromString(serialized)


def _xla_sharding(text: str) -> Any:
    """A sharding as jaxlib's object, from HLO's text."""
    return _module("jaxlib.xla_client").HloSharding.from_string(text)


# Functions that `jax.debug.inspect_array_sharding` is given, by the key that the program has.
_inspecting: WeakValueDictionary[bytes, Any] = WeakValueDictionary()


def inspect_shardings() -> None:
    """Let `jax.debug.inspect_array_sharding` be told by PyHLO's partitioner.

    The program holds two addresses as the function's key, which jaxlib's partitioner calls.
    """
    client = _module("jax._src.debugging").xc
    encode = client.encode_inspect_sharding_callback

    def encode_and_keep(function: Any) -> bytes:
        key = encode(function)
        _inspecting[key] = function
        return key

    client.encode_inspect_sharding_callback = encode_and_keep


def tell_sharding(key: bytes, sharding: str) -> None:
    """Tell a function of `jax.debug.inspect_array_sharding` how its array is divided."""
    if (function := _inspecting.get(key)) is not None:
        function(_xla_sharding(sharding))


def divided_by_user(
    key: str, operands: Sequence[tuple[Any, str]], results: Sequence[tuple[Any, str]]
) -> tuple[bytes, list[str], list[str]]:
    """A call of a function with `custom_partitioning` on parts, as its user divides it.

    Parameters
    ----------
    operands, results : element type and dimensions of each, and its sharding as text.

    Returns
    -------
    tuple
        StableHLO of what each device runs, and the shardings of its parameters and results.
    """
    client, custom = _module("jaxlib.xla_client"), _module("jax._src.custom_partitioning")

    def shape(of: Any) -> Any:
        return client.Shape.array_shape(*of)

    shapes, shardings = [shape(of) for of, _ in results], [_xla_sharding(s) for _, s in results]
    whole = client.Shape.tuple_shape(shapes)
    code, given, made = custom._custom_partitioning_partition(
        [shape(of) for of, _ in operands], [_xla_sharding(s) for _, s in operands],
        whole, client.HloSharding.tuple_sharding(whole, shardings), key.encode(),
    )  # fmt: skip
    return code, [str(s) for s in given], [str(s) for s in made.tuple_elements()]


_EMPTY_PROGRAM = b"module { func.func public @main() { return } }"


def check_options(options: list[tuple[str, Any]]) -> str:
    """The faults of compiler options of XLA; empty if they have none.

    XLA's own check runs when a program is compiled, so an empty one is, by XLA's CPU client.
    """
    jaxlib = _module("jaxlib._jax")
    client = _cpu_client(1)
    flagged = jaxlib.CompileOptions()
    flagged.env_option_overrides = options
    try:
        client.compile_and_load(_EMPTY_PROGRAM, jaxlib.DeviceList(tuple(client.devices())), flagged)
    except jaxlib.JaxRuntimeError as error:
        return str(error).partition(": ")[2]
    return ""


@cache
def _cpu_client(devices: int) -> Any:
    """A client of XLA's CPU backend of our own, which JAX does not know."""
    return _module("jaxlib._jax").get_tfrt_cpu_client(asynchronous=False, num_devices=devices)
