"""Argmax and argmin, folded in lanes: what folding one pair after the other gives."""

import ml_dtypes
import numpy as np
import pytest
from emitted import checked, emitted
from faults import loses_zeros

import hlo
from codegen.expressions import Literal
from codegen.statements import LocalVariable
from emit_c.executable.runtime import set_threads
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import BITS

# How frontends write it: what is kept of the left pair (v, i) and the right one (w, j).
JAX = """gt = pred[] compare(v, w), direction={first}
  odd = pred[] compare(v, v), direction=NE
  left = pred[] or(gt, odd)
  value = {kind}[] select(left, v, w)
  same = pred[] compare(v, w), direction=EQ
  earlier = pred[] compare(i, j), direction=LT
  both = pred[] and(same, earlier)
  keep = pred[] or(left, both)
  place = {places}[] select(keep, i, j)"""
AT_LEAST = """keep = pred[] compare(v, w), direction={at_least}
  value = {kind}[] select(keep, v, w)
  place = {places}[] select(keep, i, j)"""
LATER = """keep = pred[] compare(v, w), direction={first}
  value = {kind}[] select(keep, v, w)
  place = {places}[] select(keep, i, j)"""
MIXED = """keep = pred[] compare(v, i), direction={first}
  value = {kind}[] select(keep, v, w)
  place = {places}[] select(keep, i, j)"""
MODULE = """HloModule m
f {{
  v = {kind}[] parameter(0)  i = {places}[] parameter(1)
  w = {kind}[] parameter(2)  j = {places}[] parameter(3)
  {body}
  ROOT t = ({kind}[], {places}[]) tuple(value, place)
}}
ENTRY e {{
  x = {kind}[{dims}] parameter(0)
  n = {places}[{dims}] iota(), iota_dimension={along}
  start = {kind}[] constant({start})
  zero = {places}[] constant({begin})
  ROOT r = ({kind}[{kept}], {places}[{kept}]) reduce(x, n, start, zero), dimensions={{{along}}}, to_apply=f
}}"""  # noqa: E501 - it is one instruction


def module(body, dims, along, *, kind="f32", places="s32", greatest=True, start="0", begin=0):
    first, at_least = ("GT", "GE") if greatest else ("LT", "LE")
    parts = {"first": first, "at_least": at_least, "kind": kind, "places": places}
    kept = ",".join(str(n) for d, n in enumerate(dims) if d != along)
    parts |= {"dims": ",".join(map(str, dims)), "kept": kept, "along": along}
    parts |= {"body": body.format(**parts), "start": start, "begin": begin}
    return hlo.parse(MODULE.format(**parts))


def special(dims, kind):
    """Few numbers, so that most rows have several of their extremes."""
    dtype = ELEMENT_TYPES[kind].dtype
    generator = np.random.default_rng(7)
    if kind[0] in "su":
        info = ml_dtypes.iinfo(dtype)
        return generator.choice(np.array([info.min, 0, 1, info.max], dtype), dims)
    numbers = [-np.inf, -1, -0.0, 0, 1, np.inf]
    array = generator.choice(numbers, dims)
    array[generator.random(dims) < 0.02] = np.nan
    array[generator.random(dims) < 0.02] = -np.nan
    # Rows whose extremes are zeros of both signs.
    zeros = generator.random(dims[0]) < 0.3
    array[zeros] = np.copysign(0, array[zeros])
    array[generator.random(dims[0]) < 0.2] = -np.inf
    return array.astype(dtype)


def check(module, array, *, keys, words=False):
    """Whether extremes are right, and found by keys, or as words with their indices."""
    made = checked(module, BITS, arguments=(array,))
    assert any(isinstance(s, LocalVariable) and s.name == "index" for s in made.nested) == keys
    assert any(s.value == 65536 for s in made.expressions if isinstance(s, Literal)) == words


@pytest.mark.parametrize("start", ["-inf", "0", "nan", "-0"])
@pytest.mark.parametrize("greatest", [True, False])
@pytest.mark.parametrize(("body", "keys"), [(JAX, True), (AT_LEAST, False), (LATER, False)])
def test_floats(body, keys, greatest, start):
    """NaN stays the extreme in one of the bodies only, and one of them finds the last extreme."""
    if start == "-0" and loses_zeros():
        pytest.skip("this compiler, as clang before 16, gets signs of zeros wrong")
    made = module(body, (60, 43), 1, greatest=greatest, start=start)
    check(made, special((60, 43), "f32"), keys=keys)


@pytest.mark.parametrize(
    "kind", ["s8", "u8", "s16", "s32", "u32", "s64", "u64", "bf16", "f16", "f64"]
)
@pytest.mark.parametrize("greatest", [True, False])
def test_other_types(kind, greatest):
    body = JAX if ELEMENT_TYPES[kind].is_floating else AT_LEAST
    made = module(body, (40, 50), 1, kind=kind, places="s64", greatest=greatest)
    words = kind in ("s8", "u8", "s16")
    check(made, special((40, 50), kind), keys=not words, words=words)


@pytest.mark.parametrize("kind", ["s4", "s8", "u8", "s16", "u16"])
@pytest.mark.parametrize("length", [16, 17, 512, 513])
def test_numbers_of_few_bits_are_found_as_words_with_their_indices(kind, length):
    """In rows of some length; u16 has numbers that no signed half of a word has."""
    words = length in (17, 512) and kind != "u16"
    for greatest in (True, False):
        made = module(AT_LEAST, (40, length), 1, kind=kind, greatest=greatest)
        numbers = special((40, length), kind)
        numbers[0], numbers[1] = numbers.min(), numbers.max()
        check(made, numbers, keys=not words, words=words)


@pytest.mark.parametrize(
    ("dims", "along"), [((5, 1), 1), ((9, 7), 1), ((30, 4, 5), 0), ((200,), 0)]
)
def test_other_rows(dims, along):
    check(module(JAX, dims, along), special(dims, "f32"), keys=along != 0 or len(dims) == 1)


@pytest.mark.parametrize("along", [0, 1])
def test_columns_of_several_dimensions_are_folded_side_by_side(along):
    made = module(JAX, (40, 37, 30, 2), along)
    check(made, special((40, 37, 30, 2), "f32"), keys=False)
    columns = 60 if along else 740  # a third of 37 * 30 * 2
    assert ("column", columns) in {(x.name, x.stop) for x in emitted(made, optimize=False).loops}


def test_places_that_do_not_count_up_to_what_fits():
    check(module(JAX, (9, 200), 1, places="s8"), special((9, 200), "f32"), keys=False)
    check(module(JAX, (9, 20), 1, begin=3), special((9, 20), "f32"), keys=False)
    numbers = special((9, 20), "s32")
    check(module(MIXED, (9, 20), 1, kind="s32"), numbers, keys=False)


@pytest.mark.parametrize("threads", [1, 2])
def test_one_long_row_in_blocks(monkeypatch, threads):
    monkeypatch.setattr("emit_c.kernels.block_reductions.LEAST_WORK", 8)
    monkeypatch.setattr("emit_c.kernels.parallelize.LEAST_WORK", 8)
    before = set_threads(threads)
    try:
        array = special((3001,), "f32")
        check(module(JAX, (3001,), 0), array, keys=True)
        check(module(JAX, (3001,), 0), np.where(np.isnan(array), 0, array), keys=True)
    finally:
        set_threads(before)
