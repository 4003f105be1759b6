"""Fourier transforms by blocks: equal to the interpreter, and no mistake in checked mode."""

from itertools import starmap

import numpy as np
import pytest
from cuda_batches import ARCHITECTURES, batch_of

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.grids import fourier
from emit_cuda.grids.accesses import accesses
from optimizer import prepare

# Type of transform, operand, result, lengths.
CASES = [
    ("FFT", "c64[3,2,64]", "c64[3,2,64]", [2, 64]),
    ("IFFT", "c128[7,60]", "c128[7,60]", [7, 60]),
    ("FFT", "c64[91,5]", "c64[91,5]", [91, 5]),
    ("RFFT", "f32[3,6,20]", "c64[3,6,11]", [6, 20]),
    ("RFFT", "f64[2,15]", "c128[2,8]", [15]),
    ("IRFFT", "c64[2,4,6,11]", "f32[2,4,6,20]", [4, 6, 20]),
    ("IRFFT", "c64[4,8]", "f32[4,15]", [15]),
    ("FFT", "c64[5,17]", "c64[5,17]", [5, 17]),
    ("IRFFT", "c64[3,18]", "f32[3,34]", [34]),
    ("FFT", "c64[2,1]", "c64[2,1]", [1]),
    ("RFFT", "f32[3,6,1]", "c64[3,6,1]", [6, 1]),
    ("IRFFT", "c128[3,1]", "f64[3,1]", [1]),
]


def module_of(kind, operand, result, lengths):
    return hlo.parse(f"""HloModule m
ENTRY e {{
  x = {operand} parameter(0)
  ROOT r = {result} fft(x), fft_type={kind}, fft_length={{{",".join(map(str, lengths))}}}
}}""")


def launches(program):
    return [step.kind for step in program.steps]


@pytest.mark.parametrize(
    ("cases", "checked"),
    [
        (CASES[1:2] + CASES[6:7] + CASES[-2:], True),
        pytest.param(CASES, True, marks=pytest.mark.slow),
        pytest.param(CASES, False, marks=pytest.mark.slow),
    ],
    ids=["few", "checked", "plain"],
)
def test_they_give_what_the_interpreter_gives(cases, checked):
    batch = batch_of(starmap(module_of, cases))
    assert all(set(launches(program)) == {"transform"} for *_, program in batch.cases)
    assert not batch.differences(checked=checked)


@pytest.mark.parametrize("some", [CASES[3:4], pytest.param(CASES[:6], marks=pytest.mark.slow)])
def test_lines_that_do_not_fit_are_matrices(monkeypatch, some):
    monkeypatch.setattr(fourier, "SHARED_BYTES", 128)
    batch = batch_of(starmap(module_of, some))
    assert len(launches(batch.cases[0][3])) == 3
    assert not batch.differences(checked=True)


def test_what_is_before_it_is_computed_as_it_is_read():
    module = hlo.parse("""HloModule m
ENTRY e {
  x = f32[4,32] parameter(0)
  y = f32[4,32] multiply(x, x)
  z = c64[4,32] complex(x, y)
  ROOT r = c64[4,32] fft(z), fft_type=FFT, fft_length={32}
}""")
    x = np.random.default_rng(0).standard_normal((4, 32)).astype(np.float32)
    made = emit_cuda.compile(module, "host")(x)
    np.testing.assert_allclose(made, np.fft.fft(x + 1j * x * x), rtol=2e-5, atol=2e-5)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu(architecture):
    usage = nvrtc.compile(batch_of([module_of(*CASES[1])]).kernels.source(""), architecture).usage
    assert all(each.spilled_bytes == 0 for each in usage.values())


def test_threads_mostly_ask_different_banks():
    program = emit_cuda.emit(prepare(module_of("FFT", "c64[8,512]", "c64[8,512]", [512])))
    written = next(iter(program.kernels.values()))
    reads = accesses(written.stage, written.statements, written.arguments)
    shared = [each for each in reads if each.shared]
    assert shared
    asked = sum(each.requests or 0 for each in shared)
    assert asked <= 1.4 * sum(each.least for each in shared)
