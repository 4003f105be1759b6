"""A rewrite knows its rule, what the rule's variables stand for, and the line of its source."""

import inspect
from pathlib import Path

import hlo
import optimizer
from optimizer.catalogue import all_rules
from optimizer.cleanup.dce import Dce
from optimizer.log import Event, Log
from optimizer.observers import Trace
from optimizer.rewriting.rule import Rule

MODULE = """HloModule m

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  unused = f32[4] add(x, y)
  less = f32[4] negate(y)
  ROOT sum = f32[4] subtract(x, less)
}
"""


def events(passes: str, text: str = MODULE) -> list[Event]:
    trace = Trace()
    Log([trace]).run(optimizer.parse_pipeline(passes), hlo.parse(text))
    return trace.events


def test_a_rewrite_by_a_rule_knows_the_rule_and_its_variables() -> None:
    (event,) = events("algebraic-simplifier")
    assert isinstance(event.by, Rule)
    assert event.by.name == event.rule == "subtract(x, negate(y)) => add(x, y)"
    assert {name: i.name for name, i in event.bindings.items()} == {"x": "x", "y": "y"}
    assert event.location == event.by.location


def test_a_rewrite_by_an_expander_knows_its_rule() -> None:
    (event,) = events("logistic-expander", MODULE.replace("negate(y)", "logistic(y)"))
    assert isinstance(event.by, Rule)
    assert event.by in all_rules()
    assert event.by.name == event.rule == "logistic_by_exponential"
    assert {name: i.name for name, i in event.bindings.items()} == {"x": "y"}
    assert event.location == event.by.location


def test_a_rewrite_by_a_pass_knows_the_line_of_the_pass() -> None:
    event = events("dce")[0]
    assert (event.rule, event.by, dict(event.bindings)) == ("dead", None, {})
    assert event.location.file == inspect.getsourcefile(Dce)
    assert (
        "log.rewrite("
        in Path(event.location.file).read_text().splitlines()[event.location.line - 1]
    )


def test_every_rule_knows_the_line_on_which_it_is_written() -> None:
    for rule in all_rules():
        assert Path(rule.location.file).is_relative_to(Path(optimizer.__file__).parent)
        line = Path(rule.location.file).read_text().splitlines()[rule.location.line - 1]
        assert any(word in line for word in ("Rule(", "rule(", "rules(", "@", "def ")), rule
