"""Dot products of bf16, two to a number: the sums are those of the interpreter."""

import re
import subprocess

import ml_dtypes
import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from emit_c.code import processor
from emit_c.contraction.library import exported
from emit_c.contraction.tiles import Tile
from hlo.support.compiler import find_compiler, macros
from hlo.types.element_type import ELEMENT_TYPES

PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
TILE = re.compile(r"hlo_tile_\w+_bf16\(")
FORMS = {
    "a page of depth": ((20, 4096), (4096, 40), (20, 40), PLAIN),
    "a prime depth": ((9, 2053), (2053, 100), (9, 100), PLAIN),
    "both transposed": ((100, 40), (70, 100), (40, 70),
                        "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    "few columns": ((200, 64), (64, 3), (200, 3), PLAIN),
    "batch": ((3, 20, 65), (3, 65, 40), (3, 20, 40),
              ("lhs_batch_dims={0}, lhs_contracting_dims={2}, "
               "rhs_batch_dims={0}, rhs_contracting_dims={1}")),
    "two contracted": ((20, 5, 71), (71, 32, 5), (20, 32),
                       "lhs_contracting_dims={1,2}, rhs_contracting_dims={2,0}"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def pairs(monkeypatch):
    """A processor that has such an instruction, or a compiler that can do without."""
    here = processor.Processor(64, 32, sums_bytes=False, sums_pairs=True)
    monkeypatch.setattr(processor, "here", lambda: here)


GIVEN = "parameter(0)", "parameter(1)"


WHOLE = processor.Processor(64, 32, sums_bytes=False, sums_pairs=True, whole_pairs=True)
WHOLE_TILE = re.compile(r"hlo_tile_\w+_BF16\(")


def dot(left, right, result, roles=PLAIN, kind="f32", given=GIVEN):
    x, y, r = (",".join(map(str, dims)) for dims in (left, right, result))
    return hlo.parse(
        f"HloModule m\nENTRY e {{ x = bf16[{x}] {given[0]}\ny = bf16[{y}] {given[1]}\n"
        f"ROOT r = {kind}[{r}] dot(x, y), {roles} }}"
    )


def check(module, *arguments):
    """The C, where it gives what the interpreter gives."""
    executable = emit_c.compile(module, optimize=False, remember=False, subnormals="flush")
    found, wanted = executable(*arguments), interpreter.evaluate(module, *arguments)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    return executable.source


def integers(*dims):
    """Whole numbers, of which f32 has all sums."""
    return np.random.default_rng(0).integers(-8, 9, dims).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize("form", FORMS)
def test_forms(form, kind):
    left, right, result, roles = FORMS[form]
    module = dot(left, right, result, roles, kind)
    assert TILE.search(check(module, integers(*left), integers(*right)))


ROWS = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"


@pytest.mark.parametrize(("depth", "together"), [(96, True), (97, False)])
def test_weights_whose_pairs_are_neighbours_are_packed_by_squares(depth, together):
    """As PyTorch has them. A row of an odd number ends in the middle of a pair."""
    module = dot((70, depth), (40, depth), (70, 40), ROWS)
    source = check(module, integers(70, depth), integers(40, depth))
    assert TILE.search(source)
    assert ("hlo_transpose_u32(" in source) == together


def test_pairs_of_slices_are_read_where_they_begin():
    """The second of these begins in the middle of a pair."""
    for start in (2, 3):
        module = hlo.parse(
            "HloModule m\nENTRY e { x = bf16[20,70] parameter(0)\ny = bf16[40,80] parameter(1)\n"
            f"z = bf16[40,70] slice(y), slice={{[0:40], [{start}:{start + 70}]}}\n"
            f"ROOT r = f32[20,40] dot(x, z), {ROWS} }}"
        )
        check(module, integers(20, 70), integers(40, 80))


def test_an_odd_depth_has_nothing_after_its_end():
    """The last number is half of a pair: what would be after an infinity times zero is no NaN."""
    x, y = integers(9, 71), integers(71, 40)
    x[3, -1], y[-1, 2] = np.inf, -np.inf
    y[-1, y[-1] == 0] = 1
    assert TILE.search(check(dot((9, 71), (71, 40), (9, 40)), x, y))


def test_operands_are_rounded_before_they_are_pairs():
    """Sums of bf16 in one kernel with the product: each operand is a bf16 again."""
    module = hlo.parse(
        "HloModule m\nENTRY e { x = bf16[20,70] parameter(0)\ny = bf16[70,40] parameter(1)\n"
        "z = bf16[20,70] add(x, x)\nROOT r = f32[20,40] dot(z, y), " + PLAIN + " }"
    )
    large = integers(20, 70) + np.float32(129).astype(ml_dtypes.bfloat16)
    assert TILE.search(check(module, large.astype(ml_dtypes.bfloat16), integers(70, 40)))


def test_modules_that_keep_subnormal_numbers_have_no_pairs():
    """The instruction takes them for zeros, whatever the state of floats."""
    module = dot((20, 70), (70, 40), (20, 40))
    source = emit_c.compile(module, optimize=False, remember=False, subnormals="keep").source
    assert not TILE.search(source)


def constant(rows, columns):
    """Numbers with an infinity and -0 among them."""
    row = f"{{{', '.join(['-0', '-inf', *(str(k % 7) for k in range(2, columns))])}}}"
    return f"constant({{{', '.join([row] * rows)}}})"


@pytest.mark.parametrize("depth", [70, 71])
def test_constants_are_packed_before(depth):
    """Their pairs are put together when the module is written, whichever operand they are."""
    left = dot((40, depth), (depth, 20), (40, 20), given=(constant(40, depth), GIVEN[0]))
    right = dot((20, depth), (depth, 40), (20, 40), given=(GIVEN[0], constant(depth, 40)))
    for module, numbers in ((left, integers(depth, 20)), (right, integers(20, depth))):
        source = check(module, np.abs(numbers))
        assert TILE.search(source)
        assert "packed[" not in source


WHOLE_FORMS = {
    "a page of depth": ((64, 4096), (4096, 64), True),
    "rows and columns left over": ((37, 256), (256, 70), True),
    "one vector": ((300, 512), (512, 24), True),
    "steps in chunks": ((40, 4096), (4096, 1056), True),
    "few steps left over": ((70, 150), (150, 80), False),
    "few rows": ((8, 512), (512, 512), False),
}


@pytest.mark.parametrize("kind", ["f32", "bf16"])
@pytest.mark.parametrize("form", WHOLE_FORMS)
def test_whole_tiles(monkeypatch, form, kind):
    """Where the compiler does not know the registers, loops take the same numbers."""
    monkeypatch.setattr(processor, "here", lambda: WHOLE)
    left, right, whole = WHOLE_FORMS[form]
    module = dot(left, right, (left[0], right[1]), kind=kind)
    source = check(module, integers(*left), integers(*right))
    assert bool(WHOLE_TILE.search(source)) == whole


def test_whole_tiles_read_rows_of_the_input_where_they_lie(monkeypatch):
    monkeypatch.setattr(processor, "here", lambda: WHOLE)
    source = check(dot((64, 256), (256, 64), (64, 64)), integers(64, 256), integers(256, 64))
    assert WHOLE_TILE.search(source)
    assert "copy" not in source


def test_whole_tiles_have_products_of_infinities_and_fractions(monkeypatch):
    monkeypatch.setattr(processor, "here", lambda: WHOLE)
    x, y = integers(64, 256), integers(256, 64)
    x[3, 5], y[5, y[5] == 0], y[7] = np.inf, 1, y[7] / 16
    assert WHOLE_TILE.search(check(dot((64, 256), (256, 64), (64, 64)), x, y))


def test_modules_that_keep_subnormal_numbers_have_no_whole_tiles(monkeypatch):
    monkeypatch.setattr(processor, "here", lambda: WHOLE)
    module = dot((64, 256), (256, 64), (64, 64))
    source = emit_c.compile(module, optimize=False, remember=False, subnormals="keep").source
    assert not re.search(r"hlo_tile_\w+_bf16\(", source, re.IGNORECASE)


@pytest.mark.parametrize("signs", ["BF", "SS", "UU", "US", "SU"])
def test_instructions_of_whole_tiles_are_those_of_the_assembler(tmp_path, signs):
    """A compiler that knows the registers accepts all instructions, if this one does."""
    flags = ("-mamx-tile", "-mamx-int8", "-mamx-bf16")
    known = (*find_compiler(), *flags)
    if not any("AMX" in name for name in macros(known)):
        pytest.skip("the compiler knows no such registers")
    kind = ELEMENT_TYPES["f32" if signs == "BF" else "s32"]
    tile = Tile("n", "v", 30, 2, 16, 1, kind, signs=signs)
    source, made = tmp_path / "tile.c", tmp_path / "tile.s"
    source.write_text(exported([tile]))
    subprocess.run([*known, "-c", source, "-o", tmp_path / "tile.o"], check=True)
    subprocess.run([*known, "-S", source, "-o", made], check=True)
    named = "tdpbf16ps" if signs == "BF" else f"tdpb{signs.lower()}d"
    assert made.read_text().count(named) == 4
