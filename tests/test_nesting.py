"""Nothing recurses over nesting: what calls itself 2,000 deep is read, checked, run and compiled.

C's compilers allow few levels of blocks, so what stays nested there is refused.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

import emit_c
import hlo
import optimizer
from hlo.verify import verify
from interpreter import evaluate
from optimizer.analysis.cost import module_cost

DEEP = 2000
SCALAR, ARRAY = "f32[]", "f32[2]"


def nested(shape: str, *lines: str) -> str:
    """Computations that each call the one before, by lines in which it is `{inner}`.

    The innermost negates its parameter, p; a line's root is y.
    """
    head = f"  p = {shape} parameter(0)\n"
    texts = [f"n0 {{\n{head}  ROOT y = {shape} negate(p)\n}}"]
    for level in range(1, DEEP + 1):
        name = "ENTRY entry" if level == DEEP else f"n{level}"
        body = "\n".join(f"  {line}" for line in lines).replace("{inner}", f"n{level - 1}")
        texts.append(f"{name} {{\n{head}{body}\n}}")
    return "\n".join(["HloModule nested", *texts])


def binary(line: str) -> str:
    """As `nested`, of computations with two parameters, of which the innermost adds them."""
    text = nested(SCALAR, line).replace("negate(p)", "add(p, q)")
    head, _, entry = text.rpartition("ENTRY")
    both = "p = f32[] parameter(0)\n  q = f32[] parameter(1)"
    return f"{head.replace('p = f32[] parameter(0)', both)}ENTRY{entry}".replace(
        "ENTRY entry {\n  p = f32[] parameter(0)",
        "ENTRY entry {\n  p = f32[] parameter(0)\n  q = f32[] constant(0)",
    )


STATE = f"(s32[], s32[], {ARRAY})"
CONDITION = f"""once {{
  p = {STATE} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  ROOT less = pred[] compare(i, one), direction=LT
}}
"""
# Each loop runs once; that it does follows from a parameter, so no pass can know.
LOOP = (
    "i = s32[] get-tuple-element(p), index=0",
    "zero = s32[] get-tuple-element(p), index=1",
    f"x = {ARRAY} get-tuple-element(p), index=2",
    f"start = {STATE} tuple(zero, zero, x)",
    f"inner = {STATE} while(start), condition=once, body={{inner}}",
    f"y = {ARRAY} get-tuple-element(inner), index=2",
    "one = s32[] constant(1)",
    "next = s32[] add(i, one)",
    f"ROOT end = {STATE} tuple(next, zero, y)",
)
INNERMOST = f"""n0 {{
  p = {STATE} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  zero = s32[] get-tuple-element(p), index=1
  x = {ARRAY} get-tuple-element(p), index=2
  y = {ARRAY} negate(x)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT end = {STATE} tuple(next, zero, y)
}}"""


def loops() -> str:
    """While loops; the state is (counter, 0, array)."""
    text = nested(STATE, *LOOP)
    start, _, rest = text.partition("n0 {")
    return f"{start}{CONDITION}{INNERMOST}{rest.partition('}')[2]}"


def asynchronous() -> str:
    """Calls on other threads: an async computation holds a call, which holds an async-start."""
    done = f"  ROOT y = {ARRAY} async-done(s)"
    texts = [f"d0 {{\n  p = {ARRAY} parameter(0)\n  ROOT y = {ARRAY} negate(p)\n}}"]
    for n in range(DEEP // 2):
        parameter = f"  p = {ARRAY} parameter(0)"
        start = f"  s = (({ARRAY}), {ARRAY}, s32[]) async-start(p), calls=a{n}"
        name = "ENTRY entry" if n == DEEP // 2 - 1 else f"d{n + 1}"
        texts.append(f"a{n} {{\n{parameter}\n  ROOT y = {ARRAY} call(p), to_apply=d{n}\n}}")
        texts.append(f"{name} {{\n{parameter}\n{start}\n{done}\n}}")
    return "\n".join(["HloModule nested", *texts])


NESTED: dict[str, Callable[[], str]] = {
    "call": lambda: nested(ARRAY, f"ROOT y = {ARRAY} call(p), to_apply={{inner}}"),
    "fusion": lambda: nested(ARRAY, f"ROOT y = {ARRAY} fusion(p), kind=kLoop, calls={{inner}}"),
    "conditional": lambda: nested(
        ARRAY,
        f"first = {ARRAY} cosine(p)",
        "c = f32[2] constant({2, 2})",
        "less = pred[2] compare(first, c), direction=LT",
        "one = pred[1] slice(less), slice={[0:1]}",
        "which = pred[] reshape(one)",
        f"ROOT y = {ARRAY} conditional(which, p, p), true_computation={{inner}}, "
        "false_computation=n0",
    ),
    "while": loops,
    "async": asynchronous,
    "map": lambda: nested(
        SCALAR,
        "v = f32[1] broadcast(p), dimensions={}",
        "m = f32[1] map(v), dimensions={0}, to_apply={inner}",
        "ROOT y = f32[] reshape(m)",
    ),
    "reduce": lambda: binary(
        "v = f32[1] broadcast(p), dimensions={}\n"
        "  ROOT y = f32[] reduce(v, q), dimensions={0}, to_apply={inner}"
    ),
}
# The optimizer needs many rounds for a map, and 8 s for all these loops.
QUICK = ("call", "fusion", "reduce")


def argument_of(module: hlo.Module) -> object:
    (shape,) = [p.shape for p in module.entry.parameters]
    if shape.is_tuple:
        return np.int32(0), np.int32(0), np.array([1.5, 2], "f4")
    return np.full(shape.dims, 1.5, "f4")


@pytest.mark.parametrize("name", NESTED)
def test_it_is_read_printed_verified_and_run(name: str) -> None:
    module = hlo.parse(NESTED[name]())
    assert str(hlo.parse(str(module))) == str(module)
    verify(module)
    module_cost(module)
    evaluate(module, argument_of(module))


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NESTED]
)
@pytest.mark.parametrize("target", ["cpu", pytest.param("gpu", marks=pytest.mark.slow)])
def test_it_is_optimized(name: str, target: Literal["cpu", "gpu"]) -> None:
    module = hlo.parse(NESTED[name]())
    optimized = optimizer.optimize(module, target=target)
    given = argument_of(module)
    wanted, found = evaluate(module, given), evaluate(optimized, given)
    assert str(wanted) == str(found)


@pytest.mark.parametrize("name", ["call", pytest.param("conditional", marks=pytest.mark.slow)])
def test_calls_are_compiled(name: str) -> None:
    module = hlo.parse(NESTED[name]())
    given = argument_of(module)
    assert str(emit_c.compile(module)(given)) == str(evaluate(module, given))


@pytest.mark.parametrize("name", ["fusion", pytest.param("reduce", marks=pytest.mark.slow)])
def test_functions_in_functions_of_c_are_refused(name: str) -> None:
    with pytest.raises(hlo.HloError, match="calls are nested more than 64 deep") as caught:
        emit_c.compile(hlo.parse(NESTED[name]()))
    assert caught.value.code == "HLO115"


def test_a_tuple_of_tuples_is_refused() -> None:
    shape = "(" * DEEP + "f32[]" + ")" * DEEP
    with pytest.raises(hlo.HloError, match="nested more than 100 deep"):
        hlo.parse(f"ENTRY e {{ ROOT x = {shape} parameter(0) }}")
