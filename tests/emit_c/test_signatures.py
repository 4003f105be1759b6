"""Custom calls that declare shapes or options which the functions behind them do not have.

The functions believe what they are told, so interpreter and C look at it first.
"""

import numpy as np
import pytest
from strategies.compiled import check, entry

import emit_c
import hlo
import interpreter

TRIANGLE = "{diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}"
RIGHT = TRIANGLE.replace("76", "82", 1)
LOWER = "{uplo = 76 : ui8}"
VALUES = "{mode = 78 : ui8, uplo = 76 : ui8}"
SOME = "{mode = 83 : ui8}"
ALL = "{mode = 65 : ui8}"
PAIR = "{compute_left = 86 : ui8, compute_right = 86 : ui8}"
Q = "{left = true, transpose = false}"
# What is wrong, the target, operands, result, options, and a part of the message.
WRONG = [
    ("TopK", "f32[10]", "(f32[100000], s32[100000])", "", "needs t <= n"),
    ("TopK", "", "(f32[1], s32[1])", "", "takes 1 array, not 0"),
    ("TopK", "f32[10]", "(f32[3], s64[3])", "", "not s32"),
    ("TopK", "f32[10]", "(f32[3], s32[4])", "", "t = 3"),
    ("TopK", "f32[2,10]", "(f32[3,3], s32[3,3])", "", r"\* = 2"),
    ("TopK", "f32[10]", "f32[3]", "", "gives 2 arrays, not 1"),
    ("lapack_strsm_ffi", "f64[50,50] f32[50,50]", "f32[50,50]", TRIANGLE, "not f32"),
    ("lapack_strsm_ffi", "f32[1000,2,2] f32[2,2]", "f32[1000,2,2]", TRIANGLE, "operand 1"),
    ("lapack_strsm_ffi", "f32[2,2] f32[4,3]", "f32[4,3]", TRIANGLE, "needs r = m"),
    ("lapack_strsm_ffi", "f32[4,4] f32[4,3]", "f32[4,3]", RIGHT, "r = n on the right"),
    ("lapack_strsm_ffi", "f32[4,4] f32[4,3]", "f32[4,3]", "", "option 'side'"),
    ("lapack_dtrsm_ffi", "f32[4,4] f32[4,3]", "f32[4,3]", TRIANGLE, "not f64"),
    ("lapack_sgeqp3_ffi", "f32[30,200] s32[2]", "(f32[30,200], s32[2], f32[30])", "", "n = 200"),
    ("lapack_spotrf_ffi", "f32[2,2]", "(f32[3000,3000], s32[])", LOWER, "n = 2"),
    ("lapack_spotrf_ffi", "", "(f32[2,2], s32[])", LOWER, "takes 1 array,"),
    ("lapack_spotrf_ffi", "s32[2,2]", "(s32[2,2], s32[])", LOWER, "not f32"),
    ("lapack_spotrf_ffi", "bf16[2,2]", "(bf16[2,2], s32[])", LOWER, "not f32"),
    ("lapack_spotrf_ffi", "f32[4]", "(f32[4], s32[])", LOWER, "operand 0 is f32.4."),
    ("lapack_spotrf_ffi", "f32[2,2]", "(f32[3,2,2], s32[3])", LOWER, "result 0"),
    ("lapack_spotrf_ffi", "f32[2,2]", "((f32[2,2], s32[]))", LOWER, "result 0"),
    ("lapack_ssyevd_ffi", "f32[2,2]", "(f32[2,2], f32[4000000], s32[])", VALUES, "result 1"),
    ("lapack_cheevd_ffi", "c64[2,2]", "(c64[2,2], c64[2], s32[])", VALUES, "not f32"),
    ("lapack_sgetrf_ffi", "f32[2,3]", "(f32[2,3], s32[3000000], s32[])", "", "k = 2"),
    ("lapack_sgesdd_ffi", "f32[3,9]", "(f32[3,9], f32[3])", SOME, "gives 5 arrays, not 2"),
    ("lapack_sgesdd_ffi", "f32[9,3]", "(f32[9,3], f32[3], f32[9,5], f32[3,3], s32[])",
     SOME, "u = m"),
    ("lapack_sgesdd_ffi", "f32[9,3]", "(f32[9,3], f32[3], f32[9,3], f32[3,3], s32[])",
     ALL, "u = m"),
    ("lapack_sgesdd_ffi", "f32[9,3]", "(f32[9,3], f32[3], f32[9,9], f32[3,3], s32[])",
     "{mode = 79 : ui8}", "one of A, S, N"),
    ("lapack_sgeev_ffi", "f32[3,2]", "(f32[2], f32[2], c64[2,2], c64[2,2], s32[])", PAIR, "n = 3"),
    ("lapack_sgehrd_ffi", "f32[3,3]", "(f32[3,3], f32[2], s32[])", "{low = 1 : i32}", "'high'"),
    ("lapack_sgehrd_ffi", "f32[3,3]", "(f32[3,3], f32[2], s32[])",
     "{low = 1 : i32, high = 4 : i32}", "needs 1 <= low <= high <= n"),
    ("lapack_sgehrd_ffi", "f32[3,3]", "(f32[3,3], f32[2], s32[])",
     "{low = 0 : i32, high = 3 : i32}", "needs 1 <= low <= high <= n"),
    ("lapack_sgehrd_ffi", "f32[0,0]", "(f32[0,0], f32[0], s32[])",
     "{low = 1 : i32, high = 3 : i32}", "needs 1 <= low <= high <= n"),
    ("lapack_sorgqr_ffi", "f32[3,5] f32[3]", "f32[3,5]", "", "needs r <= n <= m"),
    ("lapack_cungqr_ffi", "c64[7,5,3] c64[7,4]", "c64[7,5,3]", "", "needs r <= n <= m"),
    ("lapack_dorgqr", "f64[3,5] f64[3]", "(f64[3,5], s32[])", "", "needs r <= n <= m"),
    ("cusolver_orgqr_ffi", "f32[3,5] f32[3]", "f32[3,5]", "", "needs r <= n <= m"),
    ("ProductOfElementaryHouseholderReflectors", "f32[3,5] f32[3]", "f32[3,5]", "",
     "needs r <= n <= m"),
    ("ProductOfElementaryHouseholderReflectors", "f32[5,3] f32[5]", "f32[5,3]", "",
     "needs r <= n <= m"),
    ("lapack_sormqr_ffi", "f32[2,3] f32[3] f32[2,2]", "f32[2,2]", Q, "r <= p"),
    ("lapack_sormqr_ffi", "f32[5,3] f32[4] f32[5,2]", "f32[5,2]", Q, "needs r <= q"),
    ("lapack_sormqr_ffi", "f32[4,3] f32[3] f32[5,2]", "f32[5,2]", Q, "p = m"),
    ("lapack_sgtsv_ffi", "f32[4] f32[5] f32[4] f32[4,2]",
     "(f32[4], f32[4], f32[4], f32[4,2], s32[])", "", "operand 1"),
    ("lapack_spotrf", "f32[2,2]", "(f32[2,2], s32[])", "", "takes 1 number or more"),
    ("lapack_spotrf", "s32[] f32[2,2]", "(f32[2,3], s32[])", "", "result 0"),
    ("lapack_sgesdd", "s32[] s32[] f32[9,3]",
     "(f32[9,3], f32[3], f32[9,5], f32[3,3], s32[])", "", "u = m"),
    ("blas_strsm", "s32[] s32[] s32[] s32[] s32[] s32[] s32[] f32[] f32[2,2] f32[5,5]", "f32[5,5]",
     "", "needs r = m"),
    ("Qr", "f32[2,3]", "(f32[2,3], f32[3])", "", "k = 2"),
    ("Eigh", "f32[2,3]", "(f32[2,3], f32[3])", "", "n = 2"),
    ("tridiagonal_solve_perturbed_ffi", "f32[4] f32[9] f32[4] f32[4,1]", "f32[4,1]", "", "n = 4"),
    ("cpu_csr_sparse_dense_ffi", "f32[4] s32[3] s32[4] f32[9]", "f32[]", "", "sparse"),
    ("cu_threefry2x32_ffi", "u32[4] u32[4] u32[4] u32[9]", "(u32[4], u32[4])", "", "operand 3"),
    ("cu_lu_pivots_to_permutation", "s32[9]", "s32[4]", "", "needs p <= n"),
    ("Sharding", "f32[4]", "f32[9]", "", "gives its operand"),
    ("Sharding", "s8[4]", "f64[4]", "", "gives its operand"),
    ("LayoutConstraint", "f32[4] f32[9]", "(f32[4], f32[10])", "", "gives its operand"),
    ("LayoutConstraint", "f32[4] f32[9]", "(f32[4])", "", "gives its operands"),
    ("SPMDFullToShardShape", "s8[4]", "f64[4]", "", "makes no"),
    ("AllocateBuffer", "f32[4]", "f32[4]", "", "makes no"),
    ("SliceToDynamic", "f32[4] s32[] s32[]", "f32[<=4]", "", "size of each"),
    ("SliceToDynamic", "f32[4] s32[]", "f32[<=9]", "", "makes no"),
    ("PadToStatic", "f32[4]", "(f32[9], s32[])", "", "does not give"),
    ("dce_sink", "f32[4]", "f32[4]", "", "gives nothing"),
    ("DynamicConvolutionForward", "f32[1,<=7,2] f32[3,2,4]", "f32[1,<=5,4]", "",
     "needs dim_labels"),
]  # fmt: skip


def module(target, operands, result, options):
    kinds = operands.split()
    lines = [f"p{i} = {kind} parameter({i})" for i, kind in enumerate(kinds)]
    given = ", ".join(f"p{i}" for i in range(len(kinds)))
    said = f', backend_config="{options}"' if options else ""
    lines.append(
        f'ROOT r = {result} custom-call({given}), custom_call_target="{target}", '
        f"api_version=API_VERSION_TYPED_FFI{said}"
    )
    return hlo.parse(entry("\n".join(lines)))


@pytest.mark.parametrize(("target", "operands", "result", "options", "message"), WRONG)
def test_what_a_function_does_not_have_is_refused(target, operands, result, options, message):
    made = module(target, operands, result, options)
    hlo.verify(made)
    shapes = [p.shape for p in made.entry.parameters]
    arguments = [np.zeros(s.dims, s.element_type.dtype) for s in shapes]
    attempts = [
        lambda: interpreter.evaluate(made, *arguments),
        lambda: emit_c.compile(made, remember=False),
        lambda: emit_c.compile(made, optimize=False, remember=False),
    ]
    for attempt in attempts:
        with pytest.raises(hlo.HloError, match=message) as caught:
            attempt()
        assert caught.value.code == "HLO122"
        assert caught.value.span.line == made.entry.root.span.line


@pytest.mark.parametrize("left", [0, 1])
def test_a_triangle_before_ffi_stands_where_it_has_room(left):
    """In the interpreter too, where that is the side that the operand asks for."""
    lines = f"""l = s32[] constant({left})
one = s32[] constant(1)
two = f32[] constant(2)
a = f32[{3 if left else 4},{3 if left else 4}] parameter(0)
b = f32[3,4] parameter(1)
ROOT s = f32[3,4] custom-call(l, one, one, one, one, one, one, two, a, b),
  custom_call_target="blas_strsm"
"""
    check(entry(lines))
