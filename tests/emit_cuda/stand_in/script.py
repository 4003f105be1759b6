"""What a GPU must do, as a script: on the stand-in driver, or on a real one.

It runs in a process of its own, since a process takes one driver, and some mistakes end it.
    python script.py gpu | stand-in [without-conditionals] [CHECK ...]
"""

import ctypes
import gc
import sys
import threading
from importlib import import_module

import numpy as np
import pytest
from texts import ADD, BESIDE, BRANCHES, LOOP, NESTED, SOFTMAX, UPDATE

import emit_cuda
import hlo
import interpreter
from codegen.program.steps import Branch, While
from emit_cuda import host
from emit_cuda.arrays import lent
from emit_cuda.devices import Purpose
from emit_cuda.gpu import GpuDevice, missing, shared_gpu
from emit_cuda.kernels import merging
from emit_cuda.nvrtc import Compiled

TOLD = ("contexts_awaited", "conditional_nodes")


def on_the_processor(source, architecture, name, options=()):
    """What the stand-in takes for a cubin."""
    assert architecture == "sm_90"
    assert not options
    library = host.compile(source, name=name)
    path = str(library.path).encode() + b"\0"
    return Compiled(path, {kernel: kernel for kernel in library.kernels}, {}, "")


def launches(device):
    """Copies, launches and results in order, with nothing that waits in between."""
    kernels = device.load(ADD)
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    of_x, of_y = device.allocate(x.nbytes), device.allocate(y.nbytes)
    device.write(of_x, x)
    device.write(of_y, y)
    given = (of_x, of_y, np.int32(1000), np.float32(0.5))
    for _ in range(3):
        kernels.launch("add", (4, 1, 1), (256, 1, 1), 0, given)
    found = np.empty_like(y)
    device.read(of_y, found)
    assert (found == 1 + 3 * (x + 0.5)).all()
    device.fill(of_y, 0, y.nbytes)
    kernels.launch("reverse", (1, 1, 1), (128, 1, 1), 512, (of_x, of_y, np.uint8(1)))
    device.copy(of_x, of_y, 512)
    device.read(of_x, found)
    assert (found[:128] == x[:128][::-1]).all()
    device.synchronize()
    device.free(of_x)
    device.free(of_y)


def graphs(device):
    """A recorded graph does it all again, with what memory then holds."""
    kernels = device.load(ADD)
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    of_x, of_y = device.allocate(x.nbytes), device.allocate(y.nbytes)
    device.write(of_x, x)
    device.write(of_y, y)
    device.synchronize()
    with device.capture() as graph:
        for _ in range(5):
            given = (of_x, of_y, np.int32(64), np.float32(1))
            kernels.launch("add", (1, 1, 1), (64, 1, 1), 0, given)
    device.read(of_y, y)
    assert (y == 0).all()
    device.replay(graph)
    device.replay(graph)
    device.read(of_y, y)
    assert (y == 20).all()
    graph.close()


def recordings(device):
    """A recording that fails leaves no graph behind, and the next one is as if it had not been."""
    alive = getattr(ctypes.CDLL("libcuda.so.1"), "stand_in_graphs_alive", lambda: 0)
    kernels, before = device.load(ADD), alive()
    with pytest.raises(KeyError), device.capture():
        raise KeyError
    assert alive() == before
    with device.capture() as graph:
        kernels.launch("add", (1, 1, 1), (64, 1, 1), 0, (0, 0, np.int32(0), np.float32(1)))
    graph.close()
    assert alive() == before


def modules(device):
    """HLO on this device is what the interpreter says."""
    module = hlo.parse(SOFTMAX)
    executable = emit_cuda.compile(module, device)
    x = np.random.default_rng(0).normal(size=(8, 100)).astype(np.float32)
    for _ in range(2):
        np.testing.assert_allclose(executable(x), interpreter.evaluate(module, x), rtol=1e-6)


def recorded(device):
    """The second call is recorded, with its streams, and later ones replay it."""
    module = hlo.parse(BRANCHES)
    executable = emit_cuda.compile(module, device)
    for seed in range(4):
        x, y = np.random.default_rng(seed).normal(size=(2, 24, 24)).astype(np.float32)
        wanted = interpreter.evaluate(module, x, y)
        np.testing.assert_allclose(executable(x, y), wanted, rtol=1e-4, atol=1e-4)
        (graph,) = executable._graphs._kept.values()
        assert (graph is None) == (seed == 0)
    assert len(graph.kernels) == 4
    executable.release()
    np.testing.assert_allclose(executable(x, y), wanted, rtol=1e-4, atol=1e-4)


class Foreign:
    """An array of another library, which has one of the two protocols."""

    def __init__(self, array, protocol):
        self.array = array
        for name in ("__cuda_array_interface__", "__dlpack__", "__dlpack_device__"):
            if protocol in name:
                setattr(self, name, getattr(array, name))


def not_merged(module, device):
    """A program whose loops and branches are no kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "MOST_STEPS", 0)
        return emit_cuda.compile(module, device)


def cooperative(device):
    """A loop on a grid is one launch, alone and in a graph, of no more blocks than there can be."""
    module = hlo.parse(LOOP)
    launched = getattr(ctypes.CDLL("libcuda.so.1"), "stand_in_cooperative_launches", lambda: -1)
    executable, before = emit_cuda.compile(module, device), launched()
    steps = [each for each in executable.program.steps if getattr(each, "cooperative", False)]
    assert steps[0].grid == (16, 1, 1)
    for seed in range(3):
        given = np.random.default_rng(seed).random((64, 64), np.float32), np.int32(1), np.True_
        wanted = interpreter.evaluate(module, *given)
        np.testing.assert_allclose(executable(*given), wanted, rtol=1e-4)
    # The third call launches a graph.
    assert launched() in (-1, before + 2 * len(steps))


def loops(device):
    """Loops and branches are nodes of graphs; without these, the host waits for events alone."""
    module = hlo.parse(LOOP)
    driver = ctypes.CDLL("libcuda.so.1")
    told = [getattr(driver, f"stand_in_{name}", lambda: 0) for name in TOLD]
    can = device.conditionals
    for conditionals in {can, False}:
        device.conditionals = conditionals
        executable = not_merged(module, device)
        control = [step for step in executable.program.steps if isinstance(step, While | Branch)]
        assert [type(step) for step in control] == [While, Branch, Branch]
        before = [count() for count in told]
        for seed, number in enumerate((0, 1, 1, 7, 0, -1)):
            x = np.random.default_rng(seed).random((64, 64), np.float32)
            given = x, np.int32(number), np.bool_(number == 1)
            wanted = interpreter.evaluate(module, *given)
            np.testing.assert_allclose(executable(*given), wanted, rtol=1e-4)
        assert device.conditionals == conditionals
        awaited, nodes = (count() - n for count, n in zip(told, before, strict=True))
        assert awaited == 0
        assert nodes == (1 + 2 + 2 if conditionals and hasattr(driver, "stand_in_graphs") else 0)
    device.conditionals = can


def nested(device):
    """Loops and branches inside of a loop are nodes inside of its node."""
    module = hlo.parse(NESTED)
    driver = ctypes.CDLL("libcuda.so.1")
    can = device.conditionals
    for conditionals in {can, False}:
        device.conditionals = conditionals
        executable = not_merged(module, device)
        nodes = getattr(driver, "stand_in_conditional_nodes", lambda: 4)
        before = nodes()
        for seed, count in enumerate((3, 3, 0, 2)):
            x = np.random.default_rng(seed).random((64, 64), np.float32) / 32
            wanted = interpreter.evaluate(module, x, np.int32(count))
            np.testing.assert_allclose(executable(x, np.int32(count)), wanted, rtol=1e-4)
        assert device.conditionals == conditionals
        if hasattr(driver, "stand_in_graphs"):
            # The first call records the branch and the inner loop, the second one all of it.
            assert nodes() - before == ((2 + 1) + (1 + 2 + 1) if conditionals else 0)
    device.conditionals = can


def predicates(device):
    """The host asks for a predicate before the rest of the iteration, and then waits."""
    module = hlo.parse(BESIDE)
    driver = ctypes.CDLL("libcuda.so.1")
    can, device.conditionals = device.conditionals, False
    executable = not_merged(module, device)
    x = np.random.default_rng(0).random((64, 64), np.float32) / 32
    calls = getattr(driver, "stand_in_calls", lambda: b"")
    calls.restype = ctypes.c_char_p
    for is_recorded in (False, True, True):
        calls()
        found = executable(x, np.int32(3))
        told = calls().decode()
        if is_recorded and told:
            # Three times a graph with the predicate, its copy, a graph with the rest, and a wait;
            # then the copy of the result.
            assert told.endswith("RW" + "GRGW" * 3 + "RW"), told
        np.testing.assert_allclose(found, interpreter.evaluate(module, x, np.int32(3)), rtol=1e-4)
    device.conditionals = can


def arrays(device):
    """Arrays stay on the device, and go from library to library without a copy."""
    module = hlo.parse(BRANCHES)
    executable = emit_cuda.compile(module, device)
    # Sums of positive numbers, which rounding hardly changes.
    x, y = np.random.default_rng(0).random((2, 24, 24), np.float32)
    wanted = interpreter.evaluate(module, *interpreter.evaluate(module, x, y))
    for protocol in ("cuda_array", "dlpack"):
        first = [Foreign(made, protocol) for made in executable.on_device(x, y)]
        assert lent(device, first[0]).address == first[0].array.address
        second = executable.on_device(*first)
        del first
        np.testing.assert_allclose(second, wanted, rtol=1e-4, atol=1e-2)
    array = second[0]
    assert array.__dlpack_device__() == (2, 0)
    assert array.__cuda_array_interface__["stream"] == device.handle(0)
    array.__dlpack__(stream=device.handle(0))
    gaps = {**array.__cuda_array_interface__, "strides": (4, 96)}
    transposed = type("Transposed", (), {"__cuda_array_interface__": gaps})
    with pytest.raises(hlo.HloError, match="row-major"):
        lent(device, transposed())


def donation(device):
    """A donated array's memory is the result's, also in a recorded graph."""
    executable = emit_cuda.compile(hlo.parse(UPDATE), device, donate=True)
    x, y = np.random.default_rng(0).normal(size=(2, 16)).astype(np.float32)
    state, wanted = executable.on_device(x, y)[0], x + y
    address, there = state.address, executable.device_array(y)
    for call in range(8):
        state, _ = executable.on_device(state, y if call < 4 else there)
        wanted = wanted + y
        assert state.address == address
    assert (np.asarray(state) == wanted).all()


def copies(device):
    """Arrays of many pieces come and go through page-locked memory."""
    x = np.random.default_rng(0).integers(0, 99, 10_000_019, np.int32)
    address = device.allocate(x.nbytes)
    device.write(address, x)
    found = np.empty_like(x)
    device.read(address, found)
    assert (found == x).all()
    device.free(address)


def names(device):
    """An error names the kernel, and the instruction that it computes."""
    kernels = device.load(ADD)
    for _ in range(2):
        kernels.launch("fails", (1, 1, 1), (64, 1, 1), purpose=Purpose("exp.7"))
    with pytest.raises(hlo.HloError) as caught:
        device.synchronize()
    assert any("fails (%exp.7)" in note for note in caught.value.notes)


def several(device, other):
    """Each of two devices has its own memory, kernels and streams; arrays go between them."""
    module = hlo.parse(BRANCHES)
    one, two = (emit_cuda.compile(module, each) for each in (device, other))
    x, y = np.random.default_rng(0).normal(size=(2, 24, 24)).astype(np.float32)
    made = one.on_device(x, y)
    np.testing.assert_allclose(two(*made), one(*made), rtol=1e-6)
    assert two.on_device(*made)[0].device is other
    with pytest.raises(hlo.HloError, match="another device"):
        two(*(Foreign(array, "cuda_array") for array in made))


def threads(device):
    """Several threads share a device."""
    module = hlo.parse(SOFTMAX)
    executable = emit_cuda.compile(module, device)
    x = np.random.default_rng(0).normal(size=(8, 100)).astype(np.float32)
    wanted, wrong = executable(x), []

    def call():
        if not all((executable(x) == wanted).all() for _ in range(10)):
            wrong.append(1)

    workers = [threading.Thread(target=call) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def sharing(device):
    """Executables that name no device share one, until that is closed."""
    one = shared_gpu()
    assert shared_gpu() is one
    assert one is not device
    one.close()
    assert one.closed
    assert not shared_gpu().closed


def refusals(device):
    """Wrong launches are refused with their names."""
    kernels = device.load(ADD)
    with pytest.raises(hlo.HloError, match="no kernel 'sub'; there are add, reverse, fails"):
        kernels.launch("sub", (1, 1, 1), (1, 1, 1))


def failures(device):
    """A failed kernel is named; nothing works after it, on a GPU neither."""
    kernels = device.load(ADD)
    kernels.launch("fails", (1, 1, 1), (64, 1, 1))
    with pytest.raises(hlo.HloError) as caught:
        device.synchronize()
    assert caught.value.code == "HLO192"
    assert any("fails" in note for note in caught.value.notes)


# Each ends a process: after a kernel has failed, a GPU does nothing more for it.
ENDINGS = failures, names
CHECKS = (
    launches, graphs, recordings, modules, recorded, cooperative, loops, nested, predicates,
    arrays, donation, copies, threads, sharing, refusals,
)  # fmt: skip


if __name__ == "__main__":
    assert not missing(), missing()
    where, *asked = sys.argv[1:]
    options = {"compiler": on_the_processor} if where == "stand-in" else {}
    device = GpuDevice(**options)
    if "without-conditionals" in asked:
        device.conditionals = False
        asked.remove("without-conditionals")
    for check in (*CHECKS, *ENDINGS):
        if check.__name__ in asked or (not asked and check in CHECKS):
            check(device)
            print(check.__name__, flush=True)
    if not asked and import_module("pycuda.driver").Device.count() > 1:
        several(device, GpuDevice(1, **options))
        print("several", flush=True)
    gc.collect()
    device.close()
    print("all", flush=True)
