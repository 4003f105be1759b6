"""Every private function of JAX and jaxlib that PyHLO calls, with the reason.

JAX has a public way to register a plugin that is a shared library. A plugin in Python, and one that
reads HLO, needs more; none of it is promised to stay. So it all stands here: where a new version of
JAX breaks something, this is the file to look at. Each was tried with the versions in `TRIED`.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

PLATFORM = "pyhlo"
TRIED = ("0.10.2",)
# Older ones lack functions that are called here.
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


# ------------------------------------------------------------------------------- registration


def register_plugin(capsule: object) -> None:
    """Let JAX know the plugin by the address of its table.

    Public is only `library_path`, a shared library that has a function `GetPjrtApi`. `c_api` takes
    a capsule, so that no such library is needed.
    """
    _module("jax._src.xla_bridge").register_plugin(PLATFORM, c_api=capsule)


def is_asked_for() -> bool:
    """Whether `JAX_PLATFORMS`, or the option of that name, names PyHLO.

    If nothing is said, JAX starts every backend that it knows, and takes the one of the highest
    priority: whoever has PyHLO installed beside JAX would pay for it, or get it without a word.
    """
    platforms = _module("jax").config.jax_platforms or ""
    return PLATFORM in platforms.split(",")


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


def share_by_dlpack() -> None:
    """Let arrays come and go through DLPack without copies.

    jaxlib knows by the names of platforms whose memory is the host's: CPU's. Outwards, a NumPy
    array that looks at the same memory goes in the array's place. Inwards, JAX has a table of the
    platforms that take the memory of a kind of device; the host's memory comes to PyHLO if that is
    the first platform.
    """
    dlpack, kind = _module("jax._src.dlpack"), _module("jax._src.array").ArrayImpl
    if (_module("jax").config.jax_platforms or "").startswith(PLATFORM):
        dlpack._DL_DEVICE_TO_PLATFORM[dlpack.DLDeviceType.kDLCPU] = PLATFORM
    capsule_of, device_of = kind.__dlpack__, kind.__dlpack_device__

    def to_dlpack(array: Any, **asked: Any) -> Any:
        if array.platform() != PLATFORM:
            return capsule_of(array, **asked)
        asked["max_version"] = asked.get("max_version") or (1, 0)
        return np.asarray(array).__dlpack__(**asked)

    def dlpack_device(array: Any) -> Any:
        if array.platform() != PLATFORM:
            return device_of(array)
        return dlpack.DLDeviceType.kDLCPU, 0

    kind.__dlpack__, kind.__dlpack_device__ = to_dlpack, dlpack_device


# ----------------------------------------------------------------------------------- programs


@cache
def _print_options() -> Any:
    options = _module("jaxlib._hlo").HloPrintOptions()
    options.print_large_constants = True
    return options


def hlo_of_mlir(code: bytes) -> bytes:
    """A program in StableHLO, as text or bytecode of any version, to a serialized HloModuleProto.

    No public function goes from StableHLO to HLO.
    """
    mlir = _module("jaxlib._jax").mlir
    return mlir.mlir_module_to_xla_computation(code).as_serialized_hlo_module_proto()


def attributes_of_mlir(code: bytes) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The text attributes of the main function's parameters and results, by name.

    Layouts and kinds of memory that the user chose stand there, and get lost on the way to HLO.
    """
    mlir, ir = _module("jax._src.interpreters.mlir"), _module("jaxlib.mlir.ir")
    with mlir.make_ir_context() as context:
        try:
            module = _module("jaxlib._jax").mlir.deserialize_portable_artifact(code, context)
        except ValueError:  # it is StableHLO as it is
            module = ir.Module.parse(code)
        main = next(op for op in module.body if _name(op) == "main")
        return _attributes(main, "arg_attrs"), _attributes(main, "res_attrs")


def _name(operation: Any) -> str:
    attributes = operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else ""


def _attributes(function: Any, which: str) -> list[dict[str, str]]:
    """The attributes that are texts."""
    text = _module("jaxlib.mlir.ir").StringAttr
    attributes = function.attributes
    own: Any = attributes[which] if which in attributes else ()  # noqa: SIM401 - it has no get
    return [{a.name: a.attr.value for a in one if isinstance(a.attr, text)} for one in own]


def text_of_hlo(proto: bytes) -> str:
    """The text of a serialized HloModuleProto, with all constants."""
    module = _module("jaxlib._hlo").HloModule.from_serialized_hlo_module_proto(proto)
    return module.to_string(_print_options())


def hlo_of_text(text: str) -> bytes:
    """A serialized HloModuleProto from text.

    Raises
    ------
    Exception
        Of jaxlib, if XLA can't read the text.
    """
    return _module("jaxlib._hlo").hlo_module_from_text(text).as_serialized_hlo_module_proto()


def compile_options(serialized: bytes) -> Any:
    """A CompileOptionsProto as jaxlib's object for it; there is no public class."""
    return _module("jaxlib._jax").CompileOptions.ParseFromString(serialized)


_EMPTY_PROGRAM = b"module { func.func public @main() { return } }"


def check_options(options: list[tuple[str, Any]]) -> str:
    """What is wrong with compiler options of XLA; empty if nothing is.

    XLA's own check runs when a program is compiled, so an empty one is, by XLA's CPU client.
    """
    jaxlib = _module("jaxlib._jax")
    client = _cpu_client(1)
    asked = jaxlib.CompileOptions()
    asked.env_option_overrides = options
    try:
        client.compile_and_load(_EMPTY_PROGRAM, jaxlib.DeviceList(tuple(client.devices())), asked)
    except jaxlib.JaxRuntimeError as error:
        return str(error).partition(": ")[2]
    return ""


@cache
def _cpu_client(devices: int) -> Any:
    """A client of XLA's CPU backend of our own, which JAX does not know."""
    return _module("jaxlib._jax").get_tfrt_cpu_client(asynchronous=False, num_devices=devices)
