"""Dot products of bytes, four to a number: exact for all signs, sizes and processors."""

import re

import ml_dtypes
import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from emit_c.code import processor
from hlo.support.compiler import find_compiler

TYPES = {"s8": np.int8, "u8": np.uint8, "s4": ml_dtypes.int4, "u4": ml_dtypes.uint4}
PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
WIDE, MIDDLE = (processor.Processor(*vectors, sums_bytes=True) for vectors in ((64, 32), (32, 16)))
WHOLE = processor.Processor(64, 32, sums_bytes=True, whole_tiles=True)


@pytest.fixture(params=[WIDE, MIDDLE, WHOLE], ids=["64 bytes", "32 bytes", "whole tiles"])
def quads(monkeypatch, request):
    """A processor that has such an instruction, or a compiler that can do without."""
    monkeypatch.setattr(processor, "here", lambda: request.param)


def numbers(element_type, shape):
    """Random ones, the least and the largest often among them."""
    info = ml_dtypes.iinfo(TYPES[element_type])
    low, high = int(info.min), int(info.max)
    drawn = np.random.default_rng(0).integers(low - 40, high + 41, shape)
    return np.clip(drawn, low, high).astype(TYPES[element_type])


def spelled(array):
    """An array as HLO writes it."""
    if array.ndim == 0:
        return str(int(array))
    return "{" + ", ".join(map(spelled, array)) + "}"


def check(left, right, result, roles=PLAIN, *, constant=False):
    """The C gives what the interpreter gives; operands and result are each a type and sizes."""
    arguments = [numbers(*operand) for operand in (left, right)]
    x, y, r = (f"{kind}[{','.join(map(str, dims))}]" for kind, dims in (left, right, result))
    given = f"constant({spelled(arguments[1])})" if constant else "parameter(1)"
    module = hlo.parse(
        f"HloModule m\nENTRY e {{ x = {x} parameter(0)\ny = {y} {given}\n"
        f"ROOT r = {r} dot(x, y), {roles} }}"
    )
    hlo.verify(module)
    arguments = arguments[: 1 if constant else 2]
    executable = emit_c.compile(module, optimize=False, remember=False)
    np.testing.assert_array_equal(
        np.asarray(executable(*arguments)), np.asarray(interpreter.evaluate(module, *arguments))
    )
    return executable.source


@pytest.mark.usefixtures("quads")
@pytest.mark.parametrize("right", TYPES)
@pytest.mark.parametrize("left", TYPES)
def test_all_signs(left, right):
    source = check((left, (33, 70)), (right, (70, 49)), ("s32", (33, 49)))
    assert re.search(r"hlo_tile_\w+_[us]{2}8\(", source, re.IGNORECASE)


FORMS = {
    "a page of depth": ((20, 4096), (4096, 40), (20, 40), PLAIN),
    "a prime depth": ((9, 2053), (2053, 100), (9, 100), PLAIN),
    "panels in chunks": ((40, 2048), (2048, 1056), (40, 1056), PLAIN),
    "transposed": ((40, 100), (70, 100), (40, 70),
                   "lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
    "both transposed": ((100, 40), (70, 100), (40, 70),
                        "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    "few columns": ((200, 64), (64, 3), (200, 3), PLAIN),
    "batch": ((3, 20, 30), (3, 30, 40), (3, 20, 40),
              ("lhs_batch_dims={0}, lhs_contracting_dims={2}, "
               "rhs_batch_dims={0}, rhs_contracting_dims={1}")),
    "two contracted": ((20, 5, 11), (11, 32, 5), (20, 32),
                       "lhs_contracting_dims={1,2}, rhs_contracting_dims={2,0}"),
}  # fmt: skip


@pytest.mark.usefixtures("quads")
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("kinds", [("s8", "s8"), ("u8", "u8"), ("u8", "s8")], ids=" by ".join)
def test_forms(name, kinds):
    left, right, result, roles = FORMS[name]
    source = check((kinds[0], left), (kinds[1], right), ("s32", result), roles)
    assert re.search(r"hlo_tile_\w+_[us]{2}8\(", source, re.IGNORECASE)


@pytest.mark.usefixtures("quads")
@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u32"])
def test_narrower_and_unsigned_results_wrap_around(kind):
    bytes_of = "u8" if kind[0] == "u" else "s8"
    for depth in (70, 2053):
        check((bytes_of, (33, depth)), (bytes_of, (depth, 49)), (kind, (33, 49)))


@pytest.mark.usefixtures("quads")
@pytest.mark.parametrize("kind", TYPES)
def test_constant_kernels_are_packed_before(kind):
    source = check((kind, (33, 70)), (kind, (70, 49)), ("s32", (33, 49)), constant=True)
    assert "packed[" not in source


WHOLE_FORMS = {
    "a page of depth": ((64, 4096), (4096, 64), True),
    "rows and columns left over": ((37, 256), (256, 70), True),
    "one vector": ((300, 512), (512, 24), True),
    "few steps left over": ((70, 150), (150, 80), False),
    "few rows": ((8, 512), (512, 512), False),
    "little to do": ((16, 64), (64, 16), False),
}


@pytest.mark.parametrize("form", WHOLE_FORMS)
def test_whole_tiles(monkeypatch, form):
    monkeypatch.setattr(processor, "here", lambda: WHOLE)
    x, y, whole = WHOLE_FORMS[form]
    source = check(("s8", x), ("s8", y), ("s32", (x[0], y[1])))
    assert bool(re.search(r"hlo_tile_\w+_SS8\(", source)) == whole


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("signs", ["ss", "su", "us", "uu"])
def test_whole_tiles_of_all_signs(monkeypatch, signs, known):
    """A compiler that does not know the registers makes loops of the same numbers."""
    monkeypatch.setattr(processor, "here", lambda: WHOLE)
    if not known:
        command = (*find_compiler(), "-U__AMX_INT8__", "-U__AMXINT8__")
        monkeypatch.setenv("CC", " ".join(command))
    left, right = (f"{sign}8" for sign in signs)
    source = check((left, (37, 256)), (right, (256, 70)), ("s32", (37, 70)))
    assert re.search(rf"hlo_tile_\w+_{signs.upper()}8\(", source)


@pytest.mark.usefixtures("quads")
def test_compilers_need_not_know_the_instruction(monkeypatch):
    command = " ".join((*find_compiler(), "-U__AVX512VNNI__", "-U__AVXVNNI__"))
    monkeypatch.setenv("CC", command)
    for left, right in (("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")):
        check((left, (33, 70)), (right, (70, 49)), ("s32", (33, 49)))


def test_other_processors_sum_up_floats(monkeypatch):
    monkeypatch.setattr(processor, "here", lambda: processor.Processor(32, 16, sums_bytes=False))
    source = check(("s8", (33, 70)), ("s8", (70, 49)), ("s32", (33, 49)))
    assert re.search(r"hlo_tile_\w+_f32\(", source)
