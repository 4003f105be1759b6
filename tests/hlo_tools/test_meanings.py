"""What opcodes are to the solver is what they are to the interpreter, on values that tell."""

from itertools import product
from random import Random

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo.build import Builder, module
from hlo.opcode import OPCODES
from hlo.types.element_type import ELEMENT_TYPES, F64, PRED
from hlo.types.shape import array
from hlo_tools.generate.values import nasty
from hlo_tools.proofs.arrays import translated
from hlo_tools.proofs.cases import PROVABLE
from hlo_tools.proofs.conditions import CONDITIONS, EXACT
from hlo_tools.proofs.decide import in_model
from hlo_tools.proofs.every_value import all_values
from hlo_tools.proofs.meanings import COMPARISONS, FORMATS, MEANINGS, Pair, number, parts
from hlo_tools.proofs.solver import z3
from hlo_tools.proofs.term_arrays import symbols
from interpreter import evaluate
from interpreter.numbers.compare import compare
from optimizer.catalogue import all_rules
from optimizer.rewriting.guard import Match
from optimizer.rewriting.make import constant
from optimizer.rewriting.term import Variable

REAL = [t for t in PROVABLE if not t.is_complex] + [t for t in FORMATS if t not in PROVABLE]


def agree(opcode, values, result, **attrs):
    """The solver's value of an instruction is the interpreter's."""
    builder = Builder()
    given = [builder.parameter(array(v.element_type)) for v in values]
    shape = array(result) if result else None
    root = builder.add(opcode, *given, shape=shape, **attrs)
    want = evaluate(module(builder.build(root)), *(v.value for v in values))
    terms = {p: symbols(p.name, p.shape) for p in given}
    for parameter, value in zip(given, values, strict=True):
        terms[parameter][()] = number(value.value, value.element_type)
    term = translated(root, terms)[()]
    term = Pair(*map(z3.simplify, parts(term))) if isinstance(term, Pair) else z3.simplify(term)
    got = in_model(Known(), term, root.shape.element_type)
    difference = compare(np.asarray(got), np.asarray(want))
    assert difference is None, f"{opcode}{[v.value for v in values]}: {difference}"


class Known:
    """A model of terms without unknowns."""

    def eval(self, term, **_options):
        return z3.simplify(term)


class Value:
    def __init__(self, value, element_type):
        self.value, self.element_type = value, element_type


@st.composite
def values(draw, element_type, count):
    random = Random(draw(st.integers(0, 1 << 30)))
    return [Value(nasty(array(element_type), random)[()], element_type) for _ in range(count)]


def arity(opcode):
    return OPCODES[opcode].arity


def told(element_type):
    """The opcodes that the solver is told of, but for those of complex numbers and for powers."""
    narrow = {"real", "imag"} if element_type.bits < 32 else set()
    return sorted(MEANINGS[element_type.kind].keys() - {"complex", "power"} - narrow)


@pytest.mark.parametrize("element_type", REAL, ids=str)
@given(data=st.data())
@settings(max_examples=40)
def test_opcode_is_what_the_interpreter_computes(element_type, data):
    opcode = data.draw(st.sampled_from(told(element_type)))
    agree(opcode, data.draw(values(element_type, arity(opcode))), None)


@pytest.mark.slow
@pytest.mark.parametrize("element_type", REAL, ids=str)
def test_every_opcode_is_what_the_interpreter_computes(element_type):
    for opcode in told(element_type):
        for seed in range(60):
            random = Random(f"{opcode}/{seed}")
            shape = array(element_type)
            given_values = [nasty(shape, random)[()] for _ in range(arity(opcode))]
            agree(opcode, [Value(v, element_type) for v in given_values], None)


@pytest.mark.parametrize("element_type", REAL, ids=str)
@given(data=st.data())
@settings(max_examples=15)
def test_comparison_is_what_the_interpreter_computes(element_type, data):
    direction = data.draw(st.sampled_from(sorted(COMPARISONS[element_type.kind])))
    agree("compare", data.draw(values(element_type, 2)), None, direction=direction)


@pytest.mark.parametrize("target", REAL, ids=str)
@given(data=st.data())
@settings(max_examples=25)
def test_conversion_is_what_the_interpreter_computes(target, data):
    source = data.draw(st.sampled_from(REAL))
    agree("convert", data.draw(values(source, 1)), target)


COMPLEX = [t for t in PROVABLE if t.is_complex]


@pytest.mark.parametrize("element_type", COMPLEX, ids=str)
@given(data=st.data())
@settings(max_examples=25)
def test_complex_numbers_are_what_the_interpreter_computes(element_type, data):
    agree("multiply", data.draw(values(element_type, 2)), None)
    source = data.draw(st.sampled_from([*REAL, *COMPLEX]))
    agree("convert", data.draw(values(source, 1)), element_type)


@pytest.mark.parametrize("name", ["s16", "u32", "f16", "bf16", "f64"])
@given(data=st.data())
@settings(max_examples=25)
def test_bits_are_what_the_interpreter_gives(name, data):
    target = ELEMENT_TYPES[name]
    sources = [t for t in REAL if t.bits == target.bits and t is not PRED]
    source = data.draw(st.sampled_from(sources))
    (value,) = data.draw(values(source, 1))
    # The solver has one NaN.
    if value.value == value.value:
        agree("bitcast-convert", [value], target)


@pytest.mark.parametrize("name", ["s4", "u4", "s8", "u32"])
@given(data=st.data())
def test_power_is_what_the_interpreter_computes(name, data):
    agree("power", data.draw(values(ELEMENT_TYPES[name], 2)), None)


SMALL = [t for t in PROVABLE if not t.is_complex and (t is PRED or t.bits <= 8)]


def guards():
    """The guards of the optimizer's rules that the solver is told of, by name."""
    found = {}
    pending = [r.where for r in all_rules() if r.where is not None]
    while pending:
        guard = pending.pop()
        pending += guard.parts
        if guard.name in CONDITIONS:
            found.setdefault(guard.name, guard)
    return found


# Only integers are distances of shifts.
GUARDED = [
    (guard, t)
    for guard, t in product(guards().values(), SMALL)
    if t.is_integer or not guard.name.endswith("_width")
]


@pytest.mark.parametrize(("guard", "element_type"), GUARDED, ids=lambda v: getattr(v, "name", ""))
def test_guard_is_what_the_solver_is_told(guard, element_type):
    """On all constants of small types; a condition that is not exact holds where its guard does."""
    single = all_values(element_type)
    rows = (
        single[:, None] if len(guard.variables) == 1 else list(product(single[::5], single[1::9]))
    )
    assert all(isinstance(v, Variable) or hasattr(v, "name") for v in guard.variables)
    for row in rows:
        found = {v.name: constant(np.asarray(c)) for v, c in zip(guard.variables, row, strict=True)}
        holds = guard.holds(Match(next(iter(found.values())), found, {}, {}))
        terms = [number(c, element_type) for c in row]
        told = z3.is_true(z3.simplify(CONDITIONS[guard.name](element_type, *terms)))
        assert told == holds or (told and guard.name not in EXACT), row


def test_every_condition_belongs_to_a_guard():
    assert guards().keys() == CONDITIONS.keys()


def test_formats_are_those_of_numpy():
    for element_type, (exponents, digits) in FORMATS.items():
        info = ml_dtypes.finfo(element_type.dtype)
        assert (info.nexp, info.nmant) == (exponents, digits - 1)
    assert F64 in FORMATS
