"""Rules and rewriting: new instructions, chains, guards, names, strictness."""

from dataclasses import replace

import pytest
from bodies import LEAVES, module, root, simplified

import hlo
from hlo.instruction import Instruction
from hlo.walk import rebuild
from interpreter.numbers.compare import ZERO_SIGN
from optimizer import Log, parse_pipeline
from optimizer.number_guards import is_non_negative
from optimizer.rewriting.guard import Guard
from optimizer.rewriting.guards import is_integer, one_use
from optimizer.rewriting.make import make, splat, value_of
from optimizer.rewriting.pattern import (
    abs_,
    add,
    multiply,
    negate,
    select,
    subtract,
    x,
    y,
    z,
)
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet, rule, why_not
from optimizer.rewriting.term import Variable


def test_rules_say_why_they_do_not_apply():
    instr = root("ROOT r = f32[2,3] subtract(x, x)")
    cancel = Rule(subtract(x, x), 0, where=is_integer(x))
    assert why_not(cancel, instr, {}) == "it matches, but not: is_integer(x)"
    assert why_not(Rule(subtract(x, y), negate(subtract(y, x))), instr, {}) == "it applies"
    declining = rule(subtract(x, y))(lambda x: None if x.shape.dims else x)
    assert why_not(declining, instr, {}) == "it matches, but <lambda> declines"


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


def above(opcode, moves):
    """A module, and the same with another opcode at the far end of a chain of instructions."""
    chain = "\n".join(
        f"a{i} = f32[2,3] {move}({f'a{i - 1}' if i else 's'})" for i, move in enumerate(moves)
    )
    before = module(f"s = f32[2,3] sine(x)\n{chain}\n ROOT r = f32[2,3] abs(a{len(moves) - 1})")
    source = next(i for i in before.entry.instructions if i.name == "s")
    entry = rebuild(before.entry, {source: source.with_(opcode=opcode)})
    return before, replace(before, computations=(entry,), entry=entry)


def test_rules_are_tried_again_only_where_what_they_see_has_changed():
    tried = []
    never = Guard("never", lambda match: bool(tried.append(match.root.name)))
    rules, log = RuleSet([Rule(abs_(x), x, where=never)]), Log()
    near, changed_near = above("cosine", ["negate"])
    far, changed_far = above("cosine", ["negate", "negate", "negate"])
    for before, changed, times in ((near, changed_near, 2), (far, changed_far, 1)):
        tried.clear()
        assert rewrite(before, rules, log) is before
        assert rewrite(changed, rules, log) is changed
        assert len(tried) == times


def test_guards_that_look_far_are_asked_again_wherever_something_has_changed():
    rules, log = RuleSet([Rule(abs_(x), x, where=is_non_negative(x))]), Log()
    before, changed = above("exponential", ["copy"] * 9)
    assert rewrite(before, rules, log) is before
    assert rewrite(changed, rules, log).entry.root.opcode == "copy"


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


def test_rules_that_double_a_module_again_and_again_are_stopped():
    """A product of fourteen sums has 2^14 terms."""
    distributed = Rule(
        multiply(add(x, y), z), add(multiply(x, z), multiply(y, z)), name="distributed"
    )
    body = "p0 = f32[2,3] add(x, x)\n"
    body += "\n".join(
        f"t{i} = f32[2,3] add(x, p{i - 1})\n p{i} = f32[2,3] multiply(t{i}, t{i})"
        for i in range(1, 15)
    )
    large = module(f"{body} ROOT r = f32[2,3] negate(p14)")
    message = "distributed: the rule makes more than 4,400 instructions of 34 in %"
    with pytest.raises(hlo.HloError, match=message) as error:
        rewrite(large, RuleSet([distributed]), Log())
    assert error.value.code == "HLO159"
