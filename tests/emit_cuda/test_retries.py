"""Reciprocals of a vector share a branch: the bits are those of divisions."""

import numpy as np
import pytest
from cuda_batches import ARCHITECTURES, CHECKED_AND_NOT, Batch, names_in_cuda

import hlo
from codegen.expressions import Literal, Name, binary, item
from codegen.statements import Assign, For, Let, LocalVariable
from emit_cuda import nvrtc
from emit_cuda.code.names import CudaNames
from emit_cuda.loops import vectors
from emit_cuda.loops.retries import with_retries
from interpreter.numbers.compare import BITS

TEXT = """HloModule retries
ENTRY main {
  x = f32[COUNT] parameter(0)
  o = f32[] constant(1)
  ones = f32[COUNT] broadcast(o), dimensions={}
  ROOT r = f32[COUNT] divide(ones, x)
}"""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(vectors, "FILLS", 16)


def batch():
    """Numbers of all sizes; and some vectors that are fine, beside others with special numbers."""
    generator = np.random.default_rng(0)
    random = generator.integers(0, 2**32, 4000, dtype=np.uint32).view(np.float32)
    plain = generator.uniform(1, 2, 4000).astype(np.float32)
    ends = np.float32(2) ** np.arange(-149, 128, dtype=np.float32)
    around = np.concatenate([ends, np.nextafter(ends, np.float32(9)), -ends])
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 2**126, 3 * 2**125], np.float32)
    x = np.concatenate([random, plain, around, special, plain])
    made = Batch()
    module = hlo.parse(TEXT.replace("COUNT", str(len(x))))
    made.add(module, [x])
    return made


@CHECKED_AND_NOT
def test_they_have_the_bits_of_divisions(checked):
    made = batch()
    assert "quick_reciprocal_f32" in made.kernels.words
    assert not made.differences(BITS, checked=checked)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu(architecture):
    source = batch().kernels.source("")
    (usage,) = nvrtc.compile(source, architecture).usage.values()
    assert usage.stack_bytes + usage.spilled_bytes == 0
    assert "rcp.approx.ftz.f32" in nvrtc.ptx(source, architecture)


V, X, Y, SUM = map(Name, ("v", "x", "y", "sum"))
RECIPROCAL = Let("f32", "r", binary("/", Literal(1.0, "f32"), item(X, V)))


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        (Assign(item(Y, V), Name("r")), True),
        (Assign(item(X, V), Name("r")), False),  # is read again
        (Assign(item(Name("memory"), V), Name("r")), False),  # may lie where another is read
        (Assign(SUM, SUM + Name("r")), False),
    ],
)
def test_only_what_may_run_again_does(changed, again):
    loop = For("v", 4, (RECIPROCAL, changed), unroll=True)
    local = (LocalVariable("f32x4", "x"), LocalVariable("f32x4", "y"), LocalVariable("f32", "sum"))
    made = with_retries((*local, loop), CudaNames())
    assert (made != (*local, loop)) == again


def test_a_division_by_another_number_stays():
    module = hlo.parse(TEXT.replace("COUNT", "4096").replace("constant(1)", "constant(3)"))
    assert not any("quick_reciprocal" in n for n in names_in_cuda(module, optimize=False))
