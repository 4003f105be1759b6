"""Patterns, rules, rewriting, fuel, observers and pipelines as text."""

import doctest
from itertools import permutations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo
import optimizer.pattern
import optimizer.rule
from hlo.error import HloError
from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.operands import TYPES
from interpreter.compare import ZERO_SIGN
from optimizer import Log, optimize, parse_pipeline, pipeline_text
from optimizer.guards import is_integer, one_use
from optimizer.make import constant, make, splat, value_of
from optimizer.observers import CheckValues, Dump, Print, Timer, Trace, Verify
from optimizer.pattern import (
    add,
    c,
    concatenate,
    maximum,
    minimum,
    multiply,
    negate,
    one_of,
    p,
    q,
    select,
    slice_,
    subtract,
    transpose,
    tuple_,
    x,
    xs,
    y,
)
from optimizer.rewrite import rewrite
from optimizer.rule import Rule, RuleSet, explain, rule, why_not
from optimizer.term import Application, ConstantVariable, Exactly, Variable, orders

PARAMETERS = """
HloModule test
ENTRY main {
  x = f32[2,3] parameter(0)
  y = f32[2,3] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[2,3] broadcast(zero), dimensions={}
"""


def module(body):
    return hlo.parse(f"{PARAMETERS}{body}\n}}")


def root(body):
    return module(body).entry.root


def simplified(text, body, **options):
    return parse_pipeline(text).run(module(body), Log(**options))


# ------------------------------------------------------------------ patterns


def test_patterns_print_as_they_are_written():
    assert str(subtract(x, negate(y))) == "subtract(x, negate(y))"
    assert str(multiply(x, 1 / (c + 2))) == "multiply(x, 1 / (c + 2))"
    assert str(transpose(transpose(x, p), q)) == (
        "transpose(transpose(x, dimensions=p), dimensions=q)"
    )
    assert str(one_of(maximum, minimum)(x, 0)) == "maximum|minimum(x, 0)"
    assert str(concatenate(xs, dimensions=p)) == "concatenate(*xs, dimensions=p)"


@pytest.mark.parametrize("documented", [optimizer.pattern, optimizer.rule])
def test_examples_in_the_documentation_hold(documented):
    failed, tried = doctest.testmod(documented)
    assert failed == 0
    assert tried > 0


def test_wrong_patterns_are_refused():
    with pytest.raises(TypeError):
        add(x)
    with pytest.raises(TypeError):
        add(x, y, colour=3)
    with pytest.raises(TypeError):
        transpose(x, p, q)


def backtracking(side, instr, found):
    """Every way in which a pattern matches, by trying all orders at every place."""
    if isinstance(side, Variable):
        if found.get(side.name, instr) is instr:
            yield {**found, side.name: instr}
        return
    if isinstance(side, ConstantVariable | Exactly):
        copy = dict(found)
        if side.mismatch(instr, copy) is None:
            yield copy
        return
    if instr.opcode not in side.opcodes or len(instr.operands) != len(side.operands):
        return
    commutes = "commutative" in OPCODES[instr.opcode].traits
    for operands in permutations(instr.operands) if commutes else [instr.operands]:
        states = [found]
        for inner, operand in zip(side.operands, operands, strict=True):
            states = [new for state in states for new in backtracking(inner, operand, state)]
        yield from states


@st.composite
def patterns(draw, depth=3):
    opcode = draw(st.sampled_from([add, multiply, subtract, negate, None]))
    if depth == 0 or opcode is None:
        return draw(st.sampled_from([x, y, c, Exactly(0)]))
    return opcode(*[draw(patterns(depth - 1)) for _ in range(OPCODES[opcode.opcodes[0]].arity)])


@st.composite
def graphs(draw, depth=3):
    opcode = draw(st.sampled_from(["add", "multiply", "subtract", "negate", None]))
    if depth == 0 or opcode is None:
        return draw(st.sampled_from(LEAVES))
    return make(opcode, *[draw(graphs(depth - 1)) for _ in range(OPCODES[opcode].arity)])


# Two parameters, and zeros.
LEAVES = [i for i in module("ROOT t = f32[2,3] add(x, zeros)").entry.instructions if i.shape.dims]
LEAVES = LEAVES[:-1]


@given(patterns(), graphs())
def test_matching_finds_what_trying_all_orders_finds(pattern, instr):
    if not isinstance(pattern, Application):
        return
    fits = any(order.mismatch(instr, {}) is None for order in orders(pattern))
    assert fits == any(True for _ in backtracking(pattern, instr, {}))
    assert (explain(pattern, instr) == "it matches") == fits


def test_every_order_is_tried_with_fresh_bindings():
    pattern = add(multiply(x, y), multiply(x, negate(y)))
    instr = root(
        "n = f32[2,3] negate(x)\n a = f32[2,3] multiply(x, y)\n b = f32[2,3] multiply(n, y)\n"
        "ROOT r = f32[2,3] add(b, a)"
    )
    assert explain(pattern, instr) == "it matches"


def test_explain_says_what_is_wrong():
    instr = root("n = f32[2,3] negate(x)\n ROOT r = f32[2,3] subtract(n, y)")
    assert explain(subtract(negate(x), x), instr) == "x is %x already, so it is not %y"
    assert explain(subtract(x, 0), instr) == "%y, a parameter, is not 0 everywhere"
    assert explain(add(x, y), instr) == "%r is a subtract, not a add"
    assert explain(subtract(x, c), instr) == "c is a constant, %y is a parameter"
    turned = root("ROOT t = f32[3,2] transpose(x), dimensions={1,0}")
    assert explain(transpose(x, (0, 1)), turned) == "%t has dimensions=(1, 0), not (0, 1)"


@pytest.mark.parametrize("wanted", [0, 0.0, -0.0])
@pytest.mark.parametrize("held", [0.0, -0.0])
def test_a_whole_zero_is_either_zero(wanted, held):
    same = str(wanted) == str(held) or isinstance(wanted, int)
    zeros = constant(np.array([held, held], np.float32))
    assert (Exactly(wanted).mismatch(zeros, {}) is None) == same


def test_rules_say_why_they_do_not_apply():
    instr = root("ROOT r = f32[2,3] subtract(x, x)")
    cancel = Rule(subtract(x, x), 0, where=is_integer(x))
    assert why_not(cancel, instr, {}) == "it matches, but not: is_integer(x)"
    assert why_not(Rule(subtract(x, y), negate(subtract(y, x))), instr, {}) == "it applies"
    declining = rule(subtract(x, y))(lambda x: None if x.shape.dims else x)
    assert why_not(declining, instr, {}) == "it matches, but <lambda> declines"


# ------------------------------------------------------------ new instructions


def test_numbers_take_the_shape_beside_them():
    parameter = LEAVES[0]
    made = add(parameter, 1)
    assert isinstance(made, Instruction)
    assert made.shape.compatible(parameter.shape)
    assert value_of(made.operands[1]) == 1
    chosen = select(make("compare", parameter, parameter, direction="LT"), parameter, 0)
    assert chosen.shape.compatible(parameter.shape)


def test_value_of_a_splat_is_a_scalar():
    assert value_of(splat(3, LEAVES[0].shape)).shape == ()
    assert value_of(LEAVES[0]) is None


# ------------------------------------------------------------------ rewriting


def test_chains_fold_in_one_run():
    body = "\n".join(
        f"a{i} = f32[2,3] add({f'a{i - 1}' if i else 'x'}, zeros)" for i in range(2000)
    )
    after = simplified("algebraic-simplifier", f"{body}\n ROOT r = f32[2,3] negate(a1999)")
    assert [i.opcode for i in after.entry.instructions] == ["parameter", "parameter", "negate"]


def test_guards_see_how_often_a_value_is_used():
    inner = Variable("inner")
    pattern = negate(add(x, y).as_(inner))
    single = RuleSet([Rule(pattern, add(negate(x), negate(y)), where=one_use(inner))])
    body = "s = f32[2,3] add(x, y)\n n = f32[2,3] negate(s)\n"
    once = module(f"{body} ROOT r = f32[2,3] exponential(n)")
    twice = module(f"{body} ROOT r = f32[2,3] multiply(n, s)")
    assert rewrite(once, single, Log()) is not once
    assert rewrite(twice, single, Log()) is twice


def test_rules_are_tried_again_where_users_are_gone():
    inner = Variable("inner")
    pattern = negate(add(x, y).as_(inner))
    single = RuleSet([Rule(pattern, add(negate(x), negate(y)), where=one_use(inner))])
    body = "s = f32[2,3] add(x, y)\n n = f32[2,3] negate(s)\n e = f32[2,3] exponential(s)"
    before, log = module(f"{body}\n ROOT r = f32[2,3] exponential(n)"), Log()
    assert rewrite(before, single, log) is before
    alone = parse_pipeline("dce").run(before, log)
    after = rewrite(alone, single, log)
    assert after.entry.root.operands[0].opcode == "add"


def test_fused_computations_are_left_alone():
    text = """
HloModule m
fused {
  p = f32[4] parameter(0)
  n = f32[4] negate(p)
  ROOT m = f32[4] negate(n)
}
ENTRY main {
  x = f32[4] parameter(0)
  ROOT f = f32[4] fusion(x), kind=kLoop, calls=fused
}
"""
    before = hlo.parse(text)
    assert parse_pipeline("algebraic-simplifier").run(before) is before


def test_two_rules_cannot_have_one_name():
    with pytest.raises(ValueError, match="two rules"):
        RuleSet([Rule(add(x, 0), x), Rule(add(x, 0), x)])


def test_strict_leaves_floats_alone_but_not_integers():
    rules = RuleSet([Rule(add(x, 0), x, promise=ZERO_SIGN)])
    floats = module("ROOT r = f32[2,3] add(x, zeros)")
    assert rewrite(floats, rules, Log(), strict=True) is floats
    integers = hlo.parse(
        "HloModule m\nENTRY e {\n x = s32[] parameter(0)\n z = s32[] constant(0)\n"
        " ROOT r = s32[] add(x, z)\n}"
    )
    assert rewrite(integers, rules, Log(), strict=True).entry.root.opcode == "parameter"


# ---------------------------------------------------------- fuel and observers


THREE = "a = f32[2,3] add(x, zeros)\n b = f32[2,3] negate(a)\n ROOT c = f32[2,3] negate(b)"


def test_fuel_stops_after_so_many_rewrites():
    texts = [str(simplified("algebraic-simplifier", THREE, fuel=n)) for n in range(4)]
    assert texts[0] == str(module(THREE))
    assert len(set(texts)) == 3
    assert texts[2] == texts[3] == str(simplified("algebraic-simplifier", THREE))


def test_a_skipped_rewrite_stays_undone():
    after = simplified("fix(algebraic-simplifier,dce)", THREE, skip=frozenset({0}))
    assert [i.opcode for i in after.entry.instructions].count("add") == 1
    assert "negate" not in {i.opcode for i in after.entry.instructions}


def test_trace_keeps_every_rewrite():
    trace = Trace()
    simplified("algebraic-simplifier", THREE, observers=[trace])
    assert [(e.number, e.rule, e.old.name) for e in trace.events] == [
        (0, "add(x, 0) => x", "a"),
        (1, "negate(negate(x)) => x", "c"),
    ]
    assert "negate(negate(x)) => x: %c -> %x" in str(trace.events[1])


class Breaking:
    name = "breaking"

    def run(self, before, log):  # noqa: ARG002
        entry = before.entry
        return hlo.Module(
            before.name,
            before.computations,
            hlo.Computation(entry.name, entry.instructions[1:], entry.root),
        )


class Lying:
    name = "lying"

    def run(self, before, log):  # noqa: ARG002
        wrong = make("negate", before.entry.root).with_(name="wrong")
        entry = hlo.Computation("main", (*before.entry.instructions, wrong), wrong)
        return hlo.Module(before.name, (entry,), entry, before.header)


def test_verifier_says_which_pass_broke_the_module():
    with pytest.raises(HloError) as caught:
        Log(observers=[Verify()]).run(Breaking(), module(THREE))
    assert "breaking" in str(caught.value)


def test_verifier_says_which_rule_broke_the_module():
    class Wrong:
        name = "wrong"

        def run(self, before, log):
            rules = RuleSet([Rule(negate(x), slice_(x, slice=()), name="stand on your head")])
            return rewrite(before, rules, log)

    before = module("t = f32[3,2] reshape(x)\n ROOT n = f32[3,2] negate(t)")
    with pytest.raises(HloError) as caught:
        Log(observers=[Verify()]).run(Wrong(), before)
    assert "ROOT n = f32[3,2] negate(t)" in str(caught.value)
    assert "before `stand on your head` in the pass wrong" in str(caught.value)


def test_changed_values_are_found():
    ones = np.ones((2, 3), np.float32)
    with pytest.raises(HloError) as caught:
        Log(observers=[CheckValues([(ones, ones)])]).run(Lying(), module(THREE))
    assert caught.value.code == "HLO153"
    assert "lying" in caught.value.message


def test_dumps_have_the_names_that_xla_gives(tmp_path):
    run = parse_pipeline("algebraic-simplifier,cse,dce")
    Log(observers=[Dump(tmp_path)]).run(run, module(THREE))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "module_0000.test.0000.pipeline.after_pipeline-start.before_algebraic-simplifier.txt",
        "module_0000.test.0001.pipeline.after_algebraic-simplifier.before_cse.txt",
    ]
    assert all(hlo.parse(path.read_text()) for path in tmp_path.iterdir())


def test_timer_and_printer():
    timer, printed = Timer(), []
    run = parse_pipeline("fix(algebraic-simplifier),dce")
    Log(observers=[timer, Print(printed.append, ["algebraic-simplifier"])]).run(run, module(THREE))
    assert timer.runs == {"algebraic-simplifier": 2, "fix": 1, "dce": 1, "pipeline": 1}
    assert "algebraic-simplifier" in timer.report()
    assert len(printed) == 1
    assert printed[0].startswith("// after pipeline.fix.algebraic-simplifier\nHloModule test")


# ----------------------------------------------------------- pipelines as text


@pytest.mark.parametrize(
    "text",
    [
        "cse",
        "algebraic-simplifier{strict=true},dce",
        "fix{limit=3}(cse,dce),tuple-simplifier",
        "early(cse{is-layout-sensitive=true},fix(dce))",
    ],
)
def test_pipeline_text_round_trips(text):
    assert pipeline_text(parse_pipeline(text)) == text


def test_names_of_hlo_opt_are_understood():
    assert pipeline_text(parse_pipeline("algsimp")) == "algebraic-simplifier"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "HLO150"),
        ("cse,", "HLO150"),
        ("cse dce", "HLO150"),
        ("fix(cse", "HLO150"),
        ("cse{", "HLO150"),
        ("ces", "HLO151"),
        ("cse{strict=true}", "HLO152"),
        ("algebraic-simplifier{strict=1}", "HLO152"),
        ("fix{limit=many}(cse)", "HLO152"),
    ],
)
def test_wrong_pipelines_are_refused(text, code):
    with pytest.raises(HloError) as caught:
        parse_pipeline(text)
    assert caught.value.code == code
    assert caught.value.span is not None


def test_optimize_returns_the_same_object_where_nothing_changes():
    before = module("ROOT r = f32[2,3] add(x, y)")
    once = optimize(before)
    assert optimize(once) is once


def test_random_modules_have_every_type_and_control_flow():
    made = [random_module(Random(seed)) for seed in range(80)]
    types = {i.shape.element_type for m in made for i in m.instructions()}
    opcodes = {i.opcode for m in made for i in m.instructions()}
    assert types >= set(TYPES)
    assert opcodes >= {"while", "conditional", "call", "reduce", "dot", "dynamic-update-slice"}


def test_rest_means_the_same_operands_again():
    twice = tuple_(concatenate(xs), concatenate(xs))
    text = """
  a = f32[4,3] concatenate(x, y), dimensions={{0}}
  b = f32[4,3] concatenate({}), dimensions={{0}}
  ROOT t = (f32[4,3], f32[4,3]) tuple(a, b)"""
    same = module(text.format("x, y")).entry.root
    other = module(text.format("y, x")).entry.root
    assert twice.mismatch(same, {}) is None
    assert "other operands than *xs" in explain(twice, other)
    assert tuple_(x, y, xs).mismatch(module("ROOT t = (f32[2,3]) tuple(x)").entry.root, {})
