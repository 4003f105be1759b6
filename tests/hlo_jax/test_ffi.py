"""Foreign functions: handlers in C++, built with jaxlib's headers, called by each engine."""

import ctypes
import gc
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlo_jax
from hlo_jax.abi import ffi
from hlo_jax.abi.members import size
from hlo_jax.ffi.attributes import read_attributes
from hlo_jax.ffi.errors import HandlerError

SOURCE = Path(__file__).with_name("handlers.cc")
X = np.arange(6, dtype=np.float32).reshape(2, 3)
F32 = np.float32


@pytest.fixture(scope="session")
def handlers(jax: Any, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The handlers, compiled and registered: one for PyHLO alone, the others for XLA CPU."""
    library = tmp_path_factory.mktemp("ffi") / "handlers.so"
    flags = ["-std=c++17", "-shared", "-fPIC", "-I", jax.ffi.include_dir()]
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
    for name in ("fails", "running_sums", "add_one_in_place"):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(loaded, name)), platform="cpu")
    capsule = jax.ffi.pycapsule(loaded.scaled)
    jax.ffi.register_ffi_target("scaled", capsule, platform="pyhlo")
    for function in (loaded.counter_id, loaded.counter_info):
        function.restype = ctypes.c_void_p
    type_ = {
        "type_id": jax.ffi.pycapsule(loaded.counter_id()),
        "type_info": jax.ffi.pycapsule(loaded.counter_info()),
    }
    jax.ffi.register_ffi_type("Counter", type_, platform="pyhlo")
    stages = {
        "instantiate": jax.ffi.pycapsule(loaded.make_counter),
        "execute": jax.ffi.pycapsule(loaded.count),
    }
    jax.ffi.register_ffi_target("count", stages, platform="pyhlo")
    return loaded


def shape(jax: Any, *dims: int, dtype: Any = F32) -> Any:
    return jax.ShapeDtypeStruct(dims, dtype)


@pytest.mark.usefixtures("handlers")
def test_attributes_of_every_kind(jax: Any, engine: str) -> None:
    def with_a_handler(x: Any, negative: bool) -> Any:
        call = jax.ffi.ffi_call("scaled", (shape(jax, 2, 3), shape(jax, dtype=np.int32)))
        options = {"shift": F32(0.5), "negative": negative}
        weights = np.array([10, 20], np.int64)
        return call(x + 1, scale=F32(2), text='a "b" {é}', weights=weights, options=options)

    function = jax.jit(with_a_handler, static_argnums=1)
    expected = 2 * (X + 1) + np.array([[10, 20, 10], [20, 10, 20]]) + 0.5
    for negative in (False, True, False):
        result, length = function(X, negative)
        np.testing.assert_array_equal(result, -expected if negative else expected)
        assert length == len('a "b" {é}'.encode())
    ran = [s.split()[1] for s in hlo_jax.explain().splitlines() if "with_a_handler" in s]
    assert set(ran) == {engine}


@pytest.mark.usefixtures("handlers", "engine")
def test_errors_have_the_handler_s_code_and_words(jax: Any) -> None:
    function = jax.jit(lambda x: jax.ffi.ffi_call("fails", shape(jax, *x.shape))(x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="INVALID_ARGUMENT: at most two, if you"):
        function(np.ones(3, F32)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="DATA_LOSS: lost"):
        function(np.ones(2, F32)).block_until_ready()


@pytest.mark.usefixtures("handlers", "engine")
def test_what_a_handler_wants_and_is_not_given_is_named(jax: Any) -> None:
    call = jax.ffi.ffi_call("scaled", (shape(jax, 2, 3), shape(jax, dtype=np.int32)))
    with pytest.raises(jax.errors.JaxRuntimeError, match="Wrong number of attributes"):
        jax.block_until_ready(jax.jit(lambda x: call(x, scale=F32(2)))(X))


@pytest.mark.usefixtures("engine")
def test_a_state_lives_as_long_as_its_program(jax: Any, handlers: ctypes.CDLL) -> None:
    header = Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h").read_text()
    if f"#define XLA_FFI_API_MINOR {ffi.MINOR}" not in header:
        pytest.skip("states were other structs before FFI 0.3")
    function = jax.jit(
        lambda: jax.ffi.ffi_call("count", shape(jax, dtype=np.int32), has_side_effect=True)(start=7)
    )
    assert [int(function()) for _ in range(3)] == [8, 9, 10]
    assert handlers.counters_alive() == 1
    del function
    jax.clear_caches()
    gc.collect()
    jax.jit(lambda x: x - 3)(1.0)  # what died is buried when the next program is compiled
    assert handlers.counters_alive() == 0


@pytest.mark.usefixtures("handlers", "engine")
def test_an_error_while_a_program_is_made(jax: Any) -> None:
    function = jax.jit(lambda: jax.ffi.ffi_call("count", shape(jax, dtype=np.int32))(start=-1))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"counts from 0|older than FFI 0\.3"):
        function()


@pytest.mark.usefixtures("handlers", "engine")
def test_layouts_threads_memory_and_futures(jax: Any) -> None:
    columns = (1, 0)
    call = jax.ffi.ffi_call(
        "running_sums", shape(jax, 2, 3), input_layouts=[columns], output_layouts=columns
    )
    expected = np.cumsum(X.T).reshape(3, 2).T
    np.testing.assert_array_equal(jax.jit(call)(X), expected)


@pytest.mark.usefixtures("handlers", "engine")
def test_a_result_in_its_operand_s_memory(jax: Any, jnp: Any) -> None:
    call = jax.ffi.ffi_call("add_one_in_place", shape(jax, 2, 3), input_output_aliases={0: 0})
    x = jnp.asarray(X)
    np.testing.assert_array_equal(jax.jit(lambda x: call(x * 2))(x), X * 2 + 1)
    np.testing.assert_array_equal(jax.jit(lambda x: (call(x), x))(x)[0], X + 1)
    np.testing.assert_array_equal(x, X)


@pytest.mark.usefixtures("handlers", "engine")
def test_vmap_of_a_foreign_function(jax: Any) -> None:
    def sums(x: Any) -> Any:
        return jax.ffi.ffi_call("running_sums", shape(jax, 3), vmap_method="sequential")(x)

    np.testing.assert_array_equal(jax.jit(jax.vmap(sums))(X), np.cumsum(X, axis=1))


def test_a_function_that_nobody_registered(jax: Any, engine: str) -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"UNIMPLEMENTED.*'not_there'"):
        jax.jit(jax.ffi.ffi_call("not_there", shape(jax, 2, 3)))(X).block_until_ready()
    assert engine


# XLA_FFI_..._STRUCT_SIZE in the header of version 0.3.
HEADER = {
    "ArrayArgument": 48, "Arguments": 40, "NamedAttributes": 48, "ApiVersion": 24,
    "FfiErrorCreate": 28,
    "HandlerRegister": 84, "TypeRegister": 48, "StateSet": 48, "StateGet": 48,
    "DeviceMemoryAllocate": 48, "ThreadPoolSchedule": 40, "FutureSetError": 32, "RunIdGet": 32,
    "DeviceOrdinalGet": 28,
}  # fmt: skip


@pytest.mark.parametrize("name", HEADER)
def test_structs_have_the_sizes_of_the_header(name: str) -> None:
    assert size(getattr(ffi, name)) == HEADER[name]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{a = [1 : i32]}", "the attribute 'a'"), ("{a", "no dictionary"), ("3 : i32", "dictionary")],
)
def test_attributes_that_ffi_has_no_type_for(jax: Any, text: str, message: str) -> None:
    assert jax
    with pytest.raises(HandlerError, match=message):
        read_attributes(text)
