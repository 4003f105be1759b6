"""The differences that a promise explains, by shaking, and those that it does not."""

import numpy as np
import pytest

import hlo
from hlo_tools.own_passes import Promising
from hlo_tools.search.checking.failure import compare_values, find_failure
from hlo_tools.search.checking.judging import difference
from hlo_tools.values.bounded import MOST_EVENTS, MOST_EVENTS_AFTER, run
from interpreter.numbers.compare import BITS, MAGNITUDE, ROUNDING
from optimizer.expanders.degenerate_collective_remover import DegenerateCollectiveRemover
from optimizer.pipeline_text import parse_pipeline
from optimizer.rewriting.pattern import abs_, multiply, sqrt, x
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet

SIGN_OF_OVERFLOW = """HloModule m
ENTRY e { x = f32[5000] parameter(0)  y = f32[5000] multiply(x, x)  ROOT s = f32[5000] sign(y) }"""
SUM = """HloModule m
add {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT s = {kind}[] add(a, b) }}
ENTRY e {{
  x = {kind}[3000] parameter(0)
  y = {kind}[{kept}] slice(x), slice={{[0:{kept}]}}
  t = {kind}[{rows},{columns}] reshape(y)
  f = {kind}[] constant({factor})
  g = {kind}[{columns}] broadcast(f), dimensions={{}}
  r = {kind}[{rows}] dot(t, g), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  z = {kind}[] constant({zero})
  ROOT s = {kind}[] reduce(r, z), dimensions={{0}}, to_apply=add
}}"""
SENDING = """HloModule m
ENTRY e {
  x = f32[] parameter(0)
  ROOT y = f32[] collective-permute(x), source_target_pairs={{0,1}}
}"""
STEPS_OF_BF16 = """HloModule m
sum {
  a = f32[] parameter(0)  b = f32[] parameter(1)
  c = f32[] add(a, b)  d = bf16[] convert(c)  ROOT e = f32[] convert(d)
}
ENTRY e {
  x = f32[8] parameter(0)  zero = f32[] constant(0)
  ROOT y = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
}"""
EIGH = """HloModule m
ENTRY e {
  p = f32[3,3] parameter(0)
  c = (f32[3,3], f32[3]) custom-call(p), custom_call_target="Eigh", backend_config="1,1,100,1e-6"
  v = f32[3,3] get-tuple-element(c), index=0
  w = f32[3] get-tuple-element(c), index=1
  f = f32[3] constant(FACTORS)
  g = f32[3,3] broadcast(f), dimensions={1}
  vg = f32[3,3] multiply(v, g)
  wf = f32[3] multiply(w, f)
  ROOT t = tuple(PARTS)
}"""
LOOP = """HloModule m
body {
  s = (s32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)  next = s32[] add(i, one)
  x = f32[] get-tuple-element(s), index=1  y = f32[] negate(x)
  ROOT t = tuple(next, y)
}
cond {
  s = (s32[], f32[]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(LIMIT)  ROOT go = pred[] compare(i, n), direction=HOW
}
ENTRY e {
  x = f32[] parameter(0)  zero = s32[] constant(0)  start = tuple(zero, x)
  w = (s32[], f32[]) while(start), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}"""
ROOT_OF_SQUARE = """HloModule m
ENTRY e { x = f32[] parameter(0)  y = f32[] multiply(x, x)  ROOT s = f32[] sqrt(y) }"""


class Applies:
    """A pass that applies a rule."""

    name = "applies"

    def __init__(self, rule, promise):
        self.rules, self.promise = RuleSet([rule]), promise

    def run(self, module, log):
        return rewrite(module, self.rules, log)


def values_differ(before, after, *given):
    """Whether two modules' values are further apart than rounding explains."""
    modules = hlo.parse(before), hlo.parse(after)
    failure, compared = compare_values(ROUNDING, *modules, [given], MOST_EVENTS, MOST_EVENTS_AFTER)
    assert compared
    return failure is not None


def test_an_infinity_has_any_sign_wherever_it_is():
    """Each of many elements has, not only those that some of a few runs happen to turn."""
    module = hlo.parse(SIGN_OF_OVERFLOW)
    given = [np.full(5000, 1e30, np.float32)]
    want = run(module, given)
    assert difference(module, module, given, ROUNDING, want, -want) is None


@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("c128", np.complex128)])
def test_equal_terms_round_in_one_direction(kind, dtype):
    """Each sum of so many has half a unit more or less, and all of them may have it alike."""
    constants = {"factor": "(1.1, 0)", "zero": "(0, 0)"} if kind == "c128" else {}
    sizes = {"kept": 3000, "rows": 1, "columns": 3000}
    text = SUM.format(**{"kind": kind, "factor": 1.1, "zero": 0, **constants}, **sizes)
    module, given = hlo.parse(text), [np.full(3000, 17.3, dtype)]
    want = run(module, given)
    drifted, one_less = want * (1 + 100 * np.finfo(dtype).eps), want * dtype(2999 / 3000)
    assert difference(module, None, given, ROUNDING, want, drifted.astype(dtype)) is None
    assert difference(module, None, given, ROUNDING, want, one_less) is not None


def test_a_fold_rounds_as_its_computation_does():
    given = np.array([3.1, 0.5, 1.28, 0.6, 2.438, 2.652, 0.2774, 2.09972], np.float32)
    after = STEPS_OF_BF16.replace("ROOT e = f32[] convert(d)", "").replace("c = ", "ROOT c = ")
    assert not values_differ(STEPS_OF_BF16, after, given)
    assert values_differ(STEPS_OF_BF16, after.replace("add(a, b)", "subtract(a, b)"), given)


def test_eigenvectors_have_any_sign_but_no_other_values():
    given = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 5]], np.float32)

    def text(factors, vectors, values):
        return EIGH.replace("FACTORS", factors).replace("PARTS", f"{vectors}, {values}")

    before = text("{1, 1, 1}", "v", "w")
    assert not values_differ(before, text("{1, -1, 1}", "vg", "w"), given)
    assert values_differ(before, text("{1, -1, 1}", "v", "wf"), given)


def test_a_loop_of_counted_iterations_is_not_endless():
    before = LOOP.replace("LIMIT", "3").replace("HOW", "LT")
    assert values_differ(before, before.replace("constant(3)", "constant(4)"), np.float32(2))
    assert not values_differ(before, before.replace("constant(3)", "constant(1000000)"), 2.0)
    assert values_differ(
        before, before.replace("constant(3)", "constant(-1)").replace("LT", "NE"), 2.0
    )


def test_a_rule_may_promise_less_than_its_pass_unless_that_keeps_bits():
    module, tiny = hlo.parse(ROOT_OF_SQUARE), [np.float32(1e-30)]
    rule = Rule(sqrt(multiply(x, x)), abs_(x), promise=MAGNITUDE, name="root_of_square")
    assert find_failure(Applies(rule, ROUNDING), module, tiny) is None
    assert find_failure(Applies(rule, BITS), module, tiny) is not None
    wrong = Rule(sqrt(multiply(x, x)), x, promise=MAGNITUDE, name="root_of_square")
    assert find_failure(Applies(wrong, ROUNDING), module, [np.float32(-2)]) is not None
    assert find_failure(Promising(Applies(rule, ROUNDING), ROUNDING), module, tiny) is not None


@pytest.mark.parametrize("pipeline", ["ALONE", "ALONE,dce", "dce,ALONE"])
def test_a_pass_for_one_device_is_held_against_a_run_on_one(pipeline):
    """Where nobody sends, zeros arrive; without the promise, device 1 hears from device 0."""
    alone = "degenerate-collective-remover{alone=true}"
    module = hlo.parse(SENDING)
    given = [np.float32(3)]
    assert find_failure(parse_pipeline(pipeline.replace("ALONE", alone)), module, given) is None
    assert find_failure(ForAllDevices(), module, given).kind == "value"


class ForAllDevices:
    """The same pass, which says nothing of devices."""

    name = "for-all-devices"

    def run(self, module, log):
        """The module for one device."""
        return DegenerateCollectiveRemover(alone=True).run(module, log)
