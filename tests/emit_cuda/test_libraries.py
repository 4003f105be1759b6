"""Calls of cuBLASLt and cuFFT: what is handed to them, and what comes back, by a stand-in."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import emit_cuda
import hlo
import interpreter
import optimizer
from codegen.program.steps import LibraryCall
from emit_cuda.host import HostDevice
from emit_cuda.libraries import Libraries, libraries

STAND_IN = Path(__file__).parent / "stand_in" / "libraries.cpp"
RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    made = tmp_path_factory.mktemp("libraries") / "libboth.so"
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", str(STAND_IN), "-o", str(made)], check=True)
    return libraries(made, made)


def calls(executable):
    return [step.function for step in executable.program.steps if isinstance(step, LibraryCall)]


def same(text, found, *arguments, rtol=1e-5, count=1):
    """The value with libraries is the interpreter's; gives what they were asked for."""
    module = hlo.parse(text)
    arguments = [
        a.astype(p.shape.element_type.dtype)
        for a, p in zip(arguments, module.entry.parameters, strict=True)
    ]
    executable = emit_cuda.compile(module, HostDevice(), libraries=found, optimize=False)
    values, wanted = executable(*arguments), interpreter.evaluate(module, *arguments)
    pairs = zip(values, wanted, strict=True) if isinstance(values, tuple) else [(values, wanted)]
    for value, want in pairs:
        both = (np.asarray(v, np.complex128) for v in (value, want))
        np.testing.assert_allclose(*both, rtol=rtol, atol=rtol)
    assert len(calls(executable)) == count
    plain = emit_cuda.emit(optimizer.prepare(module))
    assert not any(isinstance(step, LibraryCall) for step in plain.steps)
    return calls(executable)


def product(left, right, result, dims, extra="", root=""):
    """A fusion of `gemm-rewriter`: a product with its epilogue."""
    rest = f"{extra} ROOT r = {result} {root}" if root else ""
    return f"""HloModule m
f {{ x = {left} parameter(0)  y = {right} parameter(1)
  {"" if root else "ROOT "}d = {result} dot(x, y), {dims} {rest} }}
ENTRY e {{ a = {left} parameter(0)  b = {right} parameter(1)  c = f32[6] parameter(2)
  ROOT p = {result} fusion(a, b{", c" if "parameter(2)" in extra else ""}), kind=kCustom, calls=f,
    backend_config={{"fusion_config":{{"kind":"__cublas$gemm"}}}} }}"""


@pytest.mark.parametrize(
    ("left", "right", "contracting"),
    [([5, 7], [7, 6], (1, 0)), ([7, 5], [7, 6], (0, 0)), ([5, 7], [6, 7], (1, 1)),
     ([7, 5], [6, 7], (0, 1))],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16", "c64", "c128"])
def test_products_of_matrices(found, left, right, contracting, kind):
    dims = f"lhs_contracting_dims={{{contracting[0]}}}, rhs_contracting_dims={{{contracting[1]}}}"
    shapes = [f"{kind}{dims}".replace(" ", "") for dims in (left, right, [5, 6])]
    text = product(*shapes, dims)
    x, y = (RANDOM.normal(size=(2, *dims)) for dims in (left, right))
    x, y = (both[0] + 1j * both[1] if kind[0] == "c" else both[0] for both in (x, y))
    (call,) = same(text, found, x, y, np.zeros(6), rtol={"f16": 2e-3, "bf16": 2e-2}.get(kind, 1e-5))
    assert (call.rows, call.columns, call.depth) == (5, 6, 7)


@pytest.mark.parametrize(("depth", "count"), [(32, 1), (24, 0)])
def test_products_of_bytes_by_rows(found, depth, count):
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
    text = product(f"s8[8,{depth}]", f"s8[12,{depth}]", "s32[8,12]", dims)
    x, y = (RANDOM.integers(-128, 128, (rows, depth)) for rows in (8, 12))
    same(text, found, x, y, np.zeros(6), count=count)


def test_products_in_batches(found):
    dims = "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, "
    dims += "lhs_contracting_dims={3}, rhs_contracting_dims={2}"
    text = product("f32[2,3,5,7]", "f32[2,3,7,6]", "f32[2,3,5,6]", dims)
    x, y = RANDOM.normal(size=(2, 3, 5, 7)), RANDOM.normal(size=(2, 3, 7, 6))
    (call,) = same(text, found, x, y, np.zeros(6))
    assert call.batch == 6


def test_an_epilogue_goes_along(found):
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    extra = """b = f32[6] parameter(2)  bs = f32[5,6] broadcast(b), dimensions={1}
  half = f32[] constant(0.5)  halves = f32[5,6] broadcast(half), dimensions={}
  zero = f32[] constant(0)  zeros = f32[5,6] broadcast(zero), dimensions={}
  m = f32[5,6] multiply(d, halves)  s = f32[5,6] add(m, bs) """
    text = product("f32[5,7]", "f32[7,6]", "f32[5,6]", dims, extra, "maximum(s, zeros)")
    x, y, bias = RANDOM.normal(size=(5, 7)), RANDOM.normal(size=(7, 6)), RANDOM.normal(size=6)
    (call,) = same(text, found, x, y, bias)
    assert (call.alpha, call.bias, call.relu) == (0.5, True, True)


def test_what_a_library_cannot_do_is_a_kernel(found):
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = product("f32[5,7]", "f32[7,6]", "f32[5,6]", dims, root="tanh(d)")
    same(text, found, RANDOM.normal(size=(5, 7)), RANDOM.normal(size=(7, 6)), np.zeros(6), count=0)
    text = text.replace("tanh(d)", "negate(d)").replace("f32[5,7]", "s32[5,7]")
    text = text.replace("f32[7,6]", "s32[7,6]").replace("f32[5,6]", "s32[5,6]")
    same(text, found, np.ones((5, 7)), np.ones((7, 6)), np.zeros(6), count=0)


def test_the_pass_chooses_large_products(found):
    text = """HloModule m
ENTRY e {{ x = f32[{0},{0}] parameter(0)  y = f32[{0},{0}] parameter(1)
  d = f32[{0},{0}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  b = f32[{0}] parameter(2)  bs = f32[{0},{0}] broadcast(b), dimensions={{1}}
  ROOT s = f32[{0},{0}] add(d, bs) }}"""
    for size, count in ((32, 0), (512, 1)):
        module = optimizer.optimize(hlo.parse(text.format(size)), target="gpu")
        program = emit_cuda.emit(optimizer.prepare(module), libraries=found)
        assert sum(isinstance(step, LibraryCall) for step in program.steps) == count
    program = emit_cuda.emit(optimizer.prepare(module), libraries=Libraries())
    assert not any(isinstance(step, LibraryCall) for step in program.steps)


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_transforms(found, kind, width):
    lines, given = [], []
    for n, lengths in enumerate([(8,), (7,), (4, 6), (3, 4, 5)]):
        half = (*lengths[:-1], lengths[-1] // 2 + 1)
        source, target = half if kind == "IRFFT" else lengths, half if kind == "RFFT" else lengths
        x = RANDOM.normal(size=(2, *lengths))
        if kind == "IRFFT":
            x = np.fft.rfftn(x, axes=range(1, len(lengths) + 1))
        given.append(x if kind in ("RFFT", "IRFFT") else x + 1j * RANDOM.normal(size=x.shape))
        types = (f"f{width}" if kind == other else f"c{2 * width}" for other in ("RFFT", "IRFFT"))
        shapes = [
            f"{t}[2,{','.join(map(str, d))}]" for t, d in zip(types, (source, target), strict=True)
        ]
        lines.append(f"""x{n} = {shapes[0]} parameter({n})
  y{n} = {shapes[1]} fft(x{n}), fft_type={kind}, fft_length={{{",".join(map(str, lengths))}}}""")
    shape = ", ".join(line.split(" = ")[-1].split(" fft")[0] for line in lines)
    text = f"HloModule m\nENTRY e {{ {' '.join(lines)} ROOT r = ({shape}) tuple(y0, y1, y2, y3) }}"
    made = same(text, found, *given, rtol=1e-4 if width == 32 else 1e-9, count=4)
    assert [(call.kind, call.batch) for call in made] == [(kind, 2)] * 4


def test_a_refusal_is_an_error(found):
    text = """HloModule m
ENTRY e { x = c64[4] parameter(0)  ROOT y = c64[4] fft(x), fft_type=FFT, fft_length={4} }"""
    executable = emit_cuda.compile(hlo.parse(text), HostDevice(), libraries=found)
    (call,) = calls(executable)
    found.cufft._plans[call] = 63
    with pytest.raises(hlo.HloError, match="cufftExecC2C gives status 4"):
        executable(np.zeros(4, np.complex64))
    del found.cufft._plans[call]


def test_a_transform_of_no_numbers_is_no_call(found):
    text = """HloModule m
ENTRY e { x = c64[1,1] parameter(0)  ROOT y = c64[1,1] fft(x), fft_type=FFT, fft_length={0} }"""
    executable = emit_cuda.compile(hlo.parse(text), HostDevice(), libraries=found)
    assert calls(executable) == []
