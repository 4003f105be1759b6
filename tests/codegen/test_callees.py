"""A function that trees apply is a row, with the types that the prelude's C says."""

import pytest

import hlo
from codegen.callees import BUILTINS, FUNCTIONS
from codegen.expressions import Apply
from codegen.kinds import Pointer
from codegen.prelude import SHARED
from codegen.statements import Let, nested, trees
from codegen.walk import walk
from emit_c import emit
from hlo.types.element_type import C64, F16, F32, F64, S4


def test_there_is_one_row_a_function():
    assert FUNCTIONS["exp", F32] is FUNCTIONS["exp", F32]
    assert FUNCTIONS["exp", F32].of(F64) is FUNCTIONS["exp", F64]
    assert FUNCTIONS["sqrt", F64] is not BUILTINS["sqrt", F64]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (FUNCTIONS["exp", F32], "exp_f32"),
        (FUNCTIONS["threefry"], "threefry"),
        (BUILTINS["sqrt", F32], "__builtin_sqrtf"),
        (BUILTINS["sqrt", F64], "__builtin_sqrt"),
        (BUILTINS["acos", C64], "__builtin_cacosf"),
        (BUILTINS["complex"], "__builtin_complex"),
    ],
)
def test_names_are_those_of_c(function, name):
    assert function.name == name


@pytest.mark.parametrize(
    ("function", "parameters", "result"),
    [
        (FUNCTIONS["power", F32], ("f32", "f32"), "f32"),
        (FUNCTIONS["load", F16], ("f16",), "f32"),  # written in C
        (FUNCTIONS["store", S4], ("s8",), "s4"),  # made from a table of all values
        (FUNCTIONS["divide_signed", S4], ("s8", "s8"), "s8"),  # a template
        (FUNCTIONS["maximum_key", F16], ("f16",), "s16"),  # one of some rows
        (FUNCTIONS["sum_of_zeros", F64], (Pointer("f64", const=True), "s64"), "f64"),
    ],
)
def test_types_are_read_from_the_prelude(function, parameters, result):
    assert (function.parameters, function.result) == (parameters, result)


def test_a_function_of_another_library_has_no_types_here():
    with pytest.raises(LookupError, match="the prelude does not define dgemm_"):
        _ = FUNCTIONS["dgemm_"].result


TEXT = """HloModule m
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
ENTRY e {
  x = f16[90,7] parameter(0)  y = c64[90,7] parameter(1)  z = s32[90,7] parameter(2)
  n = f32[] constant(-inf)
  w = f32[90,7] convert(x)  m = f32[90] reduce(w, n), dimensions={1}, to_apply=less
  p = f16[90,7] power(x, x)  a = f32[90,7] abs(y)  q = c64[90,7] multiply(y, y)
  d = s32[90,7] divide(z, z)  s = s32[90,7] shift-left(z, d)
  ROOT r = (f32[90], f16[90,7], f32[90,7], c64[90,7], s32[90,7]) tuple(m, p, a, q, s)
}"""


def test_values_have_the_types_that_rows_say():
    """Statements say what a value is, and the prelude what a function gives: both agree."""
    seen: dict[str, None] = {}

    def watch(_name, _pass, statements, _kernel):
        for statement in nested(statements):
            for tree in (part for each in trees(statement) for part in walk(each)):
                if isinstance(tree, Apply) and SHARED.prototype(tree.function.name):
                    assert len(tree.args) == len(tree.function.parameters), tree
                    seen[tree.function.name] = None
            match statement:
                case Let(kind, _, Apply(function)) if SHARED.prototype(function.name):
                    assert function.result == kind, statement
                case _:
                    pass

    emit(hlo.parse(TEXT), watch=watch)
    assert {"load_f16", "power_f32", "multiply_c64", "maximum_key_f32"} <= set(seen)
