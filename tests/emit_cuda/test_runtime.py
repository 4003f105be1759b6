"""Calls of a module on a device: streams, arrays that stay there, donated memory."""

import gc
import random

import ml_dtypes
import numpy as np
import pytest
from cuda_batches import vectors_in

import emit_cuda
import hlo
import interpreter
from codegen.program.steps import BufferSlice, Copy, Launch, While
from codegen.program.streams import parts, side_by_side, uses_of_buffers
from emit_cuda.arrays import DeviceArray
from emit_cuda.host import HostDevice, HostKernels
from emit_cuda.kernels import merging
from emit_cuda.loops import vectors
from hlo.support import dlpack
from optimizer.pipelines import prepare

# Four products that do not need each other, and one that needs all.
BRANCHES = """HloModule m
ENTRY e {
  x = f32[24,24] parameter(0)
  y = f32[24,24] parameter(1)
  a = f32[24,24] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[24,24] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[24,24] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  d = f32[24,24] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[24,24] dot(c, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[24,24] dot(d, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[24,24], f32[24,24]) tuple(f, e)
}"""
LOOP = """HloModule m
body { s = (s32[], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  one = s32[] constant(1)  j = s32[] add(i, one)
  x = f32[8,8] get-tuple-element(s), index=1  y = f32[8,8] get-tuple-element(s), index=2
  u = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  v = f32[8,8] dot(y, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[8,8], f32[8,8]) tuple(j, u, v) }
cond { s = (s32[], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(5)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e {
  zero = s32[] constant(0)
  x = f32[8,8] parameter(0)
  y = f32[8,8] parameter(1)
  s = (s32[], f32[8,8], f32[8,8]) tuple(zero, x, y)
  ROOT w = (s32[], f32[8,8], f32[8,8]) while(s), condition=cond, body=body
}"""
# The trip count is not seen, and the predicate needs no product.
UNKNOWN = LOOP.replace("n = s32[] constant(5)", "m = s32[] constant(30)  n = s32[] multiply(i, i)")
UNKNOWN = UNKNOWN.replace("compare(i, n)", "compare(n, m)")
UPDATE = """HloModule m, input_output_alias={ {0}: (0, {}, must-alias) }
ENTRY e {
  x = f32[16] parameter(0)
  y = f32[16] parameter(1)
  s = f32[16] add(x, y)
  p = f32[16] multiply(x, y)
  ROOT r = (f32[16], f32[16]) tuple(s, p)
}"""
RANDOM = np.random.default_rng(0)


class Unruly(HostDevice):
    """Runs what streams allow in an order of its own; graphs are lists of what to do.

    Each stream is a list of actions; an event is a number of actions of a stream.
    """

    def __init__(self, seed, captures=False):
        super().__init__()
        self.captures, self.random = captures, random.Random(seed)
        self.queues, self.used, self.replayed = {0: []}, set(), 0
        self.recording = None

    def load(self, source, name="kernels.cu", *, flushes=False):
        kernels = super().load(source, name, flushes=flushes)
        return Late(self, kernels.library)

    def later(self, stream, action):
        queues = self.queues if self.recording is None else self.recording
        queues.setdefault(stream, []).append(action)
        self.used.add(stream)

    def record(self, stream):
        done = [False]
        self.later(stream, lambda: done.__setitem__(0, True))
        return done

    def wait(self, stream, event):
        self.later(stream, event)

    def drain(self, queues):
        while any(queues.values()):
            ready = [s for s, q in queues.items() if q and (callable(q[0]) or q[0][0])]
            assert ready, "streams wait for each other"
            action = queues[self.random.choice(ready)].pop(0)
            if callable(action):
                action()

    def copy(self, target, source, size, stream=0):
        self.later(stream, lambda: HostDevice.copy(self, target, source, size))

    def write(self, address, data):
        self.drain(self.queues)
        super().write(address, data)

    def read(self, address, out):
        self.drain(self.queues)
        super().read(address, out)

    def ask(self, address, out):
        self.later(0, lambda: HostDevice.read(self, address, out))
        return lambda: self.drain(self.queues)

    def capture(self):
        return Recording(self)

    def replay(self, graph):
        self.replayed += 1
        self.later(0, graph.run)


class Recording:
    def __init__(self, device):
        self.device = device

    def __enter__(self):
        self.device.recording = self.queues = {0: []}
        return self

    def __exit__(self, *_):
        self.device.recording = None

    def run(self):
        for done in (a for queue in self.queues.values() for a in queue if not callable(a)):
            done[0] = False
        self.device.drain({stream: list(queue) for stream, queue in self.queues.items()})

    def close(self):
        self.queues = None


class Late(HostKernels):
    def run(self, call):
        self.device.later(call.stream, lambda: HostKernels.run(self, call))


def launched(name, reads, writes):
    """A step on bytes of the arena."""
    places = [BufferSlice("arena", 0, at, 4) for at in (*reads, *writes)]
    wrote = (False,) * len(reads) + (True,) * len(writes)
    return Launch(name, (1, 1, 1), (1, 1, 1), tuple(places), wrote)


def random_step(name, pick):
    places = [BufferSlice("arena", 0, pick.randrange(12), pick.randrange(1, 5)) for _ in range(3)]
    writes = tuple(pick.random() < 0.4 for _ in places)
    return Launch(name, (1, 1, 1), (1, 1, 1), tuple(places), writes)


def shown(segment):
    return [
        f"{q.step.kernel} on {q.stream}" + "".join(f" after {n}" for n in q.after)
        for q in segment.queue
    ]


def test_branches_are_on_streams_of_their_own():
    steps = [
        launched("a", [0], [4]), launched("b", [4], [8]), launched("c", [0], [12]),
        launched("d", [8, 12], [16]), launched("e", [16], [4]),
    ]  # fmt: skip
    assert shown(side_by_side(steps, 4)) == [
        "a on 0", "b on 0", "c on 1", "d on 1 after 1", "e on 1",
    ]  # fmt: skip
    assert {q.stream for q in side_by_side(steps, 1).queue} == {0}
    assert not any(q.after for q in side_by_side(steps, 1).queue)


def test_memory_that_is_used_anew_keeps_its_order():
    copy = Copy(BufferSlice("arena", 0, 2, 8), BufferSlice("argument", 0, 0, 8), 8)
    steps = [launched("a", [0], [4]), launched("b", [4], [32]), launched("c", [4], [36]), copy]
    *_, last = side_by_side(steps, 4).queue
    assert last.stream in (0, 1)
    assert last.after == ((1,) if last.stream == 1 else (2,))


def test_random_steps_in_any_order_that_streams_allow_do_the_same():
    for seed in range(60):
        pick = random.Random(seed)
        steps = [random_step(str(k), pick) for k in range(12)]
        segment = side_by_side(steps, 3)
        ended, numbers = [], list(enumerate(segment.queue))
        queues = {s: [k for k, q in numbers if q.stream == s] for s in range(3)}
        while any(queues.values()):
            ready = [
                s for s, q in queues.items() if q and set(segment.queue[q[0]].after) <= set(ended)
            ]
            ended.append(queues[pick.choice(ready)].pop(0))
        memory, wanted = [0] * 20, [0] * 20
        for order, into in ((ended, memory), (range(len(steps)), wanted)):
            for k in order:
                places = list(zip(steps[k].arguments, steps[k].writes, strict=True))
                seen = hash((k, *(into[p.offset + i] for p, _ in places for i in range(p.size))))
                for place, writes in places:
                    for i in range(place.size if writes else 0):
                        into[place.offset + i] = seen + i
        assert memory == wanted


@pytest.fixture
def by_the_host(monkeypatch):
    """The host drives all loops, small ones, too."""
    monkeypatch.setattr(merging, "MOST_STEPS", 0)


@pytest.mark.usefixtures("by_the_host")
def test_a_loop_that_counts_to_a_constant_asks_the_host_nothing():
    program = emit_cuda.emit(prepare(hlo.parse(LOOP)))
    (segment,) = parts(program.steps)
    (loop,) = (step for step in program.steps if isinstance(step, While))
    assert loop.trips == 5
    assert len(segment.queue) == len(program.steps) - 1 + 5 * len(loop.body)


@pytest.mark.usefixtures("by_the_host")
@pytest.mark.parametrize(("limit", "trips"), [("constant(5000)", 5000), ("add(i, i)", None)])
def test_a_loop_reads_its_predicate_where_its_trip_count_is_unknown(limit, trips):
    text = LOOP.replace("n = s32[] constant(5)", f"n = s32[] {limit}")
    *_, iterations = parts(emit_cuda.emit(prepare(hlo.parse(text))).steps)
    assert iterations.step.trips == trips


@pytest.mark.usefixtures("by_the_host")
def test_the_predicate_comes_before_what_it_does_not_need():
    program = emit_cuda.emit(prepare(hlo.parse(UNKNOWN)))
    *_, iterations = parts(program.steps)
    assert iterations.step.trips is None
    (early,), (late,) = iterations.early, iterations.late
    about = [[getattr(q.step, "about", "copy") for q in part.queue] for part in (early, late)]
    assert about == [["j", "n", "p"], ["u", "v", "copy", "copy"]]
    # Nothing else in the loop uses the predicate's memory.
    used = [p for q in late.queue for p, _ in uses_of_buffers(q.step)]
    assert not any(p.overlaps(iterations.step.predicate) for p in used)


@pytest.mark.usefixtures("by_the_host")
@pytest.mark.parametrize("captures", [False, True])
@pytest.mark.parametrize(
    "text", [BRANCHES, LOOP, UNKNOWN, LOOP.replace("constant(5)", "constant(99)")]
)
def test_streams_and_graphs_keep_the_values(text, captures):
    module = hlo.parse(text)
    dims = module.entry.parameters[0].shape.dims
    device = Unruly(1, captures)
    executable = emit_cuda.compile(module, device)
    for seed in range(3):
        x, y = np.random.default_rng(seed).normal(size=(2, *dims)).astype(np.float32) / 4
        for made, wanted in zip(executable(x, y), interpreter.evaluate(module, x, y), strict=True):
            np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)
    assert len(device.used) > 1
    assert bool(device.replayed) == captures


def test_results_stay_on_the_device_and_are_arguments_again():
    device = HostDevice()
    executable = emit_cuda.compile(hlo.parse(BRANCHES), device)
    x, y = RANDOM.normal(size=(2, 24, 24)).astype(np.float32)
    f, e = executable.on_device(x, y)
    assert isinstance(f, DeviceArray)
    again = executable.on_device(f, e)
    wanted = executable(np.asarray(f), np.asarray(e))
    assert (np.asarray(again[0]) == wanted[0]).all()
    assert np.from_dlpack(f).ctypes.data == f.address
    assert repr(f) == "DeviceArray(float32[24, 24], host)"
    with pytest.raises(hlo.HloError, match=r"argument 0, .*: \[24, 24\] instead of f32\[8,8\]"):
        emit_cuda.compile(hlo.parse(LOOP), device)(f, e)
    address = f.address
    del f, e, again
    gc.collect()
    assert address not in device._allocated


def test_an_executable_that_nobody_holds_has_no_memory():
    device = HostDevice()
    x, y = RANDOM.normal(size=(2, 24, 24)).astype(np.float32)
    results = emit_cuda.compile(hlo.parse(BRANCHES), device).on_device(x, y)
    gc.collect()
    assert set(device._allocated) == {result.address for result in results}


def test_donated_memory_holds_the_result():
    device, module = HostDevice(), hlo.parse(UPDATE)
    executable = emit_cuda.compile(module, device, donate=True)
    x, y = RANDOM.normal(size=(2, 16)).astype(np.float32)
    for value, wanted in zip(executable(x, y), (x + y, x * y), strict=True):
        assert (value == wanted).all()
    total, _ = executable.on_device(x, y)
    address = total.address
    new, product = executable.on_device(total, y)
    assert new.address == address
    assert (np.asarray(new) == x + y + y).all()
    assert (np.asarray(product) == (x + y) * y).all()
    with pytest.raises(hlo.HloError, match="the array was donated"):
        np.asarray(total)
    with pytest.raises(hlo.HloError, match="is another argument, too"):
        executable.on_device(new, new)
    kept = emit_cuda.compile(module, device).on_device(new, y)
    assert kept[0].address != new.address


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.complex64])
def test_capsules_are_what_numpy_reads(dtype):
    device = HostDevice()
    x = np.arange(6).reshape(2, 3).astype(dtype)
    address = device.allocate(x.nbytes)
    device.write(address, x)
    array = DeviceArray(device, address, x.shape, x.dtype)
    lent = np.from_dlpack(array)
    assert (lent == x).all()
    del array
    gc.collect()
    assert address in device._allocated
    del lent
    gc.collect()
    assert address not in device._allocated


def test_a_capsule_of_small_floats_comes_back():
    x = np.arange(6).astype(ml_dtypes.bfloat16)
    tensor = dlpack.Tensor(x.ctypes.data, (2, 3), None, x.dtype, (dlpack.CPU, 0), x)
    back = dlpack.from_capsule(dlpack.to_capsule(tensor))
    assert (back.address, back.dims, back.dtype) == (x.ctypes.data, (2, 3), x.dtype)
    before = len(dlpack._lent)
    del back
    gc.collect()
    assert len(dlpack._lent) == before - 1
    with pytest.raises(BufferError, match="no elements of type int4"):
        dlpack.to_capsule(dlpack.Tensor(0, (), None, np.dtype(ml_dtypes.int4), (1, 0), None))


class Foreign:
    """An array of another library in a device's memory, after a few bytes of another array."""

    def __init__(self, device, array, behind):
        self.address = device.allocate(array.nbytes + behind) + behind
        device.write(self.address, array)
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (self.address, False),
            "version": 3,
        }  # fmt: skip


@pytest.mark.parametrize("behind", [0, 4, 16])
def test_arrays_that_begin_between_two_vectors_are_copied(monkeypatch, behind):
    monkeypatch.setattr(vectors, "FILLS", 16)
    device = HostDevice(checked=True, dlpack_device=(dlpack.CUDA, 0))
    module = hlo.parse("""HloModule m
ENTRY e { x = f32[256] parameter(0)  ROOT r = f32[256] negate(x) }""")
    executable = emit_cuda.compile(module, device, libraries=False)
    assert set(vectors_in(executable.program.kernels.values())) == {"f32x4"}
    x = RANDOM.standard_normal(256).astype(np.float32)
    copied = []
    monkeypatch.setattr(
        HostDevice,
        "copy",
        lambda self, *given, copy=HostDevice.copy: copied.append(given) or copy(self, *given),
    )
    np.testing.assert_array_equal(executable(Foreign(device, x, behind)), -x)
    assert len(copied) == (behind == 4)
