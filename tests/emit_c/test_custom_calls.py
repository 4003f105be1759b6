"""Custom calls in C: the same functions of LAPACK, and the same rest, as the interpreter calls."""

import subprocess
from functools import partial

import numpy as np
import pytest
from emitted import checked, emitted
from strategies.compiled import check, entry

import emit_c
import hlo
import interpreter
from codegen.statements import Call, If
from emit_c.code.foreign import SET_THREADS
from emit_c.custom_calls.table import kernel
from emit_c.executable.ahead import files
from emit_c.executable.runtime import set_threads
from emit_c.executable.toolchain import MEANING
from hlo.support.compiler import find_compiler
from hlo.support.lazily import import_files
from interpreter.custom_calls.registry import all_functions
from interpreter.numbers.compare import ROUNDING
from optimizer.dynamic_padder.rules import CUSTOM_CALLS as RUN_TIME_SIZES
from optimizer.expanders.custom_call_expander import all_expansions

FACTORIZATIONS = {
    "potrf": ("f32", "({T}[2,4,4], s32[2])", "{{uplo = 76 : ui8}}"),
    "getrf": ("c64", "({T}[2,4,4], s32[2,4], s32[2])", ""),
    "geqrf": ("c128", "({T}[2,4,4], {T}[2,4])", ""),
    "syevd": ("f64", "({T}[2,4,4], f64[2,4], s32[2])", "{{mode = 86 : ui8, uplo = 76 : ui8}}"),
    "heevd": ("c64", "({T}[2,4,4], f32[2,4], s32[2])", "{{mode = 86 : ui8, uplo = 85 : ui8}}"),
    "gesdd": ("f32", "({T}[2,4,4], f32[2,4], {T}[2,4,4], {T}[2,4,4], s32[2])",
              "{{mode = 83 : ui8}}"),
    "gees": ("f64", "({T}[2,4,4], {T}[2,4,4], {T}[2,4], {T}[2,4], s32[2], s32[2])",
             "{{mode = 86 : ui8, sort = 78 : ui8}}"),
    "gehrd": ("f32", "({T}[2,4,4], {T}[2,3], s32[2])", "{{low = 1 : i32, high = 4 : i32}}"),
    "sytrd": ("f64", "({T}[2,4,4], {T}[2,4], {T}[2,3], {T}[2,3], s32[2])",
              "{{uplo = 76 : ui8}}"),
}  # fmt: skip
VECTORS = "{compute_left = 86 : ui8, compute_right = 86 : ui8}"
LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}


def call(operands, result, target, config=""):
    """The last line of a module."""
    said = f', backend_config="{config}"' if config else ""
    return f'ROOT r = {result} custom-call({operands}), custom_call_target="{target}"{said}'


def positive(kind, batch="2,"):
    """Lines that make positive definite matrices `a` of the first parameter."""
    dims = "lhs_batch_dims={0}, rhs_batch_dims={0}, " if batch else ""
    d = 2 if batch else 1
    return f"""x = {kind}[{batch}4,4] parameter(0)
a = {kind}[{batch}4,4] dot(x, x), {dims}lhs_contracting_dims={{{d}}}, rhs_contracting_dims={{{d}}}
"""


@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_factorizations(name):
    kind, result, config = FACTORIZATIONS[name]
    target = f"lapack_{LETTERS[kind]}{name}_ffi"
    made = call("a", result.replace("{T}", kind), target, config.format())
    check(entry(positive(kind) + made), ROUNDING)


@pytest.mark.parametrize("kind", ["f32", "c128"])
def test_eigenvectors_of_what_is_not_finite(kind):
    real = {"f32": "f32", "c128": "f64"}[kind]
    made = call("x", f"({kind}[2,3,3], {real}[2,3])", "Eigh", "1,1,100,1e-6")
    x = np.ones((2, 3, 3), {"f32": np.float32, "c128": np.complex128}[kind])
    x[1, 2, 0] = np.inf
    text = entry(f"x = {kind}[2,3,3] parameter(0)\n{made}")
    vectors, values = check(text, ROUNDING, arguments=[x])(x)
    for first, second in (vectors, values):
        assert not np.isnan(first).any()
        assert np.isnan(second).all()


@pytest.mark.parametrize("kind", ["f32", "c128"])
def test_singular_values_of_what_is_not_finite(kind):
    """LAPACK alone might iterate for ever."""
    real = {"f32": "f32", "c128": "f64"}[kind]
    result = f"({kind}[2,3,3], {real}[2,3], {kind}[2,3,3], {kind}[2,3,3], s32[2])"
    made = call("x", result, "lapack_" + LETTERS[kind] + "gesdd_ffi", "{mode = 65 : ui8}")
    dtype = {"f32": np.float32, "c128": np.complex128}[kind]
    x = np.stack([np.diag([3, 2, 1]).astype(dtype)] * 2)
    x[1, 2, 0] = np.inf
    text = entry(f"x = {kind}[2,3,3] parameter(0)\n{made}")
    *_, info = check(text, ROUNDING, arguments=[x])(x)
    assert info[0] == 0 > info[1]


@pytest.mark.parametrize("dims", ["3,16,16", "20,17", "2,17,33"])
@pytest.mark.parametrize("kind", ["f32", "c64", "f64", "c128"])
def test_large_matrices_are_transposed_in_squares(kind, dims):
    *batch, rows, columns = dims.split(",")
    factors = ",".join([*batch, str(min(int(rows), int(columns)))])
    result = f"({kind}[{dims}], {kind}[{factors}])"
    line = call("x", result, f"lapack_{LETTERS[kind]}geqrf_ffi")
    made = checked(entry(f"x = {kind}[{dims}] parameter(0)\n{line}"))
    calls = [s for s in made.nested if isinstance(s, Call) and "transpose" in str(s.function)]
    assert len(calls) == (0 if kind == "c128" else 2)


def test_threads_share_small_matrices():
    """Each has memory of its own for them."""
    factors = call("x", "(f32[500,8,8], s32[500,8], s32[500])", "lapack_sgetrf_ffi")
    how = "{side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 85 : ui8}"
    module = entry(f"""x = f32[500,8,8] parameter(0)
{factors.replace("ROOT r", "f")}
a = f32[500,8,8] get-tuple-element(f), index=0
p = s32[500,8] get-tuple-element(f), index=1
y = f32[500,8,3] parameter(1)
{call("a, y", "f32[500,8,3]", "lapack_strsm_ffi", how).replace("ROOT r", "s")}
ROOT r = (f32[500,8,8], s32[500,8], f32[500,8,3]) tuple(a, p, s)""")
    before = set_threads(2)
    try:
        made = checked(module)
        shared = [
            s for s in made.nested if isinstance(s, Call) and s.function.name == "hlo_parallel"
        ]
        assert len(shared) == 2
    finally:
        set_threads(before)


@pytest.mark.parametrize("kind", ["f32", "c128"])
def test_eigenvectors_of_a_matrix_that_iterations(kind):
    parts = {"f32": "f32[4], f32[4], c64[4,4], c64[4,4]", "c128": "c128[4], c128[4,4], c128[4,4]"}
    line = call("x", f"({parts[kind]}, s32[])", f"lapack_{LETTERS[kind]}geev_ffi", VECTORS)
    check(entry(f"x = {kind}[4,4] parameter(0)\n{line}"), ROUNDING)


def test_wide_matrices_and_their_factor():
    check(entry("""x = f64[3,5] parameter(0)
q = (f64[3,5], f64[3]) custom-call(x), custom_call_target="Qr"
a = f64[3,5] get-tuple-element(q), index=0
t = f64[3] get-tuple-element(q), index=1
s = f64[3,3] slice(a), slice={[0:3],[0:3]}
p = (f64[3,3], s32[]) custom-call(s, t), custom_call_target="lapack_dorgqr_ffi"
o = f64[3,3] get-tuple-element(p), index=0
y = f64[3,2] parameter(1)
m = f64[3,2] custom-call(s, t, y), custom_call_target="lapack_dormqr_ffi",
  backend_config="{left = true, transpose = true}"
j = s32[5] parameter(2)
g = (f64[3,5], s32[5], f64[3]) custom-call(x, j), custom_call_target="lapack_dgeqp3_ffi"
ROOT r = ((f64[3,5], f64[3]), f64[3,3], f64[3,2], (f64[3,5], s32[5], f64[3])) tuple(q, o, m, g)"""),
          ROUNDING)  # fmt: skip


def cholesky(n):
    line = call("x", f"(f32[{n},{n}], s32[])", "lapack_spotrf_ffi", "{uplo = 76 : ui8}")
    return entry(f"x = f32[{n},{n}] parameter(0)\n{line}")


def triangular_system(n):
    how = "{side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8}"
    line = call("x, y", f"f32[{n},{n}]", "lapack_strsm_ffi", how)
    return entry(f"x = f32[{n},{n}] parameter(0)\ny = f32[{n},{n}] parameter(1)\n{line}")


@pytest.mark.parametrize("n", [127, 128])
def test_all_threads_of_the_library_take_part_in_large_systems_alone(n):
    x, y = np.random.default_rng(0).random((2, n, n), np.float32)
    arguments = [x + n * np.eye(n, dtype=np.float32), y]
    made = checked(triangular_system(n), ROUNDING, arguments=arguments)
    asked = [s for s in made.nested if isinstance(s, If) and SET_THREADS in str(s.condition)]
    assert len(asked) == (2 if n == 128 else 0)


def test_all_threads_of_the_library_take_part_in_larger_factorizations():
    assert SET_THREADS in emitted(cholesky(1024)).program.functions
    assert SET_THREADS not in emitted(cholesky(1023)).program.functions


def test_programs_are_linked_with_libraries_that_have_no_threads(tmp_path):
    for name, text in files(hlo.parse(triangular_system(128)), "m").items():
        (tmp_path / name).write_text(text)
    (tmp_path / "lapack.c").write_text("void strsm_(void) {}")
    command = ["make", "CC=cc", "LAPACKLIBS=lapack.c", "example"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("side", "LR")
@pytest.mark.parametrize("trans", "NT")
def test_triangular_systems(side, trans):
    how = f"{{side = {ord(side)} : ui8, uplo = 76 : ui8, trans_x = {ord(trans)} : ui8, "
    line = call("x, y", "f32[4,4]", "lapack_strsm_ffi", how + "diag = 85 : ui8}")
    check(entry(f"x = f32[4,4] parameter(0)\ny = f32[4,4] parameter(1)\n{line}"), ROUNDING)


def test_tridiagonal_systems():
    parameters = "\n".join(f"x{k} = f64[2,5] parameter({k})" for k in range(3))
    result = "(f64[2,5], f64[2,5], f64[2,5], f64[2,5,3], s32[2])"
    line = call("x0, x1, x2, b", result, "lapack_dgtsv_ffi")
    check(entry(f"{parameters}\nb = f64[2,5,3] parameter(3)\n{line}"), ROUNDING)


@pytest.mark.parametrize("kind", ["f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tridiagonal_systems_that_may_be_singular(kind, n):
    parameters = "\n".join(f"x{k} = {kind}[2,{n}] parameter({k})" for k in range(3))
    line = call("x0, x1, x2, b", f"{kind}[2,{n},3]", "tridiagonal_solve_perturbed_ffi")
    text = entry(f"{parameters}\nb = {kind}[2,{n},3] parameter(3)\n{line}")
    check(text, ROUNDING)
    dtype = hlo.parse(text).entry.root.shape.element_type.dtype
    singular = [np.zeros((2, n), dtype), np.full((2, n), 1e-38, dtype), np.zeros((2, n), dtype)]
    check(text, ROUNDING, arguments=[*singular, np.ones((2, n, 3), dtype)])


@pytest.mark.parametrize("kind", ["s32", "s64", "f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("count", ["s32", "s64"])
@pytest.mark.parametrize("width", ["", ",3"])
def test_sparse_products(kind, count, width):
    line = call("v, i, j, d", f"{kind}[3{width}]", "cpu_csr_sparse_dense_ffi")
    text = entry(f"""v = {kind}[5] parameter(0)
i = {count}[4] parameter(1)
j = {count}[5] parameter(2)
d = {kind}[4{width}] parameter(3)
{line}""")
    v, i, _, d = (p.shape for p in hlo.parse(text).entry.parameters)
    rng = np.random.default_rng(0)
    values, right = (rng.integers(-9, 9, s.dims).astype(s.element_type.dtype) for s in (v, d))
    integers = i.element_type.dtype
    for starts, columns in (([0, 2, 2, 5], [0, 3, 1, 2, 3]), ([-7, 1, 3, 99], [0, -1, 4, 2, 3])):
        given = (values, np.array(starts, integers), np.array(columns, integers), right)
        check(text, ROUNDING, arguments=given)


def test_sparse_products_of_other_shapes_are_refused():
    line = call("v, i, i, v", "f32[3]", "cpu_csr_sparse_dense_ffi")
    module = hlo.parse(entry(f"v = f32[5] parameter(0)\ni = s32[4] parameter(1)\n{line}"))
    with pytest.raises(hlo.HloError) as caught:
        emit_c.compile(module)
    assert caught.value.code == "HLO122"


def test_options_that_are_operands():
    check(entry(positive("f64", "") + """one = s32[] constant(1)
four = s32[] constant(4)
c = (f64[4,4], s32[]) custom-call(one, one, four, a), custom_call_target="lapack_dpotrf"
f = f64[4,4] get-tuple-element(c), index=0
zero = s32[] constant(0)
two = f64[] constant(2)
s = f64[4,4] custom-call(one, one, zero, zero, four, four, one, two, f, x),
  custom_call_target="blas_dtrsm"
v = (f64[4,4], f64[4], f64[4,4], f64[4,4], s32[], s32[8])
  custom-call(zero, one, one, four, four, x),
  custom_call_target="lapack_dgesdd"
u = f64[4,4] get-tuple-element(v), index=2
w = s32[8] get-tuple-element(v), index=5
ROOT r = (f64[4,4], f64[4,4], f64[4,4], s32[8]) tuple(f, s, u, w)"""), ROUNDING)  # fmt: skip


def test_a_matrix_that_has_no_factor_says_so():
    x = np.array([[1, 2], [2, 1]], np.float32)
    line = call("x", "(f32[2,2], s32[])", "lapack_spotrf_ffi", "{uplo = 76 : ui8}")
    executable = check(entry(f"x = f32[2,2] parameter(0)\n{line}"), arguments=[x])
    assert executable(x)[1] == 2


def test_no_compiler_warns_of_them(tmp_path):
    """Where nobody reads the info, or the sizes among the operands."""
    lines = """one = s32[] constant(1)
four = s32[] constant(4)
x = f64[4,4] parameter(0)
c = (f64[4,4], s32[]) custom-call(one, one, four, x), custom_call_target="lapack_dpotrf"
q = (f64[4,4], f64[4]) custom-call(x), custom_call_target="Qr"
ROOT r = ((f64[4,4], s32[]), (f64[4,4], f64[4])) tuple(c, q)"""
    for name, text in files(hlo.parse(entry(lines)), "m").items():
        (tmp_path / name).write_text(text)
    command = [*find_compiler(), *MEANING, "-Wall", "-Wextra", "-Werror", "-fopenmp-simd", "-O1"]
    subprocess.run([*command, "-c", "m.c"], cwd=tmp_path, check=True)


def test_what_is_arithmetic_or_movement():
    before = """more { a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)
  d = s32[] parameter(3)  ROOT g = pred[] compare(a, b), direction=GT }"""
    check(entry("""x = f32[3,9] parameter(0)
n = s32[3,9] iota(), iota_dimension=1
l = f32[] constant(-inf)
m = s32[] constant(-1)
t = (f32[3,4], s32[3,4]) custom-call(x, n, l, m), custom_call_target="ApproxTopK",
  called_computations={more}, backend_config={"top_k" : 4, "reduction_dim" : 1}
k = (f32[3,2], s32[3,2]) custom-call(x), custom_call_target="TopK"
z = f32[2] custom-call(), custom_call_target="AllocateBuffer"
s = u64[] custom-call(), custom_call_target="GetRngSeed"
w = u32[5] parameter(1)
h = (u32[5], u32[5]) custom-call(w, w, w, w), custom_call_target="cu_threefry2x32_ffi"
p = s32[2,3] parameter(2)
o = s32[2,5] custom-call(p), custom_call_target="cu_lu_pivots_to_permutation"
d = () custom-call(x), custom_call_target="dce_sink", custom_call_has_side_effect=true
g = () custom-call(x), custom_call_target="xla.sdy.ShardingGroup", custom_call_has_side_effect=true
ROOT r = ((f32[3,4], s32[3,4]), (f32[3,2], s32[3,2]), f32[2], u64[], (u32[5], u32[5]), s32[2,5])
  tuple(t, k, z, s, h, o)""", before))  # fmt: skip


@pytest.mark.parametrize("config", ["", "{uplo = 200 : ui8}", "{uplo = 39 : ui8}", "{uplo = ab}"])
def test_an_option_that_is_no_letter_is_refused(config):
    line = call("x", "(f32[2,2], s32[])", "lapack_spotrf_ffi", config)
    with pytest.raises(hlo.HloError, match="uplo") as caught:
        emit_c.emit(hlo.parse(entry(f"x = f32[2,2] parameter(0)\n{line}")))
    assert caught.value.code == "HLO122"


def test_a_split_module_is_refused_with_what_to_do():
    line = call("x", "f32[1,4]", "SPMDFullToShardShape")
    with pytest.raises(hlo.HloError, match="the module is not partitioned") as caught:
        emit_c.emit(hlo.parse(entry(f"x = f32[2,4] parameter(0)\n{line}")))
    assert "spmd-partitioning" in caught.value.notes[0]


PINNED = """x = f32[4] parameter(0)
b = b(f32[4]) custom-call(x), custom_call_target="Pin", output_to_operand_aliasing={{}: (0, {})}
"""


@pytest.mark.parametrize("optimize", [True, False])
def test_what_is_pinned_and_given_back_is_a_value(optimize):
    back = """ROOT u = f32[4] custom-call(b), custom_call_target="Unpin",
  output_to_operand_aliasing={{}: (0, {})}"""
    given = np.float32([1, 2, 3, 4])
    executable = emit_c.compile(hlo.parse(entry(PINNED + back)), optimize=optimize)
    assert executable(given).tolist() == given.tolist()


def test_a_pinned_buffer_is_refused_for_what_it_is():
    text = entry(PINNED.replace("b = b", "ROOT b = b"))
    with pytest.raises(hlo.HloError, match="Pin makes a buffer") as caught:
        emit_c.compile(hlo.parse(text))
    assert caught.value.code == "HLO181"


@pytest.mark.parametrize("optimize", [True, False])
def test_a_dead_call_that_does_not_fit_is_left_out(optimize):
    """The interpreter does not run it either."""
    lines = """x = f32[4] parameter(0)
dead = bf16[2] custom-call(x), custom_call_target="AllocateBuffer"
ROOT n = f32[4] negate(x)"""
    executable = emit_c.compile(hlo.parse(entry(lines)), optimize=optimize)
    assert executable(np.float32([1, 2, 3, 4])).tolist() == [-1, -2, -3, -4]


def test_a_dead_call_that_others_wait_for_must_fit():
    """As in XLA, which removes nothing that has control dependencies."""
    lines = """x = f32[4] parameter(0)
dead = bf16[2] custom-call(x), custom_call_target="AllocateBuffer"
ROOT n = f32[4] negate(x), control-predecessors={dead}"""
    module = hlo.parse(entry(lines))
    for run in (lambda *_: emit_c.compile(module), partial(interpreter.evaluate, module)):
        with pytest.raises(hlo.HloError) as caught:
            run(np.float32([1, 2, 3, 4]))
        assert caught.value.code == "HLO122"


def test_c_has_what_the_interpreter_has():
    # These fill the tables, as the first module that is compiled does.
    for package in ("codegen.custom_calls", "emit_c.custom_calls", "optimizer.dynamic_padder"):
        import_files(package)
    assert not kernel.targets & all_expansions().keys()
    functions = all_functions()
    builtin = {t for t, f in functions.items() if f.__module__.startswith("interpreter.")}
    # JAX's plugin adds one of its own, where it was imported.
    added = functions.keys() - builtin
    compiled = kernel.targets | all_expansions().keys() | RUN_TIME_SIZES.keys()
    # Tests of StableHLO are run by the interpreter alone.
    checks = {t for t in builtin if t.startswith(("check.", "interpreter."))}
    assert builtin - checks == compiled - added
