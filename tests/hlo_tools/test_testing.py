"""`hlo.testing`: strategies whose failing examples shrink to a few lines."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import hlo.testing
import hlo_tools.testing
from hlo.testing import cases, check_pass, instances, modules
from hlo.verify import verify
from hlo_tools.own_passes import Applied
from interpreter import evaluate
from interpreter.table import evaluates
from optimizer.rewriting.pattern import reverse, x
from optimizer.rewriting.rule import Rule, RuleSet

SETTINGS = settings(
    max_examples=200, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
FAULTS = {"negate": lambda _old, _instr, _attrs, operand: operand}


@settings(SETTINGS, max_examples=20)
@given(cases())
def test_cases_are_well_formed_and_run(case) -> None:
    verify(case.module)
    case.check(evaluate)


@pytest.mark.parametrize("opcode", FAULTS)
def test_a_wrong_backend_is_shown_on_a_small_module(opcode) -> None:
    old, smallest = evaluates[opcode], []

    def backend(module, *arguments):
        wrong = lambda *given: np.asarray(FAULTS[opcode](old, *given))  # noqa: E731
        with evaluates.replaced(opcode, wrong):
            return evaluate(module, *arguments)

    @SETTINGS
    @given(cases(modules(opcodes=(opcode,))))
    def test(case) -> None:
        try:
            case.check(backend)
        except AssertionError:
            smallest.append(case)
            raise

    with pytest.raises(AssertionError, match="differ"):
        test()
    assert sum(1 for _ in smallest[-1].module.instructions()) <= 8


RULE = Rule(reverse(x), x, name="unreversed")


@settings(SETTINGS, max_examples=60)
@given(instances(RULE))
def test_instances_have_the_left_side(module) -> None:
    assert "reverse" in module.entry.opcodes


def test_a_wrong_rule_is_found() -> None:
    @SETTINGS
    @given(cases(instances(RULE)))
    def test(case) -> None:
        check_pass(Applied("unreversed", RuleSet([RULE])), case)

    with pytest.raises(AssertionError, match="the value changes"):
        test()


def test_names_are_those_of_the_page() -> None:
    assert dir(hlo.testing) == sorted(hlo_tools.testing.__all__)
    with pytest.raises(AttributeError, match="check_pass"):
        _ = hlo.testing.nothing
