"""The pass `derivative`: its options, its errors, loops, devices, and what it does not touch."""

from random import Random

import numpy as np
import pytest

import hlo
import interpreter
from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo.verify import verify
from hlo_tools.generate.modules import random_module
from interpreter import evaluate
from optimizer import optimize, parse_pipeline, pipeline_text
from optimizer.derivative import custom_call_derivative, custom_call_transpose
from optimizer.derivative.custom_calls import CUSTOM_CALL_DERIVATIVES, CUSTOM_CALL_TRANSPOSES
from optimizer.rewriting.make import make

SUM = "sum { a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT c = f64[] add(a, b) }\n"


def module(entry: str, *others: str) -> Module:
    return hlo.parse(f"HloModule m\n{SUM}{''.join(others)}ENTRY main {{ {entry} }}")


def derivative(made: Module, options: str = "") -> Module:
    found = parse_pipeline(f"derivative{options}").run(made)
    verify(found)
    return found


PRODUCT = """
  x = f64[] parameter(0)
  k = s32[] parameter(1)
  z = f64[] parameter(2)
  y = f64[] convert(k)
  xy = f64[] multiply(x, y)
  ROOT r = f64[] multiply(xy, z)"""


def test_value_and_gradients() -> None:
    found = evaluate(derivative(module(PRODUCT)), 2.0, np.int32(3), 5.0)
    assert found == (30.0, 15.0, 6.0)


def test_gradients_of_some_parameters() -> None:
    assert evaluate(derivative(module(PRODUCT), "{wrt=2}"), 2.0, np.int32(3), 5.0) == (30.0, 6.0)
    both = evaluate(derivative(module(PRODUCT), "{wrt=2,0}"), 2.0, np.int32(3), 5.0)
    assert both == (30.0, 6.0, 15.0)


def test_the_product_with_a_tangent() -> None:
    found = derivative(module(PRODUCT), "{wrt=0,2,mode=forward}")
    assert evaluate(found, 2.0, np.int32(3), 5.0, 1.0, 10.0) == (30.0, 75.0)


def test_the_gradient_of_one_of_several_results() -> None:
    several = module(
        "x = f64[] parameter(0)\n s = f64[] sine(x)\n ROOT t = (f64[], f64[]) tuple(s, x)"
    )
    with pytest.raises(HloError, match="2 results") as error:
        derivative(several)
    assert error.value.code == "HLO152"
    value, gradient = evaluate(derivative(several, "{of=0}"), 0.5)
    assert (value, gradient) == ((np.sin(0.5), 0.5), np.cos(0.5))


@pytest.mark.parametrize(
    "text",
    ["derivative{wrt=0,2}", "derivative{wrt=1,mode=forward}", "derivative", "derivative{of=0}"],
)
def test_options_print_as_they_are_read(text: str) -> None:
    assert pipeline_text(parse_pipeline(text)) == text


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("{wrt=1}", "HLO155", "k is s32"),
        ("{wrt=7}", "HLO152", "no parameter 7"),
        ("{mode=sideways}", "HLO152", "no mode `sideways`"),
        ("{wrt=x}", "HLO152", "whole numbers between commas"),
        ("{of=1}", "HLO152", "no result 1"),
    ],
)
def test_wrong_options(options: str, code: str, words: str) -> None:
    with pytest.raises(HloError, match=words) as error:
        derivative(module(PRODUCT), options)
    assert error.value.code == code


UNKNOWN = """
  condition { s = (f64[]) parameter(0)
    v = f64[] get-tuple-element(s), index=0
    one = f64[] constant(1)
    ROOT go = pred[] compare(v, one), direction=GT }
  body { s = (f64[]) parameter(0)
    v = f64[] get-tuple-element(s), index=0
    half = f64[] constant(0.5)
    h = f64[] multiply(v, half)
    ROOT n = (f64[]) tuple(h) }
"""
HALVED = """
  x = f64[] parameter(0)
  s = (f64[]) tuple(x)
  w = (f64[]) while(s), condition=condition, body=body
  ROOT r = f64[] get-tuple-element(w), index=0"""


def test_a_loop_of_unknown_length_is_differentiated_forwards_only() -> None:
    loop = module(HALVED, UNKNOWN)
    assert evaluate(derivative(loop, "{mode=forward}"), 20.0, 1.0) == (0.625, 1 / 32)
    with pytest.raises(HloError, match="how often it runs") as error:
        derivative(loop)
    assert error.value.code == "HLO155"
    assert error.value.span is not None
    assert error.value.span.text == "while"
    assert "mode=forward" in str(error.value)


UNKNOWN_CALL = """
  x = f64[2] parameter(0)
  c = f64[2] custom-call(x), custom_call_target="mine"
  z = f64[] constant(0)
  ROOT r = f64[] reduce(c, z), dimensions={0}, to_apply=sum"""
TWO_FACTORS = """
  x = f64[3] parameter(0)
  i = s32[2,1] constant({{0},{0}})
  u = f64[2] slice(x), slice={[0:2]}
  s = f64[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=times
  z = f64[] constant(0)
  ROOT r = f64[] reduce(s, z), dimensions={0}, to_apply=sum"""
TIMES = """times {
  a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT m = f64[] multiply(a, b) }
"""


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (UNKNOWN_CALL, "no rule is registered for 'mine'"),
        (TWO_FACTORS, "updates of one element would be combined"),
        ("ROOT x = f64[2] parameter(0)", "a gradient is of one real number"),
    ],
)
def test_a_refusal_points_at_the_instruction(entry: str, why: str) -> None:
    with pytest.raises(HloError, match=why) as error:
        derivative(module(entry, TIMES))
    assert error.value.code == "HLO155"
    assert error.value.span is not None


def test_a_custom_call_with_a_rule_of_its_own() -> None:
    @interpreter.custom_call("test.square")
    def square(_frame, _instr, x):
        return x * x

    @custom_call_derivative("test.square")
    def square_rule(instr, tangents):
        return make("multiply", make("multiply", tangents[0][0], 2), instr.operands[0])

    made = module(
        'x = f64[] parameter(0)\n ROOT y = f64[] custom-call(x), custom_call_target="test.square"'
    )
    assert evaluate(derivative(made), 3.0) == (9.0, 6.0)
    with pytest.raises(KeyError, match="defined twice"):
        custom_call_derivative("test.square")(square)
    del CUSTOM_CALL_DERIVATIVES["test.square"]
    del interpreter.custom_calls.registry.CUSTOM_CALLS["test.square"]


def test_a_custom_call_that_is_linear_has_a_transpose_of_its_own() -> None:
    """Its derivative is a call of the tangent, as LAPACK's of a triangular system."""
    made = module(
        'x = f64[2] parameter(0)\n ROOT y = f64[2] custom-call(x), custom_call_target="test.turned"'
    )

    @custom_call_derivative("test.turned")
    def turned(instr, tangents):
        return instr.with_(operands=(tangents[0][0],))

    with pytest.raises(HloError, match="no transpose is registered"):
        derivative(made, "{mode=vjp}")

    @custom_call_transpose("test.turned")
    def turned_back(_instr, cotangents, _linear):
        return [make("reverse", cotangents[0], dimensions=(0,))]

    back = derivative(made, "{mode=vjp}")
    opcodes = [i.opcode for i in back.entry.instructions]
    assert opcodes.count("reverse") == 1
    assert opcodes.count("custom-call") == 1
    del CUSTOM_CALL_DERIVATIVES["test.turned"]
    del CUSTOM_CALL_TRANSPOSES["test.turned"]


CALLS = """
  x = f64[3] parameter(0)
  f = f64[3] fusion(x), kind=kLoop, calls=square
  c = f64[3] call(f), to_apply=square.1
  p = f64[3] map(c), dimensions={0}, to_apply=cube
  z = f64[] constant(0)
  ROOT r = f64[] reduce(p, z), dimensions={0}, to_apply=sum"""
CALLED = """
  square { x = f64[3] parameter(0)
    ROOT y = f64[3] multiply(x, x) }
  square.1 { x = f64[3] parameter(0)
    ROOT y = f64[3] multiply(x, x) }
  cube { x = f64[] parameter(0)
    y = f64[] multiply(x, x)
    ROOT z = f64[] multiply(x, y) }
"""


def test_called_fused_and_mapped_computations_are_differentiated() -> None:
    made = module(CALLS, CALLED)
    x = np.array([1.0, -2.0, 0.5])
    value, gradient = evaluate(derivative(made), x)
    assert value == np.sum(x**12)
    np.testing.assert_allclose(gradient, 12 * x**11)


COUNTED = """
  condition { s = (s32[], f64[8]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    n = s32[] constant(TRIPS)
    ROOT go = pred[] compare(i, n), direction=LT }
  body { s = (s32[], f64[8]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    one = s32[] constant(1)
    j = s32[] add(i, one)
    v = f64[8] get-tuple-element(s), index=1
    w = f64[8] sine(v)
    ROOT n = (s32[], f64[8]) tuple(j, w) }
"""
SINES = """
  x = f64[8] parameter(0)
  k = s32[] constant(0)
  s = (s32[], f64[8]) tuple(k, x)
  w = (s32[], f64[8]) while(s), condition=condition, body=body
  v = f64[8] get-tuple-element(w), index=1
  z = f64[] constant(0)
  ROOT r = f64[] reduce(v, z), dimensions={0}, to_apply=sum"""


@pytest.mark.parametrize("trips", [1, 3, 4, 7, 16, 23])
def test_checkpoints_change_no_gradient(trips: int) -> None:
    made = module(SINES, COUNTED.replace("TRIPS", str(trips)))
    x = np.linspace(-1, 1, 8)
    want = evaluate(derivative(made), x)
    got = evaluate(derivative(made, "{checkpoint=true}"), x)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-12)


def rows(made: Module) -> int:
    """The most rows of an array that a loop carries."""
    sizes = [
        s.dims[0]
        for i in made.instructions()
        if i.opcode == "while"
        for s in i.shape.elements
        if s.rank == 2
    ]
    return max(sizes)


def test_checkpoints_keep_as_many_states_as_the_root_of_the_iterations() -> None:
    made = module(SINES, COUNTED.replace("TRIPS", "1024"))
    assert rows(derivative(made)) == 1024
    assert rows(optimize(derivative(made, "{checkpoint=true}"))) == 32


def test_deep_chains_and_nests_need_no_stack() -> None:
    lines = ["x0 = f64[] parameter(0)"]
    lines += [f"x{k + 1} = f64[] sine(x{k})" for k in range(3000)]
    lines[-1] = f"ROOT {lines[-1]}"
    value, gradient = evaluate(derivative(module("\n".join(lines))), 0.1)
    assert 0 < gradient < 1
    assert 0 < value < 0.1


def test_collectives_send_cotangents_back() -> None:
    text = f"""HloModule m, replica_count=2
{SUM}
ENTRY main {{
  x = f64[2] parameter(0)
  r = f64[2] all-reduce(x), replica_groups={{{{0,1}}}}, to_apply=sum
  g = f64[4] all-gather(r), replica_groups={{{{0,1}}}}, dimensions={{0}}
  s = f64[4] multiply(g, g)
  p = f64[4] collective-permute(s), source_target_pairs={{{{0,1}},{{1,0}}}}
  t = f64[4] all-to-all(p), replica_groups={{{{0,1}}}}, dimensions={{0}}
  c = f64[2] reduce-scatter(t), replica_groups={{{{0,1}}}}, dimensions={{0}}, to_apply=sum
  z = f64[] constant(0)
  ROOT y = f64[] reduce(c, z), dimensions={{0}}, to_apply=sum
}}"""
    made = hlo.parse(text)
    parts = [(np.array([1.0, 2.0]),), (np.array([0.5, -3.0]),)]
    found = evaluate(derivative(made), per_device=parts)
    step = 1e-6

    def loss(device: int, index: int, change: float) -> float:
        moved = [(x.copy(),) for (x,) in parts]
        moved[device][0][index] += change
        return sum(evaluate(made, per_device=moved))

    for device, index in ((0, 0), (1, 1)):
        slope = (loss(device, index, step) - loss(device, index, -step)) / (2 * step)
        np.testing.assert_allclose(found[device][1][index], slope, rtol=1e-6)


TWO_COUNTERS = """
  condition { s = (s32[], s32[], s32[], f64[8]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    most = s32[] get-tuple-element(s), index=1
    below = pred[] compare(i, most), direction=LT
    j = s32[] get-tuple-element(s), index=2
    six = s32[] constant(6)
    left = pred[] compare(j, six), direction=LT
    ROOT go = pred[] and(below, left) }
  body { s = (s32[], s32[], s32[], f64[8]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    one = s32[] constant(1)
    k = s32[] add(i, one)
    most = s32[] get-tuple-element(s), index=1
    j = s32[] get-tuple-element(s), index=2
    two = s32[] constant(2)
    l = s32[] add(j, two)
    v = f64[8] get-tuple-element(s), index=3
    w = f64[8] sine(v)
    ROOT n = (s32[], s32[], s32[], f64[8]) tuple(k, most, l, w) }
"""
WITH_TWO = """
  x = f64[8] parameter(0)
  k = s32[] constant(0)
  most = s32[] constant(9)
  s = (s32[], s32[], s32[], f64[8]) tuple(k, most, k, x)
  w = (s32[], s32[], s32[], f64[8]) while(s), condition=condition, body=body
  v = f64[8] get-tuple-element(w), index=3
  z = f64[] constant(0)
  ROOT r = f64[] reduce(v, z), dimensions={0}, to_apply=sum"""


def test_a_loop_with_two_counters_is_followed() -> None:
    """TensorFlow's loops end by a counter, or after the most iterations that are allowed."""
    x = np.linspace(-1, 1, 8)
    want = evaluate(derivative(module(SINES, COUNTED.replace("TRIPS", "3"))), x)
    for options in ("", "{checkpoint=true}"):
        got = evaluate(derivative(module(WITH_TWO, TWO_COUNTERS), options), x)
        np.testing.assert_allclose(got[1], want[1], rtol=1e-12)


def test_a_noted_number_of_iterations_is_believed_but_not_handed_on() -> None:
    noted = HALVED.replace("body=body", 'body=body, backend_config={"known_trip_count":{"n":"5"}}')
    found = derivative(module(noted, UNKNOWN))
    assert evaluate(found, 20.0) == (0.625, 1 / 32)
    assert "known_trip_count" not in str(found)


NEITHER = """
  p = pred[] parameter(0)
  x = f64[] parameter(1)
  t = (f64[], (f64[], f64[])) conditional(p, x, x), true_computation=yes, false_computation=no
  ROOT r = f64[] get-tuple-element(t), index=0"""
BRANCHES = """
  yes { x = f64[] parameter(0)
    one = f64[] constant(1)
    both = (f64[], f64[]) tuple(x, one)
    ROOT t = (f64[], (f64[], f64[])) tuple(one, both) }
  no { x = f64[] parameter(0)
    two = f64[] constant(2)
    both = (f64[], f64[]) tuple(two, x)
    ROOT t = (f64[], (f64[], f64[])) tuple(two, both) }
"""


def test_branches_that_do_not_depend_on_their_operands() -> None:
    made = module(NEITHER, BRANCHES)
    assert evaluate(derivative(made), np.True_, 3.0) == (1.0, 0.0)
    assert evaluate(derivative(made, "{mode=forward}"), np.False_, 3.0, 1.0) == (2.0, 0.0)


TRANSFORMATIONS = "derivative{mode=forward}", "derivative{mode=vjp}", "batching{size=2}"


@pytest.mark.parametrize("text", TRANSFORMATIONS)
def test_random_modules_become_well_formed_ones(text: str) -> None:
    """Or they are refused with a place: an error of another kind is a mistake of the pass."""
    refused: list[HloError] = []
    for seed in range(40):
        before = hlo.parse(str(random_module(Random(seed))))
        try:
            verify(parse_pipeline(text).run(before))
        except HloError as error:
            refused.append(error)
    assert {error.code for error in refused} <= {"HLO155", "HLO156"}
    assert all(error.span is not None for error in refused)
    assert len(refused) < 20


AT_THE_END = """
  x = f64[] parameter(0)
  infinity = f64[] constant(inf)
  far = f64[] multiply(x, infinity)
  one = f64[] constant(1)
  at = pred[] compare(x, one), direction=EQ
  near = f64[] sine(x)
  ROOT r = f64[] select(at, far, near)"""


def test_an_infinite_product_that_is_not_chosen_makes_no_nan() -> None:
    assert evaluate(derivative(module(AT_THE_END)), 0.5) == (np.sin(0.5), np.cos(0.5))
