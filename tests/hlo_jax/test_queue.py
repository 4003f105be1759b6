"""Calls that return before their results are there."""

import gc
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.hlo_jax.test_process import output, start

Options = dict[str, str]


@pytest.fixture(params=["interpreter", "c"])
def options(request: pytest.FixtureRequest) -> Options:
    return {"pyhlo_engine": request.param}


class Gate:
    """A function of Python's that a call waits in until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def __call__(self, x: Any) -> Any:
        assert self.opened.wait(60)
        return np.asarray(x)


@pytest.fixture
def gate() -> Gate:
    return Gate()


def held(jax: Any, gate: Gate, options: Options) -> Any:
    """A function that waits at a gate, and doubles its argument."""

    def wait(x: Any) -> Any:
        return jax.pure_callback(gate, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2

    return jax.jit(wait, compiler_options=options)


def test_a_call_returns_before_its_result_is_there(
    jax: Any, jnp: Any, gate: Gate, options: Options
) -> None:
    add = jax.jit(lambda x: x + 1, compiler_options=options)
    x = jnp.arange(3.0)
    y = held(jax, gate, options)(x)
    z = add(y)
    assert not y.is_ready()
    assert not z.is_ready()
    assert add(x).tolist() == [1, 2, 3], "what does not wait for it is there at once"
    gate.opened.set()
    assert z.tolist() == [1, 3, 5]
    assert y.block_until_ready().is_ready()


def test_pending_arrays_are_deleted_and_donated(
    jax: Any, jnp: Any, gate: Gate, options: Options
) -> None:
    step = jax.jit(lambda x: x + 1, donate_argnums=0, compiler_options=options)
    wait = held(jax, gate, options)
    x = jnp.arange(3.0)
    y = wait(x)
    x.delete()
    for _ in range(5):
        y = step(y)
    del x
    gc.collect()
    gate.opened.set()
    assert y.tolist() == [5, 7, 9]


def test_what_a_pending_call_reads_is_copied_where_it_is_donated(
    jax: Any, jnp: Any, gate: Gate, options: Options
) -> None:
    step = jax.jit(lambda x: x + 1, donate_argnums=0, compiler_options=options)
    x = jnp.arange(3.0)
    y = held(jax, gate, options)(x)
    z = step(x)
    assert z.tolist() == [1, 2, 3]
    gate.opened.set()
    assert y.tolist() == [0, 2, 4]


def test_an_error_is_raised_where_the_result_is_asked_for(
    jax: Any, jnp: Any, options: Options
) -> None:
    def fails(_: Any) -> Any:
        raise ValueError("no luck today")

    shape = jax.ShapeDtypeStruct((), "float32")
    failing = jax.jit(lambda x: jax.pure_callback(fails, shape, x), compiler_options=options)
    add = jax.jit(lambda x: x + 1, compiler_options=options)
    y = failing(jnp.float32(1))
    z = add(add(y))
    for value in (y, z):
        with pytest.raises(jax.errors.JaxRuntimeError, match="no luck today"):
            value.block_until_ready()
        with pytest.raises(jax.errors.JaxRuntimeError, match="no luck today"):
            float(value)
    assert add(jnp.float32(1)) == 2


@pytest.mark.usefixtures("engine")
def test_a_function_that_a_call_calls_may_call_others(jax: Any, jnp: Any) -> None:
    """It waits for calls after its own, made by itself and by another thread."""
    device = jax.devices()[0]
    big = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    square = jax.jit(lambda x: x @ x)
    later: list[Any] = []

    def inside(x: Any) -> Any:
        deadline = time.monotonic() + 60
        while not later and time.monotonic() < deadline:
            time.sleep(0.001)
        with jax.default_device(device):
            own = big(jax.device_put(np.asarray(x), device))
            with ThreadPoolExecutor(1) as thread:
                other = thread.submit(lambda: float(big(later[0]))).result()
            later[0].block_until_ready()
            return np.float32(float(own) + other)

    shape = jax.ShapeDtypeStruct((), "float32")
    called = jax.jit(lambda x: jax.pure_callback(inside, shape, x))
    x = jnp.full((300, 300), 0.01)
    with ThreadPoolExecutor(1) as thread:
        y = thread.submit(called, x)
        later.append(square(x))
        wanted = float(big(x)) + float(big(square(x)))
        assert float(y.result()) == pytest.approx(wanted, rel=1e-5)


def test_many_calls_in_order(jax: Any, jnp: Any, options: Options) -> None:
    """More than may wait at a time."""
    seen: list[int] = []
    shape = jax.ShapeDtypeStruct((), "int32")

    def tell(k: Any) -> Any:
        seen.append(int(k))
        return k

    told = jax.jit(lambda k: jax.pure_callback(tell, shape, k), compiler_options=options)
    results = [told(jnp.int32(k)) for k in range(100)]
    assert [int(r) for r in results] == list(range(100))
    assert seen == list(range(100))


def test_pending_arguments_that_are_donated_swap_their_places(
    jax: Any, jnp: Any, gate: Gate, options: Options
) -> None:
    """Two arguments are swapped, so each result lies where the other one is written."""
    wait = held(jax, gate, options)
    swap = jax.jit(lambda x, y: (y, x), donate_argnums=(0, 1), compiler_options=options)
    x, y = wait(jnp.arange(3.0)), wait(jnp.ones(3))
    a, b = swap(x, y)
    assert x.is_deleted()
    assert y.is_deleted()
    gate.opened.set()
    assert (a.tolist(), b.tolist()) == ([2, 2, 2], [0, 2, 4])


LONG = """
import jax, jax.numpy as jnp, numpy as np, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
loop = lambda x: jax.lax.while_loop(lambda x: (x < 9).all(), lambda x: jnp.sin(x @ x), x)
endless = jax.jit(loop)
more = jax.jit(lambda x: jnp.tanh(x @ x))
x = jnp.full((100, 100), 0.01)
more(x).block_until_ready(), float(x[0, 0])  # these are compiled
{}
"""
INTERRUPTED = """
y = endless(x)
print("begun", flush=True)
try:
    {}
except KeyboardInterrupt:
    print("interrupted")
print(bool(np.isfinite(np.asarray(more(x))).all()))  # while the other call goes on
"""
AT_EXIT = """
y = endless(x)
print("begun", flush=True)
jax.jit(lambda x: jax.debug.print("told {}", x))(x[0, 0])
"""
FORKED = """
import os, warnings
warnings.simplefilter("ignore")
y = endless(x)
z = more(x)
child = os.fork()
if child == 0:
    late = 1
    try:
        y.block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        late = 0 if "the parent process makes this call" in str(error) else 2
    os._exit(late or (0 if np.isfinite(np.asarray(more(x))).all() else 3))
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize(
    ("engine", "waits"),
    [
        ("c", "y.block_until_ready()"),
        ("c", "np.asarray(y)"),
        ("interpreter", "float(y[0, 0])"),
    ],
)
def test_a_wait_can_be_interrupted(engine: str, waits: str) -> None:
    process = start(LONG.format(INTERRUPTED.format(waits)), PYHLO_JAX_ENGINE=engine)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out.split() == ["interrupted", "True"], out + err[-2000:]


@pytest.mark.usefixtures("jax")
@pytest.mark.parametrize("engine", ["interpreter", "c"])
def test_python_ends_while_a_call_runs(engine: str) -> None:
    """What nobody waits for is dropped, but not what has effects."""
    found = output(LONG.format(AT_EXIT), PYHLO_JAX_ENGINE=engine, JAX_PLATFORMS="pyhlo")
    assert found == "begun\ntold 0.009999999776482582\n"


@pytest.mark.usefixtures("jax")
def test_a_fork_while_a_call_runs() -> None:
    assert output(LONG.format(FORKED), PYHLO_JAX_ENGINE="c") == "0\n"
