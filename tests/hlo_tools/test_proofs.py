"""Proofs of rules: true ones are proved, wrong ones refuted by values that break them."""

import importlib
import json
from copy import deepcopy
from dataclasses import replace
from itertools import islice, product
from random import Random

import pytest

from hlo.errors.error import HloError
from hlo_tools.generate.trials import WrongShapeError
from hlo_tools.proofs import record as records
from hlo_tools.proofs import solver
from hlo_tools.proofs.evidence import gather_evidence
from hlo_tools.proofs.findings import ProofFinding
from hlo_tools.proofs.prove import QUICK, RefutedError, by_every_value, is_elementwise, prove
from hlo_tools.proofs.record import Evidence, evidence_of, read_record, write_record
from hlo_tools.proofs.tour import Tour, tours
from interpreter.numbers.compare import FINITE, ROUNDING, ZERO_SIGN
from optimizer.catalogue import all_rules
from optimizer.number_guards import is_even, is_lowest
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import (
    is_complex,
    is_floating,
    is_integer,
    is_power_of_two,
    is_signed,
    is_unsigned,
)
from optimizer.rewriting.make import splat
from optimizer.rewriting.pattern import (
    a,
    abs_,
    add,
    and_,
    b,
    c,
    c1,
    c2,
    compare,
    concatenate,
    convert,
    divide,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    p,
    pad,
    power,
    q,
    remainder,
    reverse,
    select,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    subtract,
    transpose,
    x,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule
from optimizer.rewriting.version import texts, version

RULES = all_rules()
SEVERAL = len(RULES) // 24


def each(rules):
    return pytest.mark.parametrize("wanted", rules, ids=[r.name for r in rules])


@rule(transpose(transpose(x, p), q))
def transposed_in_the_other_order(x, p, q):
    return transpose(x, tuple(q[i] for i in p))


@rule(reverse(reverse(x, p), q))
def reversed_once_too_often(x, p, q):
    return reverse(x, tuple(sorted({*p, *q})))


@rule(divide(x, c), where=is_signed(x) & is_power_of_two(c))
def division_that_rounds_down(x, c):
    shift = int(c.operands[0].attrs.literal.array if c.operands else c.attrs.literal.array)
    return shift_right_arithmetic(x, splat(shift.bit_length() - 1, x.shape))


@guard
def is_small(c):
    return abs(int(c.attrs.literal.array)) < 4


FALSE = [
    Rule(add(x, c), x),
    Rule(negate(negate(x)), negate(x)),
    Rule(subtract(x, y), subtract(y, x), where=is_integer(x)),
    Rule(divide(multiply(x, y), y), x, where=is_integer(x)),
    Rule(divide(x, x), 1, where=is_integer(x)),
    Rule(abs_(x), x, where=is_signed(x)),
    Rule(remainder(x, c), and_(x, c - 1), where=is_power_of_two(c)),
    Rule(shift_right_logical(shift_left(x, c), c), x),
    Rule(shift_right_arithmetic(x, 1), divide(x, 2), where=is_signed(x)),
    Rule(compare(subtract(x, y), 0, "LT"), compare(x, y, "LT"), where=is_signed(x)),
    Rule(compare(add(x, 1), x, "GT"), 1, where=is_signed(x)),
    Rule(minimum(x, c), c, where=is_lowest(c) & ~is_unsigned(c)),
    Rule(multiply(x, c), shift_left(x, c), where=is_integer(x) & is_even(c)),
    Rule(multiply(x, c), shift_left(x, c), where=is_integer(x) & is_small(c)),
    Rule(convert(convert(x).as_(a)).as_(b), x, where=is_integer(x), name="there and back"),
    # Only large numbers tell: no type of eight bits has them.
    Rule(maximum(x, 70_000), select(compare(x, 70_001, "EQ"), 0, maximum(x, 70_000))),
    Rule(add(x, 100_000), select(compare(x, 123_456_789, "EQ"), x, add(x, 100_000))),
    Rule(multiply(x, 0), 0),
    Rule(add(x, 0), x),
    Rule(subtract(x, x), 0, promise=ZERO_SIGN),
    Rule(divide(x, y), multiply(x, divide(1, y)), promise=FINITE),
    Rule(maximum(x, minimum(x, y)), x),
    Rule(not_(compare(x, y, "LT")), compare(x, y, "GE")),
    Rule(add(add(x, y), z), add(x, add(y, z))),
    Rule(concatenate(x, y, dimensions=p), concatenate(y, x, dimensions=p)),
    Rule(pad(x, y, p), pad(negate(x), y, p)),
    transposed_in_the_other_order,
    reversed_once_too_often,
    division_that_rounds_down,
]


@each(FALSE)
def test_wrong_rule_is_refuted(wanted):
    with pytest.raises(RefutedError) as caught:
        prove(wanted, QUICK)
    found = caught.value.cause
    if isinstance(found, WrongShapeError):
        assert wanted is transposed_in_the_other_order
    else:
        assert found.difference
        assert str(found.before) != str(found.after)


TRUE = {
    Rule(add(x, subtract(y, x)), y, where=is_integer(x)): {"integers"},
    Rule(multiply(add(x, y), z), add(multiply(x, z), multiply(y, z)), where=is_integer(x)): {
        "integers"
    },
    Rule(and_(x, not_(and_(x, y))), and_(x, not_(y))): {"pred", "integers"},
    Rule(remainder(x, c), and_(x, c - 1), where=is_power_of_two(c) & is_unsigned(x)): {"integers"},
    Rule(maximum(x, y), maximum(y, x)): {"pred", "integers", "floats"},
    Rule(power(x, 2), multiply(x, x), where=is_integer(x)): {"integers"},
    Rule(add(add(x, c1), c2), add(x, c1 + c2), where=is_integer(x)): {"integers"},
    Rule(add(x, -0.0), x): {"floats"},
}


@each(list(TRUE))
def test_true_rule_is_proved(wanted):
    findings = {f.of: f for f in prove(wanted, replace(QUICK, steps=16_000_000))}
    for kind in TRUE[wanted]:
        assert findings[kind].whole, str(findings[kind])
        assert findings[kind].of == "floats" or not findings[kind].why


def test_rule_of_arrays_is_proved_at_shapes():
    wanted = next(r for r in RULES if r.name == "transpose_of_transpose")
    (finding,) = prove(wanted, QUICK)
    assert (finding.of, finding.how, finding.whole) == ("arrays", "solver, small shapes", True)


def test_what_cannot_be_proved_says_why():
    left, right = divide(divide(x, y), z), divide(x, multiply(y, z))
    rounds = Rule(left, right, promise=ROUNDING, where=is_floating(x))
    (floats,) = [f for f in prove(rounds, QUICK) if f.of == "floats"]
    assert not floats.how
    assert "rounding errors" in floats.why


@pytest.mark.slow
@each(RULES)
def test_no_rule_is_refuted(wanted):
    prove(wanted, QUICK)


@each(RULES[::SEVERAL])
def test_some_rules_are_not_refuted(wanted):
    prove(wanted, replace(QUICK, cases=12, questions=2, arrays=4, steps=100_000))


# Each of these once broke its promise in a type of which nobody had thought.
MENDED = (
    "add(x, negate(y)) => subtract(x, y)",
    "divide(a:=abs_(x), b:=abs_(y)) => abs_(divide(x, y))",
    "select(compare(x, c, direction=EQ), c, x) => x",
    "negate(negate(x)) => x",
    "conversion by way of another type",
)


@each([r for r in RULES if r.name in MENDED or r.name.startswith("floor|ceil")])
def test_no_value_of_small_floats_refutes(wanted):
    assert is_elementwise(wanted)
    assert by_every_value(wanted, QUICK, "floats").done


def test_equal_complex_numbers_may_have_other_zeros():
    mended = next(r for r in RULES if r.name == MENDED[2])
    assert {f.of: f.whole for f in prove(mended, QUICK)}["complex"]
    wrong = Rule(mended.left, mended.right, where=is_complex(x))
    with pytest.raises(RefutedError, match="instead of"):
        prove(wrong, QUICK)


# Records


def test_record_is_of_the_rules_as_they_are():
    """Where this fails: `make proofs` proves what is new or was changed."""
    record = read_record()
    stale = [each.name for each in RULES if evidence_of(each, record) is None]
    assert not stale, "not run yet: run `make proofs`"
    assert list(record) == [each.name for each in RULES]
    assert all(evidence.tried for evidence in record.values())


def test_record_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "record.json"
    made = {
        "r": Evidence("0a", 3, "2026-01-01", [ProofFinding("pred", "solver", True, ["pred"], 1)])
    }
    write_record(made, path)
    assert read_record(path) == made
    assert read_record(tmp_path / "none.json") == {}


def test_changed_rule_is_not_run_yet(monkeypatch, hlo, tmp_path):
    first = RULES[1]
    path = tmp_path / "record.json"
    write_record({first.name: Evidence(version(first), 7, "2026-01-01")}, path)
    monkeypatch.setattr(records, "RECORD", path)
    monkeypatch.setattr(records.read_record, "__defaults__", (path,))
    lines = hlo("rules").out.splitlines()
    assert "tried 7 times on 2026-01-01" in lines[5]
    assert lines[0].split()[1:4] == ["not", "run", "yet"]
    assert lines[-1].endswith(f"{len(RULES) - 1} not run yet")


def test_version_follows_sides_promise_guard_and_source():
    base = Rule(add(x, 0), x, where=is_integer(x))
    others = (
        Rule(add(x, 0), x, where=is_integer(x)),
        Rule(add(x, 1), x, where=is_integer(x)),
        Rule(add(x, 0), y, where=is_integer(x)),
        Rule(add(x, 0), x, where=is_signed(x)),
        Rule(add(x, 0), x, where=is_integer(x), promise=ZERO_SIGN),
        Rule(add(x, 0), x),
    )
    same, *changed = map(version, others)
    assert same == version(base)
    assert len({version(base), *changed}) == len(others)
    assert version(adding) != version(negating)


def test_version_follows_functions_that_are_called(monkeypatch):
    before = version(negating)
    monkeypatch.setitem(globals(), "helper", choices)
    assert version(negating) != before


def helper(x):
    return negate(x)


def copied(x):
    return deepcopy(x)


def test_version_leaves_out_functions_of_python_itself():
    """Their text differs between Python 3.11 and 3.14."""
    assert texts(copied) == ["def copied(x):\n    return deepcopy(x)"]


@rule(add(x, 0))
def adding(x):
    return x


@rule(add(x, 0))
def negating(x):
    return helper(x)


# The command


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from optimizer.rewriting.pattern import add, negate, subtract, x, y\n"
        "from optimizer.rewriting.guards import is_integer\n"
        "from optimizer.rewriting.rule import Rule\n"
        "GOOD = Rule(subtract(x, x), 0, where=is_integer(x))\n"
        "WRONG = Rule(subtract(x, y), add(x, y), where=is_integer(x))\n"
        "BOTH = (GOOD, WRONG)\n"
        "NUMBER = 3\n"
    )
    return path


def test_own_rule_is_proved(hlo, own):
    result = hlo("rules", f"{own}:GOOD", "--prove")
    assert result.status == 0
    assert result.out.startswith("BITS       proved   subtract(x, x) => 0")
    assert "integers: solver" in result.out
    assert "tried 100 times" in result.out


def test_own_wrong_rule_is_refuted(hlo, own):
    result = hlo("rules", f"{own}:BOTH", "--prove")
    assert result.status == 1
    assert "WRONG    subtract(x, y) => add(x, y)" in result.out
    assert "// before" in result.out
    assert "// after" in result.out


def test_own_rules_are_listed_as_not_run_yet(hlo, own):
    assert "not run yet" in hlo("rules", f"{own}:BOTH").out


@pytest.mark.parametrize(("name", "code"), [("NUMBER", "HLO204"), ("GODO", "HLO204")])
def test_what_is_no_rule_is_refused(hlo, own, name, code):
    assert code in hlo("rules", f"{own}:{name}").err
    assert "HLO200" in hlo("rules", f"{own.with_name('none.py')}:{name}").err


def test_missing_solver_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(HloError, match="HLO207") as caught:
        importlib.reload(solver)
    assert "pip install z3-solver" in str(caught.value)


def test_wrong_rule_gives_no_evidence():
    with pytest.raises(RefutedError):
        gather_evidence(FALSE[0], QUICK, 20)


# Tours


def choices(random: Random) -> tuple:
    first = random.randint(0, 2)
    second = random.choice("ab") if first else ""
    return first, second, random.random() < 0.5, tuple(random.sample(range(first), first))


def test_tour_goes_everywhere_once():
    went = [choices(tour) for tour in tours("seed", 1000)]
    assert len(went) == len(set(went))
    orders = {0: [()], 1: [(0,)], 2: [(0, 1), (1, 0)]}
    expected = {
        (first, second, below, order)
        for first, order in ((f, o) for f in orders for o in orders[f])
        for second, below in product("ab" if first else [""], (False, True))
    }
    assert set(went) == expected


def test_tour_stops_at_its_limit():
    assert len(list(tours("seed", 5))) == 1
    assert len([choices(tour) for tour in islice(tours("seed", 5), 9)]) == 5


def test_tour_tells_zeros_apart():
    tour = Tour("seed")
    found = set()
    while tour.again():
        found.add(str(tour.choice((0.0, -0.0, 0.0))))
    assert found == {"0.0", "-0.0"}


def test_record_is_json_with_a_line_a_rule():
    text = records.RECORD.read_text()
    assert len(text.splitlines()) == len(RULES) + 2
    assert json.loads(text).keys() == {each.name for each in RULES}
