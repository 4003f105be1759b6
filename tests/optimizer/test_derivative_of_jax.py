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
from optimizer import optimize, parse_pipeline
from optimizer.analysis.cost import kernels

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


def both_backward(name):
    """Our derivative of a function and JAX's own, and the arguments and cotangents of both."""
    _, function, arguments, wrt = case(name)
    with jax.enable_x64(True):
        results = jax.tree.leaves(jax.eval_shape(function, *arguments))
    zeros = [np.zeros(y.shape, y.dtype) for y in results]
    cotangents = [direction(y) for y in zeros if is_real_or_complex(y)]

    def products(*given):
        fixed, cts = given[: len(arguments)], iter(given[len(arguments) :])

        def of_numbers(*numbers):
            by_place = dict(zip(wrt, numbers, strict=True))
            return function(*(by_place.get(k, x) for k, x in enumerate(fixed)))

        value, back = jax.vjp(of_numbers, *(fixed[k] for k in wrt))
        flat, tree = jax.tree.flatten(value)
        none = jax.dtypes.float0
        all_cts = [next(cts) if is_real_or_complex(y) else np.zeros(y.shape, none) for y in zeros]
        assert len(flat) == len(all_cts)
        return value, back(jax.tree.unflatten(tree, all_cts))

    own = lowered(products, *arguments, *cotangents)
    made = derivative(lowered(function, *arguments), "{mode=vjp}")
    return made, own, (*arguments, *cotangents)


def check_backward(name, run):
    made, own, given = both_backward(name)
    assert_close(run(made, *given), run(own, *given))


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


# The HLO of these does not say what JAX's rules know: that a linear system is solved as a whole, or
# the first of a pair of equal branches; or trees of another form.
LARGER = {
    *("solve", "inv", "slogdet", "cho_solve", "cond_tuple"),
    *("reduce_general", "reduce_prod_axis1", "logcumsumexp"),
}


def check_kernels(name):
    made, own, _ = both_backward(name)
    assert kernels(optimize(made)) <= kernels(optimize(own))


@pytest.mark.parametrize("name", ["scan_nested", "scan_reverse", "cholesky", "switch"])
def test_kernels_are_as_few(name):
    check_kernels(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in LARGER])
def test_all_kernels_are_as_few(name):
    check_kernels(name)


def test_there_are_enough_functions():
    assert len(FUNCTIONS) > 200
