"""Programs: read, converted, compiled by XLA, divided among devices."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from hlo_jax.private.versions import module

if TYPE_CHECKING:
    from collections.abc import Sequence


@cache
def _hlo() -> Any:
    """The part of jaxlib with HLO's classes; before 0.10.2 these were among all others."""
    try:
        return module("jaxlib._hlo")
    except ModuleNotFoundError:
        return module("jaxlib._jax")


@cache
def _print_options(*, constants: bool) -> Any:
    options = _hlo().HloPrintOptions()
    options.print_large_constants = constants
    return options


def hlo_of_mlir(code: bytes) -> bytes:
    """A program in StableHLO, as text or bytecode of any version, to a serialized HloModuleProto.

    No public function goes from StableHLO to HLO.
    """
    mlir = module("jaxlib._jax").mlir
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
    jaxlib, jax = module("jaxlib._jax"), module("jax")
    # Without it, custom calls of LAPACK jump to address 0.
    module("jaxlib.cpu._lapack").initialize()
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
    return module("jaxlib._jax").CompileOptions.ParseFromString(serialized)


def _xla_sharding(text: str) -> Any:
    """A sharding as jaxlib's object, from HLO's text."""
    return module("jaxlib.xla_client").HloSharding.from_string(text)


# Functions that `jax.debug.inspect_array_sharding` is given, by the key that the program has.
_inspecting: WeakValueDictionary[bytes, Any] = WeakValueDictionary()


def inspect_shardings() -> None:
    """Let `jax.debug.inspect_array_sharding` be told by PyHLO's partitioner.

    The program holds two addresses as the function's key, which jaxlib's partitioner calls.
    """
    client = module("jax._src.debugging").xc
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
    client, custom = module("jaxlib.xla_client"), module("jax._src.custom_partitioning")

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
    jaxlib = module("jaxlib._jax")
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
    return module("jaxlib._jax").get_tfrt_cpu_client(asynchronous=False, num_devices=devices)
