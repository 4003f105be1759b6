"""The pass `batching` against JAX's `vmap`: of functions, and of their gradients.

Of three functions one runs always; the slow tests run all, also compiled to C.
"""

import re

import numpy as np
import pytest
from jax_functions import (
    FUNCTIONS,
    assert_close,
    case,
    direction,
    is_real_or_complex,
    jax,
    jnp,
    lowered,
)

import emit_c
import hlo
from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo.verify import verify
from interpreter import evaluate
from optimizer import optimize, parse_pipeline, pipeline_text

FAST = list(FUNCTIONS)[1::4]
SIZE = 3
# JAX's own gradients of these are NaN, or are not known.
SMOOTH = [name for name in FUNCTIONS if name not in {"reduce_std"}]


def batched(module, dims):
    text = ",".join("-" if d is None else str(d) for d in dims)
    made = parse_pipeline(f"batching{{dimensions={text},size={SIZE}}}").run(module)
    verify(made)
    return made


def examples(x, dim):
    """Some examples of an argument: near to it, or the same integers."""
    if dim is None:
        return x
    change = 0.1 * direction(x) if is_real_or_complex(x) else 0 * x
    return np.stack([x, x + change, x - change], axis=dim).astype(x.dtype)


def run_in_c(module, *arguments):
    return emit_c.compile(module)(*arguments)


def check(function, arguments, dims, run):
    given = [examples(x, d) for x, d in zip(arguments, dims, strict=True)]
    own = lowered(jax.vmap(function, dims), *given)
    made = batched(lowered(function, *arguments), dims)
    assert_close(run(made, *given), run(own, *given))


def check_batches(name, run):
    """All arguments batched; and the first alone, in its last dimension."""
    _, function, arguments, _ = case(name)
    check(function, arguments, [0] * len(arguments), run)
    if len(arguments) > 1:
        dims = [arguments[0].ndim, *[None] * (len(arguments) - 1)]
        check(function, arguments, dims, run)


def check_batches_of_gradients(name, run):
    """The gradient of each example, which two passes make of a function."""
    _, function, arguments, wrt = case(name)

    def total(*given):
        values = [x for x in jax.tree.leaves(function(*given)) if is_real_or_complex(x)]
        return sum(jnp.sum(jnp.real(jnp.sin(x))) for x in values)

    def gradients(*given):
        return jax.value_and_grad(total, argnums=wrt)(*given)

    dims = [0, *[None] * (len(arguments) - 1)]
    given = [examples(x, d) for x, d in zip(arguments, dims, strict=True)]
    own = lowered(jax.vmap(gradients, dims), *given)
    made = batched(parse_pipeline("derivative").run(lowered(total, *arguments)), dims)
    assert_close(run(made, *given), run(own, *given))


@pytest.mark.parametrize("name", FAST)
def test_batches(name):
    check_batches(name, evaluate)


@pytest.mark.parametrize("name", SMOOTH[2::8])
def test_batches_of_gradients(name):
    check_batches_of_gradients(name, evaluate)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_batches_in_c(name):
    check_batches(name, run_in_c)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_batches_of_gradients_in_c(name):
    check_batches_of_gradients(name, run_in_c)


DOT = """HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  w = f32[3,4] parameter(1)
  ROOT y = f32[4] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
}"""


def test_a_product_with_shared_weights_stays_one_product() -> None:
    made = parse_pipeline("batching{dimensions=0,-,size=8}").run(hlo.parse(DOT))
    (dot,) = [i for i in optimize(made).entry.instructions if i.opcode == "dot"]
    assert [o.shape.dims for o in dot.operands] == [(8, 3), (3, 4)]


@pytest.mark.parametrize(
    "text", ["batching{dimensions=0,-,size=8}", "batching{dimensions=-1,size=2}"]
)
def test_options_print_as_they_are_read(text: str) -> None:
    assert pipeline_text(parse_pipeline(text)) == text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "the number of examples is not given"),
        ("{dimensions=0,size=8}", "1 dimension for 2 parameters"),
        ("{dimensions=0,5,size=8}", "there is no dimension 5"),
        ("{dimensions=0,x,size=8}", "whole numbers between commas"),
    ],
)
def test_wrong_options(options: str, words: str) -> None:
    with pytest.raises(HloError, match=words) as error:
        parse_pipeline(f"batching{options}").run(hlo.parse(DOT))
    assert error.value.code == "HLO152"


def test_an_effect_is_refused_where_it_stands() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[3] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(x, t), outfeed_shape=f32[3]
  ROOT y = f32[3] add(x, x)
}"""
    with pytest.raises(HloError, match="outfeed has no batched form") as error:
        parse_pipeline("batching{size=2}").run(hlo.parse(text))
    assert error.value.code == "HLO156"
    assert error.value.span is not None


def one(entry: str) -> Module:
    return hlo.parse(f"HloModule m\nENTRY main {{ {entry} }}")


def test_an_opcode_without_a_batched_form_runs_for_each_example() -> None:
    made = one(
        "s = u64[2] parameter(0)\n ROOT r = (u64[2], u32[4]) rng-bit-generator(s), "
        "algorithm=rng_three_fry"
    )
    seeds = np.array([[1, 2], [3, 4], [5, 6]], np.uint64)
    states, bits = evaluate(parse_pipeline("batching{size=3}").run(made), seeds)
    for k in range(3):
        state, own = evaluate(made, seeds[k])
        np.testing.assert_array_equal(states[k], state)
        np.testing.assert_array_equal(bits[k], own)


def test_starts_of_each_example_are_clamped() -> None:
    made = one(
        "x = s32[5] parameter(0)\n i = s32[] parameter(1)\n u = s32[2] parameter(2)\n"
        " d = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}\n"
        " w = s32[5] dynamic-update-slice(x, u, i)\n ROOT r = (s32[2], s32[5]) tuple(d, w)"
    )
    x, u = np.arange(5, dtype=np.int32), np.array([7, 8], np.int32)
    starts = np.array([-3, 1, 99], np.int32)
    run = parse_pipeline("batching{dimensions=-,0,-,size=3}").run(made)
    read, written = evaluate(run, x, starts, u)
    for k in range(3):
        own = evaluate(made, x, starts[k], u)
        np.testing.assert_array_equal(read[k], own[0])
        np.testing.assert_array_equal(written[k], own[1])


def test_examples_leave_a_loop_at_different_times() -> None:
    text = """HloModule m
condition { v = f32[] parameter(0)
  one = f32[] constant(1)
  ROOT go = pred[] compare(v, one), direction=GT }
body { v = f32[] parameter(0)
  half = f32[] constant(0.5)
  ROOT h = f32[] multiply(v, half) }
ENTRY main { x = f32[] parameter(0)
  ROOT w = f32[] while(x), condition=condition, body=body }"""
    made = hlo.parse(text)
    run = parse_pipeline("batching{size=4}").run(made)
    x = np.array([20, 0.5, 3, 1], np.float32)
    assert evaluate(run, x).tolist() == [float(evaluate(made, v)) for v in x]
    assert re.search(r"reduce\(.*to_apply=%any", str(run))
