"""What runs asynchronously is one operation, and every pass leaves it so."""

import pytest

import hlo
from hlo.walk import rebuild, rebuild_module
from interpreter import evaluate
from optimizer import PASSES, Log
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import abs_, maximum, negate, x
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet
from optimizer.rewriting.sites import rewrite_sites

# The same operation beside its asynchronous twin: a pass changes one as it would the other.
BESIDE = """HloModule m
wrapped {
  p = f32[4] parameter(0)
  ROOT a = f32[4] OPCODE(p)
}
ENTRY e {
  x = f32[4] parameter(0)
  s = ((f32[4]), f32[4]) async-start(x), calls=wrapped
  b = f32[4] OPCODE(x)
  d = f32[4] async-done(s)
  ROOT t = (f32[4], f32[4]) tuple(b, d)
}"""
ABS = hlo.parse(BESIDE.replace("OPCODE", "abs"))

# Those that compute something else, as a derivative, have other results.
KEEPING = sorted(name for name, made in PASSES.items() if not hasattr(made, "transforms"))


def without_sign(instr):
    negated = make("negate", instr.operands[0]).with_(name=f"{instr.name}.n")
    return make("maximum", instr.operands[0], negated).with_(name=f"{instr.name}.m")


def by_rule(log):
    return rewrite(ABS, RuleSet([Rule(abs_(x), maximum(x, negate(x)))]), log)


def by_sites(log):
    def visit(computation, found):
        for instr in computation.instructions:
            if instr.opcode == "abs":
                found.add("abs", instr, without_sign(instr))

    return rewrite_sites(ABS, log, visit)


def by_hand(_log):
    """As passes do that somebody wrote who knows nothing of async computations."""

    def change(computation):
        plan = {i: without_sign(i) for i in computation.instructions if i.opcode == "abs"}
        return rebuild(computation, plan)

    return rebuild_module(ABS, change)


@pytest.mark.parametrize("rewritten", [by_rule, by_sites, by_hand])
def test_one_operation_stays_one(rewritten):
    after = rewritten(Log())
    hlo.verify(after)
    assert [c.opcodes >= {"maximum", "negate"} for c in after.computations] == [False, True]
    assert "abs" in after.computations[0].opcodes
    one, other = evaluate(after, [1.0, -2.0, 0.0, -0.0])
    assert one.tolist() == other.tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize("name", KEEPING)
def test_no_pass_breaks_an_async_computation(name):
    for opcode in ("abs", "logistic", "cbrt", "erf", "tan", "round-nearest-even"):
        after = PASSES[name]().run(hlo.parse(BESIDE.replace("OPCODE", opcode)), Log())
        hlo.verify(after)
