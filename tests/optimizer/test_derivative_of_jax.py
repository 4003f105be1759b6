"""Derivatives against JAX's own: products with tangents and with cotangents, of many functions.

JAX lowers a function, and its derivative; both run on the same interpreter. Of three functions one
runs always, and the slow tests run all, compiled to C.
"""

import numpy as np
import pytest
from jax_functions import (
    FUNCTIONS,
    assert_close,
    case,
    direction,
    is_real_or_complex,
    jax,
    leaves,
    lowered,
)

import emit_c
from hlo.verify import verify
from interpreter import evaluate
from optimizer import parse_pipeline

FAST = list(FUNCTIONS)[::3]


def derivative(module, options):
    made = parse_pipeline(f"derivative{options}").run(module)
    verify(made)
    return made


def run_in_c(module, *arguments):
    return emit_c.compile(module)(*arguments)


def check_forward(name, run):
    of_numbers, function, arguments, wrt = case(name)
    numbers = [arguments[k] for k in wrt]
    tangents = [direction(x) for x in numbers]
    count = len(numbers)
    own = lowered(lambda *x: jax.jvp(of_numbers, x[:count], x[count:]), *numbers, *tangents)
    made = derivative(lowered(function, *arguments), "{mode=forward}")
    wanted = [x for x in leaves(run(own, *numbers, *tangents)) if x.dtype.kind != "V"]
    # JAX has tangents of integers too: preds, all false.
    assert_close(run(made, *arguments, *tangents), tuple(x for x in wanted if x.dtype != bool))


def check_backward(name, run):
    of_numbers, function, arguments, wrt = case(name)
    numbers = [arguments[k] for k in wrt]
    count = len(numbers)
    with jax.enable_x64(True):
        results = jax.tree.leaves(jax.eval_shape(of_numbers, *numbers))
    zeros = [np.zeros(y.shape, y.dtype) for y in results]
    cotangents = [direction(y) for y in zeros if is_real_or_complex(y)]

    def products(*given):
        value, back = jax.vjp(of_numbers, *given[:count])
        flat, tree = jax.tree.flatten(value)
        rest = iter(given[count:])
        none = jax.dtypes.float0
        cts = [next(rest) if is_real_or_complex(y) else np.zeros(y.shape, none) for y in zeros]
        assert len(flat) == len(cts)
        return value, back(jax.tree.unflatten(tree, cts))

    own = lowered(products, *numbers, *cotangents)
    made = derivative(lowered(function, *arguments), "{mode=vjp}")
    assert_close(run(made, *arguments, *cotangents), run(own, *numbers, *cotangents))


@pytest.mark.parametrize("name", FAST)
def test_forward(name):
    check_forward(name, evaluate)


@pytest.mark.parametrize("name", FAST)
def test_backward(name):
    check_backward(name, evaluate)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_c(name):
    check_forward(name, run_in_c)
    check_backward(name, run_in_c)


def test_there_are_enough_functions():
    assert len(FUNCTIONS) > 200
