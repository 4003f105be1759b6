"""What a GPU must do, as a script: on the stand-in driver, or on a real one.

It runs in a process of its own, since a process takes one driver, and some mistakes end it.
    python script.py gpu | stand-in
"""

import sys
import threading

import numpy as np
import pytest

import emit_cuda
import hlo
import interpreter
from emit_cuda import host
from emit_cuda.gpu import GpuDevice, missing
from emit_cuda.nvrtc import Compiled

ADD = """
extern "C" __global__ void add(const float *x, float *y, int n, float c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i] + c;
}
extern "C" __global__ void reverse(const float *x, float *y, unsigned char flag) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (flag) y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void fails() { assert(threadIdx.x > 40); }
"""
SOFTMAX = """HloModule m
most { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[8,100] parameter(0)
  low = f32[] constant(-inf)
  m = f32[8] reduce(x, low), dimensions={1}, to_apply=most
  b = f32[8,100] broadcast(m), dimensions={0}
  d = f32[8,100] subtract(x, b)
  e = f32[8,100] exponential(d)
  zero = f32[] constant(0)
  s = f32[8] reduce(e, zero), dimensions={1}, to_apply=sum
  t = f32[8,100] broadcast(s), dimensions={0}
  ROOT y = f32[8,100] divide(e, t)
}"""


def on_the_processor(source, architecture, name):
    """What the stand-in takes for a cubin."""
    assert architecture == "sm_90"
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


def modules(device):
    """HLO on this device is what the interpreter says."""
    module = hlo.parse(SOFTMAX)
    executable = emit_cuda.compile(module, device)
    x = np.random.default_rng(0).normal(size=(8, 100)).astype(np.float32)
    for _ in range(2):
        np.testing.assert_allclose(executable(x), interpreter.evaluate(module, x), rtol=1e-6)


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


if __name__ == "__main__":
    assert not missing(), missing()
    options = {"compiler": on_the_processor} if sys.argv[1] == "stand-in" else {}
    device = GpuDevice(**options)
    for check in (launches, graphs, modules, threads, refusals):
        check(device)
        print(check.__name__, flush=True)
    device.close()
    failures(GpuDevice(**options))
    print("all", flush=True)
