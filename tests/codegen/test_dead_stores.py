"""Dead-store elimination: what nobody reads is not stored, in C and in CUDA."""

import re

import numpy as np
import pytest

import emit_c
import emit_cuda
import hlo
import interpreter
from codegen.callees import FUNCTIONS
from codegen.dead_stores import only_stored, without_stores
from codegen.expressions import Apply, Literal, Name, item
from codegen.statements import Assign, Call, For, If, Let, LocalVariable
from interpreter.numbers.compare import compare

X, Y, J = Name("x"), Name("y"), Name("i")
KERNEL = (
    Let("s32", "a", Literal(1)),
    For("i", 4, (Let("s32", "b", Name("a") + 1), Assign(item(X, J), Name("b")))),
    If(J, (Assign(item(Y, J), item(X, J)),)),
)
# Rows that a block exchanges, that are sorted by digits in one block and in several, and merged.
SIZES = [30, 2000, 5000]
ARGSORT = """HloModule m
before {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER
}
ENTRY e {
  x = f32[SIZE] parameter(0)
  i = s32[SIZE] iota(), iota_dimension=0
  s = (f32[SIZE], s32[SIZE]) sort(x, i), dimensions={0}, is_stable=true, to_apply=before
  ROOT n = s32[SIZE] get-tuple-element(s), index=1
}"""
# The second sort is equal to the first one, but somebody reads its keys.
BOTH = ARGSORT.replace("ROOT ", "").replace(
    "index=1\n",
    """index=1
  t = (f32[SIZE], s32[SIZE]) sort(x, i), dimensions={0}, is_stable=true, to_apply=before
  y = f32[SIZE] get-tuple-element(t), index=0
  ROOT r = (s32[SIZE], f32[SIZE]) tuple(n, y)
""",
)


def on_host(module, *, optimize):
    """The module in CUDA, on the processor."""
    return emit_cuda.compile(module, device="host", optimize=optimize)


def test_values_that_only_dead_stores_need_go_with_them():
    assert only_stored(KERNEL, {"x", "y"}) == {"y"}
    assert only_stored([*KERNEL, Call(FUNCTIONS["f"], (Y,))], {"x", "y"}) == set()
    assert without_stores(KERNEL, ()) is KERNEL
    assert without_stores(KERNEL[:2], {"x"}) == (For("i", 4, ()),)
    counted = Let("s32", "b", Apply(FUNCTIONS["count"], (J,)))
    assert without_stores((counted, Assign(item(X, J), Name("b"))), {"x"}) == (counted,)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("text", [ARGSORT, BOTH])
@pytest.mark.parametrize("compiled", [emit_c.compile, on_host])
def test_keys_are_stored_where_somebody_reads_them(compiled, text, n):
    array = np.random.default_rng(n).integers(-n, n, n).astype(np.float32)
    module = hlo.parse(text.replace("SIZE", str(n)))
    executable = compiled(module, optimize=False)
    assert compare(executable(array), interpreter.evaluate(module, array)) is None


@pytest.mark.parametrize("emit", [emit_c.emit, emit_cuda.emit])
def test_the_keys_of_an_argsort_are_not_stored(emit):
    argsort, both = (hlo.parse(text.replace("SIZE", "2000")) for text in (ARGSORT, BOTH))
    assert stored(emit(argsort).source) == [["s32"]]
    assert sorted(stored(emit(both).source)) == [["f32"], ["s32"]]


def stored(source):
    """The types of the arrays that each kernel of a sort writes, but for its scratch memory."""
    heads = re.findall(r"void .*\b[st]_kernel\((.*)\) {", source)
    parameters = [[p for p in head.split(", ") if not p.startswith("const ")] for head in heads]
    return [
        [p.split(" ")[0] for p in each if not p.endswith(("own", "scratch"))] for each in parameters
    ]


def test_a_call_stays_without_the_variable_of_its_value():
    """What the function returns is not read; compilers would warn of the variable."""
    call = Apply(FUNCTIONS["f"], (Literal(1),))
    kernel = (LocalVariable("s32", "info", call), Assign(item(X, J), Name("info")))
    assert without_stores(kernel, {"x"}) == (Call(FUNCTIONS["f"], (Literal(1),)),)
    assert without_stores(kernel, {"y"}) == kernel
