"""Kernels that read operands transposed, by tiles: equal to the interpreter, also checked."""

from itertools import starmap

import pytest
from cuda_batches import ARCHITECTURES, batch_of

import emit_cuda
import hlo
from emit_cuda import launches, nvrtc
from emit_cuda.grids import transposing
from optimizer import prepare

# The parameters, and what is computed of them.
BODIES = {
    "sum with rows": (
        "x = f32[70,100] parameter(0)  y = f32[100,70] parameter(1)",
        "t = f32[100,70] transpose(x), dimensions={1,0}  ROOT r = f32[100,70] add(t, y)",
    ),
    "before and behind": (
        "x = f32[64,96] parameter(0)  y = f32[96,64] parameter(1)  b = f32[64] parameter(2)",
        (
            "n = f32[64,96] negate(x)  t = f32[96,64] transpose(n), dimensions={1,0}"
            "  c = f32[96,64] broadcast(b), dimensions={1}  p = f32[96,64] multiply(t, y)"
            "  ROOT r = f32[96,64] add(p, c)"
        ),
    ),
    "vectors of 2": (
        "x = bf16[70,130] parameter(0)  y = bf16[130,70] parameter(1)",
        "t = bf16[130,70] transpose(x), dimensions={1,0}  ROOT r = bf16[130,70] add(t, y)",
    ),
    "vectors of 4": (
        "x = s8[140,36] parameter(0)  y = s8[36,140] parameter(1)",
        "t = s8[36,140] transpose(x), dimensions={1,0}  ROOT r = s8[36,140] add(t, y)",
    ),
    "narrow and odd": (
        "x = bf16[37,45] parameter(0)  y = bf16[45,37] parameter(1)",
        "t = bf16[45,37] transpose(x), dimensions={1,0}  ROOT r = bf16[45,37] add(t, y)",
    ),
    "two of them, of two types": (
        "x = f32[40,50] parameter(0)  y = bf16[40,50] parameter(1)",
        (
            "t = f32[50,40] transpose(x), dimensions={1,0}  w = f32[40,50] convert(y)"
            "  u = f32[50,40] transpose(w), dimensions={1,0}  ROOT r = f32[50,40] add(t, u)"
        ),
    ),
    "an array and its transpose": (
        "x = f32[48,48] parameter(0)",
        "t = f32[48,48] transpose(x), dimensions={1,0}  ROOT r = f32[48,48] add(x, t)",
    ),
    "dimensions that stay together": (
        "x = f32[3,64,20,6] parameter(0)  y = f32[3,20,6,64] parameter(1)",
        (
            "t = f32[3,20,6,64] transpose(x), dimensions={0,2,3,1}"
            "  ROOT r = f32[3,20,6,64] subtract(t, y)"
        ),
    ),
    "three turned around": (
        "x = c64[20,5,33] parameter(0)  y = c64[33,5,20] parameter(1)",
        "t = c64[33,5,20] transpose(x), dimensions={2,1,0}  ROOT r = c64[33,5,20] multiply(t, y)",
    ),
    "a part": (
        "x = f32[40,50] parameter(0)  y = f32[30,40] parameter(1)",
        (
            "s = f32[40,30] slice(x), slice={[0:40], [7:37]}"
            "  t = f32[30,40] transpose(s), dimensions={1,0}  ROOT r = f32[30,40] add(t, y)"
        ),
    ),
    "a chosen one": (
        "x = f32[40,50] parameter(0)  y = f32[50,40] parameter(1)",
        (
            "t = f32[50,40] transpose(x), dimensions={1,0}"
            "  g = pred[50,40] compare(t, y), direction=GT"
            "  ROOT r = f32[50,40] select(g, t, y)"
        ),
    ),
}


def module_of(parameters, computed):
    """A module of one fusion."""
    declared = [line.split(" = ") for line in parameters.split("  ")]
    names = ", ".join(name for name, _ in declared)
    root = computed.rpartition("ROOT r = ")[2].partition(" ")[0]
    return hlo.parse(
        f"HloModule tiles\nfused {{ {parameters}  {computed} }}\n"
        f"ENTRY main {{ {parameters}  ROOT r = {root} fusion({names}), kind=kLoop, calls=fused }}"
    )


@pytest.fixture(params=["short rows", "long rows"])
def rows(request, monkeypatch):
    if request.param == "long rows":
        monkeypatch.setattr(transposing, "WAVE", 1)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.usefixtures("rows")
def test_tiles_give_what_the_interpreter_gives(checked):
    batch = batch_of(starmap(module_of, BODIES.values()))
    assert {s.kind for *_, program in batch.cases for s in program.steps} == {"transpose"}
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.usefixtures("rows")
def test_tiles_compile_for_a_gpu(architecture):
    source = batch_of(starmap(module_of, BODIES.values())).kernels.source("")
    assert len(nvrtc.compile(source, architecture).usage) >= len(BODIES)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("name", ["sum with rows", "vectors of 2", "vectors of 4", "a part"])
def test_memory_is_read_and_written_by_rows(name):
    (row,) = launches.estimates(emit_cuda.emit(prepare(module_of(*BODIES[name]))))
    assert not [a for a in row.accesses if a.requests is None or a.requests > 2 * a.least]


@pytest.mark.parametrize("kind", ["s8", "bf16", "f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("dims", [(33, 97), (64, 64), (17, 45)])
@pytest.mark.usefixtures("rows")
def test_tiles_have_no_bank_conflict(kind, dims):
    rows, columns = dims
    x, y = f"{kind}[{rows},{columns}]", f"{kind}[{columns},{rows}]"
    computed = f"ROOT r = {y} transpose(x), dimensions={{1,0}}"
    (row,) = launches.estimates(
        emit_cuda.emit(prepare(module_of(f"x = {x} parameter(0)", computed)))
    )
    in_tiles = [access for access in row.accesses if access.shared]
    assert len(in_tiles) == 2
    assert all(str(access).endswith("no bank conflict") for access in in_tiles), in_tiles


@pytest.mark.parametrize(
    "body",
    [
        # Few rows; rows that stay rows; no row of the operand at all.
        (
            "x = f32[8,500] parameter(0)  y = f32[500,8] parameter(1)",
            "t = f32[500,8] transpose(x), dimensions={1,0}  ROOT r = f32[500,8] add(t, y)",
        ),
        (
            "x = f32[20,30,40] parameter(0)  y = f32[30,20,40] parameter(1)",
            "t = f32[30,20,40] transpose(x), dimensions={1,0,2}  ROOT r = f32[30,20,40] add(t, y)",
        ),
        (
            "x = f32[40] parameter(0)  y = f32[40,30] parameter(1)",
            (
                "b = f32[30,40] broadcast(x), dimensions={1}"
                "  t = f32[40,30] transpose(b), dimensions={1,0}  ROOT r = f32[40,30] add(t, y)"
            ),
        ),
    ],
)
def test_loops_stay_where_tiles_gain_nothing(body):
    program = emit_cuda.emit(prepare(module_of(*body)))
    assert [step.kind for step in program.steps] == ["loop"]


def test_a_layout_of_the_result_costs_nothing():
    """Arrays of a device lie by rows, so a result is not computed in another layout first."""
    module = hlo.parse(
        """HloModule t, entry_computation_layout={(f32[40,50], f32[50,40]{1,0})->f32[50,40]{0,1}}
ENTRY main {
  x = f32[40,50]{1,0} parameter(0)
  t = f32[50,40]{0,1} transpose(x), dimensions={1,0}
  y = f32[50,40]{1,0} parameter(1)
  ROOT a = f32[50,40]{0,1} add(t, y)
}"""
    )
    program = emit_cuda.emit(prepare(emit_cuda.optimized(module)))
    assert [step.kind for step in program.steps] == ["transpose"]
