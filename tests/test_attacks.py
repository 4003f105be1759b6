"""Modules that once broke memory, hung, or ended in another exception: they are refused, or right.

Each row is named by what it attacks. The siblings of each have tests of their own: shapes of custom
calls in tests/emit_c/test_signatures.py, bombs in tests/hlo/test_bombs.py, memory in
tests/emit_c/test_limits_of_memory.py, donated arguments in tests/emit_c/test_donation.py, caches in
tests/hlo/test_cache.py, names in tests/emit_c/test_safety.py, and random ones in tests/fuzz.
"""

from typing import Any

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
import optimizer
from interpreter.engine.memory import peak_bytes

FFI = (
    ", api_version=API_VERSION_TYPED_FFI, "
    "backend_config={diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}"
)
ADD = """f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

"""
KEPT = "a {\n  x = f32[] parameter(0)\n  ROOT y = f32[] parameter(1)\n}\n\n"
SEVEN = "i = s32[8,1] constant({{7},{7},{7},{7},{7},{7},{7},{7}})"


def entry(*lines: str, before: str = "") -> str:
    body = "\n  ".join(lines)
    return f"HloModule m\n\n{before}ENTRY e {{\n  {body}\n}}\n"


def call(result: str, target: str, *operands: str, options: str = FFI) -> str:
    given = [f"p{i} = {shape} parameter({i})" for i, shape in enumerate(operands)]
    names = ", ".join(f"p{i}" for i in range(len(operands)))
    line = f'ROOT r = {result} custom-call({names}), custom_call_target="{target}"{options}'
    return entry(*given, line)


ONES = ",".join("1" * 65)
REFUSED = {
    "a scatter dimension that is indexed and a batch": (
        "HLO037",
        entry(
            "x = f32[8,2] iota(), iota_dimension=0",
            SEVEN,
            "u = f32[8,2] parameter(0)",
            "ROOT g = f32[8,2] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={}, "
            "scatter_dims_to_operand_dims={0}, input_batching_dims={0}, "
            "scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=a",
            before=KEPT,
        ),
    ),
    "a gather dimension that is indexed and a batch": (
        "HLO037",
        entry(
            "x = f32[8,2] iota(), iota_dimension=0",
            SEVEN,
            "ROOT g = f32[8,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, "
            "start_index_map={0}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
            "index_vector_dim=1, slice_sizes={1,2}",
        ),
    ),
    "an alias that is larger than its argument": (
        "HLO075",
        entry(
            "x = f32[4] parameter(0)",
            "k = f32[] constant(2)",
            "ROOT c = f32[500000] broadcast(k), dimensions={}",
        ).replace("m\n", "m, input_output_alias={ {}: (0, {}, may-alias) }\n", 1),
    ),
    "a bitcast to more bytes": (
        "HLO036",
        entry("p = f32[3] parameter(0)", "b = f32[4] bitcast(p)", "ROOT n = f32[4] negate(b)"),
    ),
    "more dimensions than NumPy has": (
        "HLO020",
        entry("p = f32[] parameter(0)", f"ROOT n = f32[{ONES}] broadcast(p), dimensions={{}}"),
    ),
    "a large empty array that is filled": (
        "HLO003",
        entry("ROOT c = s32[0,9223372036854775807] constant(1)"),
    ),
}


@pytest.mark.parametrize(("code", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_by_verify(code: str, text: str) -> None:
    with pytest.raises(hlo.HloError) as caught:
        hlo.verify(hlo.parse(text))
    assert caught.value.code == code
    assert caught.value.span


CALLS = {
    "topk of more than there is": call("(f32[100000],s32[100000])", "TopK", "f32[10]", options=""),
    "topk of nothing": call("(f32[2],s32[2])", "TopK", options=""),
    "trsm of two types": call("f32[50,50]", "lapack_strsm_ffi", "f64[50,50]", "f32[50,50]"),
    "trsm of one batch": call("f32[9,2,2]", "lapack_strsm_ffi", "f32[9,2,2]", "f32[2,2]"),
    "geqp3, short pivots": call(
        "(f32[30,200],s32[2],f32[30])", "lapack_sgeqp3_ffi", "f32[30,200]", "s32[2]"
    ),
    "potrf, large result": call("(f32[3000,3000],s32[])", "lapack_spotrf_ffi", "f32[2,2]"),
    "potrf of nothing": call("(f32[2,2],s32[])", "lapack_spotrf_ffi"),
    "potrf of integers": call("(s32[2,2],s32[])", "lapack_spotrf_ffi", "s32[2,2]"),
    "potrf of a row": call("(f32[2],s32[])", "lapack_spotrf_ffi", "f32[2]"),
    "syevd, many values": call("(f32[2,2],f32[4000000],s32[])", "lapack_ssyevd_ffi", "f32[2,2]"),
    "getrf, many pivots": call("(f32[2,2],s32[3000000],s32[])", "lapack_sgetrf_ffi", "f32[2,2]"),
    "geev, not square": call(
        "(f32[2],f32[2],c64[2,3],c64[2,3],s32[])", "lapack_sgeev_ffi", "f32[2,3]"
    ),
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_shapes_of_custom_calls_are_not_believed(text: str) -> None:
    module = hlo.parse(text)
    given = [hlo_zeros(p) for p in module.entry.parameters]
    for run in (
        lambda: interpreter.evaluate(module, *given),
        lambda: emit_c.emit(optimizer.prepare(module)),
    ):
        with pytest.raises(hlo.HloError) as caught:
            run()
        assert caught.value.code == "HLO122"


def hlo_zeros(parameter: hlo.Instruction) -> Any:
    shape = parameter.shape
    return np.zeros(shape.dims, shape.element_type.dtype)


@pytest.mark.filterwarnings("ignore:the text leaves out")
def test_an_elided_constant_is_counted_before_it_is_made() -> None:
    module = hlo.parse(entry("ROOT c = f32[1099511627776] constant({...})"))
    assert peak_bytes(module) >= 4 << 40
    with pytest.raises(hlo.HloError) as caught:
        interpreter.evaluate(module)
    assert caught.value.code == "HLO113"


def nested(count: int) -> str:
    """So many loops, each in the body of another."""
    text = "HloModule m\n\n"
    inner = "negate(p)"
    for i in range(count):
        text += f"c.{i} {{\n  p = f32[] parameter(0)\n  ROOT f = pred[] constant(false)\n}}\n\n"
        text += f"b.{i} {{\n  p = f32[] parameter(0)\n  ROOT w = f32[] {inner}\n}}\n\n"
        inner = f"while(p), condition=c.{i}, body=b.{i}"
    return text + f"ENTRY e {{\n  p = f32[] parameter(0)\n  ROOT w = f32[] {inner}\n}}\n"


def test_loops_are_nested_so_deep_and_no_deeper() -> None:
    with pytest.raises(hlo.HloError):
        emit_c.emit(optimizer.prepare(hlo.parse(nested(300))))


KEEPS = {
    "a gather that collapses what has no elements": entry(
        "x = f32[2,9] parameter(0)",
        "i = s32[5] parameter(1)",
        "ROOT g = f32[5,9] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={0,9}",
    ),
    "infinity beside padding": entry(
        "x = f32[1,1,2] constant({{{1,1}}})",
        "k = f32[1,1,2] constant({{{inf,1}}})",
        "ROOT c = f32[1,1,3] convolution(x, k), window={size=2 pad=1_1}, dim_labels=bf0_oi0->bf0",
    ),
    "a size that only the run knows, of a static result": entry(
        "x = s32[65] iota(), iota_dimension=0",
        "n = s32[] constant(2)",
        "d = s32[65] set-dimension-size(x, n), dimensions={0}",
        "ROOT g = s32[] get-dimension-size(d), dimensions={0}",
    ),
    "floats of three precisions": entry(
        "p = f32[4] parameter(0)",
        "q = bf16[] parameter(1)",
        "b = bf16[4] broadcast(q), dimensions={}",
        "d = f32[4] divide(p, b)",
        "ROOT r = bf16[4] reverse(d), dimensions={0}",
    ),
    "a selection among two halves": entry(
        "a = bf16[4] parameter(0)",
        "b = f16[4] parameter(1)",
        "p = pred[4] compare(a, a), direction=NE",
        "ROOT r = bf16[4] select(p, a, b)",
    ),
    "a concatenation of two precisions": entry(
        "a = bf16[4] parameter(0)",
        "b = f8e5m2[4] parameter(1)",
        "ROOT r = bf16[8] concatenate(a, b), dimensions={0}",
    ),
    "a transpose that rounds, and forgets run-time sizes": entry(
        "p = f64[<=7,<=4,<=5]{0,1,2} parameter(0)",
        "t = f32[5,4,7]{2,0,1} transpose(p), dimensions={2,1,0}",
        "ROOT a = f32[5,4,7]{2,0,1} abs(t)",
    ),
    "windows of another precision than their start": entry(
        "x = bf16[8] parameter(0)",
        "y = f32[] parameter(1)",
        "ROOT c = f32[7] reduce-window(x, y), window={size=2}, to_apply=f",
        before=ADD,
    ),
    "padding between all elements": entry(
        "x = f32[125] parameter(0)",
        "z = f32[] constant(0)",
        "ROOT r = f32[250] pad(x, z), padding=0_1_1",
    ),
}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("text", KEEPS.values(), ids=KEEPS)
def test_interpreter_optimizer_and_c_agree(text: str, optimize: bool) -> None:
    module = hlo.parse(text)
    given = [
        hlo_zeros(p) + np.ones((), p.shape.element_type.dtype) for p in module.entry.parameters
    ]
    want = interpreter.evaluate(module, *given)
    for got in (
        interpreter.evaluate(optimizer.optimize(module), *given),
        emit_c.compile(module, optimize=optimize)(*given),
    ):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("run", [interpreter.evaluate, lambda m, x: emit_c.compile(m)(x)])
@pytest.mark.parametrize(
    "line",
    [
        *(f"pred[2] compare(x, y), direction={direction}" for direction in ("LE", "GT")),
        *("c64[2] maximum(x, y)", "c64[2] minimum(x, y)", "c64[2] clamp(y, x, z)"),
    ],
)
def test_complex_numbers_have_no_order(line: str, run: Any) -> None:
    lines = ("x = c64[2] parameter(0)", "y = c64[2] negate(x)", "z = c64[2] sine(x)")
    module = hlo.parse(entry(*lines, f"ROOT r = {line}"))
    with pytest.raises(hlo.HloError) as caught:
        run(module, np.complex64([1, 2j]))
    assert caught.value.code == "HLO101"


@pytest.mark.parametrize("run", [interpreter.evaluate, lambda m, x: emit_c.compile(m)(x)])
@pytest.mark.parametrize("direction", ["NE", "LE"])
def test_what_is_sorted_by_no_order_is_still_all_there(direction: str, run: Any) -> None:
    body = ADD.replace("f32[] add(x, y)", f"pred[] compare(x, y), direction={direction}")
    text = entry(
        "x = f32[9] parameter(0)",
        "ROOT r = f32[9] sort(x), dimensions={0}, to_apply=f",
        before=body,
    )
    given = np.float32([3, 1, 2, 1, np.inf, -1, 3, 0, 5])
    assert sorted(run(hlo.parse(text), given)) == sorted(given)


CALLED = """  v = f32[<=2] parameter(1)
  ROOT c = f32[<=2] custom-call(v), custom_call_target="unknown"
}
"""


@pytest.mark.filterwarnings("ignore:m stays dynamic")
def test_a_sparse_convolution_of_run_time_size_is_refused() -> None:
    text = entry(
        "x = f32[1,8] parameter(0)",
        "v = f32[<=2,1] parameter(1)",
        "i = s32[<=2,1] parameter(2)",
        "k = (f32[<=2,1], s32[<=2,1]) tuple(v, i)",
        "ROOT c = f32[1,1] convolution(x, k), dim_labels=bf_io->bf, "
        "sparsity_config={ rhs={sparsity=1x4 dimension=0 stride=1} }",
    )
    module = hlo.parse(text)
    with pytest.raises(hlo.HloError, match="sparsity_config") as caught:
        emit_c.compile(module)
    # No hint leads to where it is refused again.
    assert caught.value.notes == ("the interpreter cannot evaluate it either",)
    with pytest.raises(hlo.HloError, match="sparsity_config"):
        interpreter.evaluate(module, *map(hlo_zeros, module.entry.parameters))
    called = hlo.parse(text.partition("  v =")[0] + CALLED)
    with pytest.raises(hlo.HloError) as caught:
        emit_c.compile(called)
    assert "the interpreter cannot evaluate it either" in caught.value.notes
