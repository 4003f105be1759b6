"""What launches ask of a GPU: sectors, bank conflicts, the least time."""

from statistics import geometric_mean

import pytest

import emit_cuda
import hlo
from benchmarks import gpu_dumps
from codegen.callees import FUNCTIONS
from codegen.elements.kernel import Argument
from codegen.expressions import BLOCK_X, THREAD_X, Apply, Cast, Literal, Load, Name, Op, binary
from codegen.kinds import Pointer, Vector
from codegen.statements import Assign, For, If, Let, LocalVariable
from emit_cuda.grids.accesses import accesses
from emit_cuda.grids.stages import Stage
from emit_cuda.launches import estimates, explained
from optimizer import prepare
from optimizer.gpu.device import rates_of

X, Y, TILE = Name("x"), Name("y"), Name("tile")
GIVEN = [Argument(Pointer("f32", const=True), "x", "x"), Argument(Pointer("f64"), "y", "y")]


def shown(*statements, block=(32, 1, 1), shared=()):
    stage = Stage(statements, (4, 1, 1), block, shared)
    return [str(each) for each in accesses(stage, statements, GIVEN)]


@pytest.mark.parametrize(
    ("index", "told"),
    [
        (THREAD_X, "4 sectors"),
        (THREAD_X + 1, "5 sectors, 4 would do"),
        (THREAD_X * 2, "8 sectors, 4 would do"),
        (THREAD_X * 1000, "32 sectors, 4 would do"),
        (THREAD_X // 32, "1 sector"),
        (binary("&", THREAD_X, 7), "1 sector"),
        (BLOCK_X * 32 + THREAD_X, "4 sectors"),
        (Cast("s64", Load(X, THREAD_X)), "where data say"),
        (Apply(FUNCTIONS["f"], (THREAD_X,)), "where data say"),
    ],
)
def test_sectors_of_a_request(index, told):
    *_, last = shown(Let("f32", "v", Load(X, index)))
    assert last == f"x: load of 4 bytes by 32 threads, {told}"


@pytest.mark.parametrize(
    ("kind", "pitch", "told"),
    [
        ("f32", 32, "32-way bank conflict"),
        ("f32", 33, "no bank conflict"),
        ("f32", 34, "2-way bank conflict"),
        ("f64", 33, "no bank conflict"),
        ("f64", 32, "16-way bank conflict"),
        ("u8", 4, "no bank conflict"),
        ("u8", 1, "no bank conflict"),
    ],
)
def test_conflicts_of_a_column(kind, pitch, told):
    tile = ((kind, "tile", 2048),)
    store = Assign(Load(TILE, THREAD_X * pitch), Literal(0))
    size = {"f32": 4, "f64": 8, "u8": 1}[kind]
    assert shown(store, shared=tile) == [f"tile: store of {size} bytes by 32 threads, {told}"]


def test_threads_that_take_part_and_the_first_turn_of_loops():
    body = (
        LocalVariable("f32", "sum", Literal(0)),
        For("k", 100, (Assign(Name("sum"), Load(X, THREAD_X * 100 + Name("k"))),), start=THREAD_X),
        If(binary("<", THREAD_X, 3), (Assign(Load(Y, THREAD_X), Name("sum")),)),
    )
    assert shown(*body) == [
        "x: load of 4 bytes by 32 threads, 32 sectors, 4 would do",
        "y: store of 8 bytes by 3 threads, 1 sector",
    ]


def test_pointers_into_arrays_and_vectors():
    for kind in (Vector("f32", 4), Vector("f64", 2), Vector("bf16", 8), Vector("u8", 16)):
        four = Cast(Pointer(kind, const=True), Op("+", (X, Literal(4))))
        assert shown(Let(kind, "v", Load(four, THREAD_X))) == [
            "x: load of 16 bytes by 32 threads, 17 sectors, 16 would do"
        ]
    row = Let(Pointer("f32", const=True), "row", Op("&", (Load(X, THREAD_X * 8),)))
    assert shown(row, Let("f32", "v", Load(Name("row"), Literal(0)))) == [
        "x: load of 4 bytes by 32 threads, 32 sectors, 4 would do"
    ]


ADD = """HloModule m
ENTRY e {
  x = f32[1048576] parameter(0)
  y = f32[1048576] parameter(1)
  ROOT s = f32[1048576] add(x, y)
}"""


PRODUCT = """HloModule m
ENTRY e {{
  x = {0}[4096,4096] parameter(0)
  y = {0}[4096,4096] parameter(1)
  ROOT d = {1}[4096,4096] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""


@pytest.mark.parametrize(
    ("kind", "result", "rate"),
    [("f32", "f32", 67e12), ("bf16", "bf16", 989e12), ("s8", "s32", 1978e12)],
)
def test_tensor_cores_have_a_roofline_of_their_own(kind, result, rate):
    program = emit_cuda.emit(prepare(hlo.parse(PRODUCT.format(kind, result))))
    (row,) = estimates(program, rates_of("H100"))
    assert row.bound == "arithmetic"
    assert row.seconds == pytest.approx(1e-6 + 2 * 4096**3 / rate)


def test_a_kernel_is_explained():
    program = emit_cuda.emit(prepare(hlo.parse(ADD)))
    (row,) = estimates(program, rates_of("sm_100"))
    assert (row.bytes, row.cost.flops, row.bound) == (3 << 22, 1 << 20, "memory")
    assert row.seconds == pytest.approx(1e-6 + (3 << 22) / 8e12)
    assert all(each.requests == each.least for each in row.accesses)
    text = explained(program, rates_of("H200"))
    assert text.startswith("s_kernel (loop")
    assert text.endswith("1 step, 12,582,912 bytes, at least 3.6 us on H200")


def test_a_loop_counts_one_iteration():
    text = """HloModule m
b { s = (s32[], f32[64]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  y = f32[64] exponential(x)  ROOT t = (s32[], f32[64]) tuple(j, y) }
c { s = (s32[], f32[64]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { z = s32[] constant(0)  x = f32[64] parameter(0)  s = (s32[], f32[64]) tuple(z, x)
  ROOT w = (s32[], f32[64]) while(s), condition=c, body=b }"""
    rows = estimates(emit_cuda.emit(prepare(hlo.parse(text))))
    assert sum(row.cost.transcendentals for row in rows) == 64
    assert {row.bound for row in rows} == {"launch"}


def test_a_dump_of_xla_is_counted_beside_ours(tmp_path, capsys):
    """A fusion and a call of a library are two launches; a bitcast is none."""
    body = """x = f32[64,64] parameter(0)  d = f32[64,64] dot(x, x), lhs_contracting_dims={1},
  rhs_contracting_dims={0}  e = f32[64,64] exponential(d)  ROOT r = f32[4096] reshape(e)"""
    (tmp_path / "m.before_optimizations.txt").write_text(f"HloModule m\nENTRY e {{ {body} }}")
    (tmp_path / "m.sm_9.0a_gpu_after_optimizations.txt").write_text("""HloModule m
f { p = f32[64,64] parameter(0)  ROOT e = f32[64,64] exponential(p) }
ENTRY e { x = f32[64,64] parameter(0)
  c = (f32[64,64], s8[1024]) custom-call(x, x), custom_call_target="__cublas$gemm"
  d = f32[64,64] get-tuple-element(c), index=0
  e = f32[64,64] fusion(d), kind=kLoop, calls=f
  ROOT r = f32[4096] bitcast(e) }""")
    assert gpu_dumps.compare(gpu_dumps.pairs(tmp_path)) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("| m | 2 | 2 | ")


def test_a_slice_reads_no_more_than_it_takes():
    text = """ENTRY e { x = f32[1024,4096] parameter(0)  i = s32[] parameter(1)
      z = s32[] constant(0)
      ROOT s = f32[1,4096] dynamic-slice(x, i, z), dynamic_slice_sizes={1,4096} }"""
    (row,) = estimates(emit_cuda.emit(prepare(hlo.parse(text))), rates_of("H200"))
    assert row.bytes == 2 * 4096 * 4 + 4


def test_launches_and_bytes_are_about_those_of_xla():
    """XLA's texts are of an H200; it copies less into and out of loops, and launches more."""
    made = {name: gpu_dumps.beside(*texts) for name, *texts in gpu_dumps.stored()}
    assert len(made) == 12
    for name, both in made.items():
        assert both.launches <= both.xla_launches + 2, name
        assert both.bytes <= 1.7 * both.xla_bytes, name
    assert sum(b.launches for b in made.values()) < sum(b.xla_launches for b in made.values())
    assert geometric_mean(b.xla_bytes / b.bytes for b in made.values()) > 1
