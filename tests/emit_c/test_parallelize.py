"""Loops on several threads: the same values as on one, whoever calls, however often."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from emitted import emitted
from written import Assign, For, Variable

import emit_c
import hlo
from codegen.elements.kernel import Scope
from codegen.kinds import Pointer
from codegen.loops.work import trip_count, work
from emit_c.executable.runtime import runtime, set_threads, slots
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.parallelize import parallelize

TASKS = Path("/proc/self/task")
EXP = """HloModule m
ENTRY e {{
  x = f32[{0}] parameter(0)
  y = f32[{0}] exponential(x)
  ROOT z = f32[{0}] add(y, x)
}}"""


def add(rows=1, columns=1 << 18):
    # With a number of threads, none is left out because one alone was faster.
    module = hlo.parse(EXP.format(f"{rows},{columns}"))
    return emit_c.compile(module, optimize=False, threads=256)


@pytest.fixture(autouse=True)
def all_threads():
    before = set_threads(256)
    yield
    set_threads(before)


def loop(n, *body, **options):
    return For("i", n, body or (Assign("x[i]", "y[i] + 1"),), simd=True, **options)


def kernel():
    made = CKernel(None, Scope())
    made.argument(Pointer("f32", restrict=True), "px", "x")
    made.argument(Pointer("f32", const=True, restrict=True), "py", "y")
    return made


def test_work_counts_turns_lanes_and_functions():
    assert work([loop(1000)]) == 1000
    assert work([For("i", 1000, loop(1000).body)]) > 1000
    assert work([loop(1000, Assign("x[i]", "exp_f32(y[i])"))]) > 5000
    assert work([For("j", 10, (loop(1000),))]) == 10000
    assert trip_count(For("i", 10, (), step=3)) == 4


def test_a_loop_that_changes_a_shared_variable_is_a_mistake():
    body = (Assign("total", "total + y[i]"),)
    with pytest.raises(AssertionError):
        parallelize(kernel(), "k", [Variable("f32", "total"), loop(1 << 20, *body, parallel=True)])


@pytest.mark.parametrize("threads", [1, 2, 256])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1 << 18), (3, 100_003), (1000, 301)])
def test_values_do_not_depend_on_threads(rows, columns, threads):
    module = EXP.format(f"{rows},{columns}")
    assert "parallelize" in emitted(module, optimize=False).passes
    executable = add(rows, columns)
    x = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    set_threads(1)
    want = executable(x)
    set_threads(threads)
    assert all((executable(x) == want).all() for _ in range(20))


def test_many_threads_call_at_once():
    executable = add()
    inputs = [np.full((1, 1 << 18), k, np.float32) for k in range(4)]
    wants = [executable(x) for x in inputs]
    wrong = []

    def call(k):
        wrong.extend(k for _ in range(30) if (executable(inputs[k]) != wants[k]).any())

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_has_threads_of_its_own():
    executable = add()
    x = np.ones((1, 1 << 18), np.float32)
    want = executable(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if all((executable(x) == want).all() for _ in range(10)) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (executable(x) == want).all()


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads can't be listed")
@pytest.mark.skipif(slots() < 2, reason="there is one thread")
def test_threads_of_the_pool_keep_off_the_processor_of_the_caller():
    executable, x = add(), np.ones((1, 1 << 18), np.float32)
    mine = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(mine)})
        executable(x)
    finally:
        os.sched_setaffinity(0, mine)
    masks = [os.sched_getaffinity(int(task.name)) for task in TASKS.iterdir()]
    assert masks.count(mine - {max(mine)}) >= slots() - 1


def test_the_number_of_threads_has_bounds():
    assert slots() >= 1
    set_threads(0)
    assert set_threads(10**6) == 1
    assert set_threads(1) == slots() == runtime().threads.hlo_slots()
