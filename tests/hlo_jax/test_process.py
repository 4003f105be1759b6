"""Threads, signals, forks and ends of processes: where a plugin in Python could crash one."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("jax")


def start(script: str, **environment: str) -> subprocess.Popen[str]:
    variables = {**os.environ, "JAX_PLATFORMS": "pyhlo,cpu", **environment}
    command = [sys.executable, "-c", script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=variables, **pipes)  # type: ignore[call-overload]


def output(script: str, **environment: str) -> str:
    process = start(script, **environment)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err[-2000:]
    return out


LATE_DEATHS = """
import atexit, gc, sys, threading
import jax, jax.numpy as jnp, numpy as np

# An array that dies while an exception is pending, in a frame that the exception leaves.
def fails():
    x = jax.jit(lambda a: a + 1)(jnp.arange(1000.0))
    raise ValueError(str(x[0]))
try:
    fails()
except ValueError as error:
    print(error)

# Arrays that are alive at the end: in modules, in cycles, in other threads, at exit.
kept = [jax.device_put(np.ones(100)) for _ in range(10)]
cycle = [jnp.ones(3)]; cycle.append(cycle)
sys.modules["somewhere"] = cycle
looking = np.asarray(kept[0])
late = threading.local(); late.x = jnp.ones(5)
atexit.register(lambda: print(float(kept[3][7])))
class Dying:
    def __init__(self): self.x = jnp.ones(7)
    def __del__(self): del self.x
dying = Dying()
"""


def test_arrays_may_die_late() -> None:
    assert output(LATE_DEATHS).split() == ["1.0", "1.0"]


INTERRUPTED = """
import jax, jax.numpy as jnp, numpy as np, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
rows = jax.sharding.NamedSharding(
    jax.sharding.Mesh(np.array(jax.devices()), ("x",)), jax.sharding.PartitionSpec("x")
)
x = jax.device_put(np.ones(8, np.float32), rows)
f = jax.jit(lambda x, n: jax.lax.fori_loop(0, n, lambda i, x: jnp.sin(x + i), x))
f(x, 2).block_until_ready()
print("begun", flush=True)
try:
    f(x, 2_000_000_000).block_until_ready()
except KeyboardInterrupt:
    print("interrupted")
except jax.errors.JaxRuntimeError as error:
    print("another error", error)
print(float(jnp.ones(3).sum()))
for thread in threading.enumerate():
    if thread is not threading.current_thread() and thread.name != "pyhlo":
        thread.join(20)
        assert not thread.is_alive(), thread
"""


@pytest.mark.parametrize(
    ("engine_name", "devices"),
    [
        ("interpreter", 1),
        ("c", 1),
        pytest.param("interpreter", 2, marks=pytest.mark.slow),
        ("c", 2),
    ],
)
def test_a_call_can_be_interrupted(engine_name: str, devices: int) -> None:
    process = start(INTERRUPTED, PYHLO_JAX_ENGINE=engine_name, PYHLO_JAX_DEVICES=str(devices))
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out.split() == ["interrupted", "3.0"], out + err[-2000:]


FORKED = """
import os, warnings
warnings.simplefilter("ignore")
import jax, jax.numpy as jnp
f = jax.jit(lambda x: x * 2 + 1)
x = jnp.arange(4.0)
for _ in range(10):
    f(x)
child = os.fork()
if child == 0:
    ok = f(x).tolist() == [1, 3, 5, 7]
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), f(x).tolist())
"""


@pytest.mark.slow
def test_a_child_of_a_fork_can_go_on() -> None:
    assert output(FORKED) == "0 [1.0, 3.0, 5.0, 7.0]\n"


def test_many_threads(jax: Any, jnp: Any, engine: str) -> None:
    """Calls, fresh functions, and arrays that come, go and die, all at once."""
    shared = jax.jit(lambda x, k: x * k + 1)

    def work(number: int) -> bool:
        right = True
        for iteration in range(20):
            x = jax.device_put(np.full(5, iteration, np.float32))
            right &= shared(x, number).tolist() == [iteration * number + 1.0] * 5
            right &= float((x + number)[0]) == iteration + number
        fresh = jax.jit(lambda a: a - number)
        return right and float(fresh(jnp.float32(1))) == 1 - number

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8))), engine


@pytest.mark.slow
def test_the_plugin_stays_away_where_nobody_asks_for_it() -> None:
    script = "import jax; print(jax.default_backend())"
    assert output(script, JAX_PLATFORMS="") == "cpu\n"


@pytest.mark.slow
def test_a_wrong_number_of_devices_is_told() -> None:
    process = start("import jax; jax.devices()", PYHLO_JAX_DEVICES="many")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "PYHLO_JAX_DEVICES='many': not a number from 1 to 1024" in err


TOO_NEW = """
import jax._src.callback
del jax._src.callback.emit_python_callback  # as a release might that moves it
import jax; jax.devices()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "message"),
    [
        (TOO_NEW, "is not as PyHLO knows it (AttributeError: "),
        (
            "import hlo_jax.private.versions as p; p.OLDEST = (99,); import jax; jax.devices()",
            "is too old",
        ),
    ],
)
def test_releases_of_jax_that_do_not_fit_get_a_message(script: str, message: str) -> None:
    process = start(script)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert message in err.splitlines()[-1], "the error that ends the program says it"


WITHOUT_OPENBLAS = """
import sys; sys.modules['scipy_openblas32'] = None
import jax, jax.numpy as jnp
print(jax.jit(jnp.sum)(jnp.eye(3)))
print(jnp.linalg.cholesky(jnp.eye(3)))
"""


@pytest.mark.slow
def test_only_programs_that_call_lapack_need_openblas() -> None:
    process = start(WITHOUT_OPENBLAS)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, "3.0\n")
    assert "import of scipy_openblas32 halted" in err
    assert "while evaluating %cholesky" in err
