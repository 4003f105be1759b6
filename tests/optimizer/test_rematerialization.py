"""What is computed twice is the same, and less memory is needed."""

from random import Random

from hypothesis import settings
from strategies.loops import busy_module

import hlo
from hlo.verify import verify
from hlo_tools.generate.values import nasty
from hlo_tools.reasons.memory import why_recomputed
from interpreter import evaluate
from interpreter.numbers.compare import compare
from optimizer import Log
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.check import check
from optimizer.memory.copy_insertion import CopyInsertion
from optimizer.memory.rematerialization import HloRematerialization, Peak, needed


def test_values_are_kept_and_no_moment_gets_worse():
    changed = 0
    for seed in range(settings.default.max_examples):
        random = Random(f"remat/{seed}")
        before = FlattenCallGraph().run(busy_module(random), Log())
        after = HloRematerialization(memory_limit_bytes=1).run(before, Log())
        verify(after)
        given = [nasty(p.shape, random) for p in before.entry.parameters]
        assert compare(evaluate(after, *given), evaluate(before, *given)) is None
        assert needed(after) <= needed(before)
        check(assign(CopyInsertion().run(after, Log())))
        changed += after is not before
    assert changed


CHAIN = """HloModule m, is_scheduled=true
ENTRY e {
  x = f32[] parameter(0)
  big = f32[1000] broadcast(x), dimensions={}
  p = f32[1000] exponential(big)
  q = f32[4000] concatenate(p, p, p, p), dimensions={0}
  r = f32[1000] slice(q), slice={[0:1000]}
  ROOT s = f32[1000] multiply(r, big)
}"""


def test_nothing_happens_below_the_limit():
    module = hlo.parse(CHAIN)
    limit = Peak(module).bytes
    assert HloRematerialization(memory_limit_bytes=limit).run(module, Log()) is module
    assert HloRematerialization().run(module, Log()) is module
    smaller = HloRematerialization(memory_limit_bytes=limit - 1).run(module, Log())
    assert Peak(smaller).bytes == limit - 4000


def test_decisions_tell_their_numbers():
    module = hlo.parse(CHAIN)
    decision = why_recomputed(module, "big")
    assert (decision.allowed, decision.saved) == (True, 4000)
    assert "the peak of 24000 bytes" in str(decision)
    for name, rule in (("x", "opcode"), ("q", "in-use"), ("s", "not-alive")):
        assert (why_recomputed(module, name).allowed, why_recomputed(module, name).rule) == (
            False,
            rule,
        )


def test_what_would_have_to_keep_as_much_is_not_recomputed():
    text = CHAIN.replace("f32[1000] broadcast(x), dimensions={}", "f32[1000] negate(w)").replace(
        "  big", "  v = f32[1000] broadcast(x), dimensions={}\n  w = f32[1000] sine(v)\n  big", 1
    )
    decision = why_recomputed(hlo.parse(text), "big")
    assert (decision.allowed, decision.rule) == (False, "operands")
