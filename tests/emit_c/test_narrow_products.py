"""Products of bytes, four to a number, and of bf16, two: for all processors, C is exact."""

import re
import subprocess

import ml_dtypes
import numpy as np
import pytest
from emitted import checked, emitted
from products import PLAIN, ROWS, product, spelled
from strategies.compiled import check, whole

import hlo
from emit_c.code import processor
from emit_c.code.processor import Processor
from emit_c.contraction.library import exported
from emit_c.contraction.tiles import Tile
from hlo.support.compiler import find_compiler, macros
from hlo.types.element_type import ELEMENT_TYPES

WIDE = Processor(64, 32, sums_bytes=True, sums_pairs=True)
WHOLE = Processor(64, 32, sums_bytes=True, sums_pairs=True, whole_tiles=True, whole_pairs=True)
PROCESSORS = {"64 bytes": WIDE, "32 bytes": Processor(32, 16, sums_bytes=True), "whole": WHOLE}
WITHOUT = Processor(32, 16, sums_bytes=False)


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Take a processor for this one; a compiler can do without its instructions."""
    monkeypatch.setenv("PYHLO_SUBNORMALS", "flush")

    def choose(chosen):
        monkeypatch.setattr(processor, "here", lambda: chosen)

    choose(WIDE)
    return choose


def operands(module):
    """Whole numbers: of bf16 few, of bytes the least and the largest often among them."""
    generator = np.random.default_rng(0)
    for parameter in module.entry.parameters:
        dtype = parameter.shape.element_type.dtype
        low, high = (
            (-8, 8) if dtype == ml_dtypes.bfloat16
            else (int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max))
        )  # fmt: skip
        drawn = generator.integers(low - 40, high + 41, parameter.shape.dims)
        yield np.clip(drawn, low, high).astype(dtype)


def signs(module, arguments=lambda module: list(operands(module))):
    """The signs of the tiles of a product, which is exact."""
    return {tile.signs for tile in checked(module, arguments=arguments, remember=False).tiles}


def sized(kinds, left, right, result, how=PLAIN, **options):
    """A product of arrays of some types, by their sizes."""
    texts = (f"{kind}[{dims}]" for kind, dims in zip(kinds, (left, right, result), strict=True))
    return product(*texts, how, **options)


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("right", ["s8", "u8", "s4", "u4"])
@pytest.mark.parametrize("left", ["s8", "u8", "s4", "u4"])
def test_all_signs(here, left, right, name):
    here(PROCESSORS[name])
    assert all(signs(sized((left, right, "s32"), "33,70", "70,49", "33,49")))


FORMS = {
    "a page of depth": ("20,4096", "4096,40", "20,40", PLAIN),
    "a prime depth": ("9,2053", "2053,100", "9,100", PLAIN),
    "panels in chunks": ("40,2048", "2048,1056", "40,1056", PLAIN),
    "transposed": ("40,100", "70,100", "40,70", ROWS),
    "both transposed": ("100,40", "70,100", "40,70",
                        "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    "few columns": ("200,64", "64,3", "200,3", PLAIN),
    "batch": ("3,20,65", "3,65,40", "3,20,40",
              ("lhs_batch_dims={0}, lhs_contracting_dims={2}, "
               "rhs_batch_dims={0}, rhs_contracting_dims={1}")),
    "two contracted": ("20,5,71", "71,32,5", "20,32",
                       "lhs_contracting_dims={1,2}, rhs_contracting_dims={2,0}"),
}  # fmt: skip
PAIRS = ("bf16", "bf16", "f32"), ("bf16", "bf16", "bf16")
BYTES = ("s8", "s8", "s32"), ("u8", "u8", "s32"), ("u8", "s8", "s32")
KINDS = [(kinds, name) for kinds in BYTES for name in PROCESSORS]
KINDS += [(kinds, "64 bytes") for kinds in PAIRS]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kinds", "name"), KINDS)
def test_forms(here, form, kinds, name):
    here(PROCESSORS[name])
    assert all(signs(sized(kinds, *FORMS[form])))


@pytest.mark.parametrize(("depth", "together"), [(96, True), (97, False)])
def test_weights_whose_pairs_are_neighbours_are_packed_by_squares(depth, together):
    """As PyTorch has them. A row of an odd number ends in the middle of a pair."""
    module = sized(PAIRS[0], f"70,{depth}", f"40,{depth}", "70,40", ROWS)
    assert signs(module) == {"bf"}
    assert ("hlo_transpose_u32" in emitted(module, optimize=False).names) == together


def test_pairs_of_slices_are_read_where_they_begin():
    """The second of these begins in the middle of a pair."""
    for start in (2, 3):
        module = f"""HloModule m
ENTRY e {{
  x = bf16[20,70] parameter(0)
  y = bf16[40,80] parameter(1)
  z = bf16[40,70] slice(y), slice={{[0:40], [{start}:{start + 70}]}}
  ROOT r = f32[20,40] dot(x, z), {ROWS}
}}"""
        check(module, arguments=whole(-8, 9))


def test_an_odd_depth_has_nothing_after_its_end():
    """The last number is half of a pair: what would be after an infinity times zero is no NaN."""
    module = sized(PAIRS[0], "9,71", "71,40", "9,40")
    x, y = operands(module)
    x[3, -1], y[-1, 2] = np.inf, -np.inf
    y[-1, y[-1] == 0] = 1
    assert signs(module, (x, y)) == {"bf"}


def test_operands_are_rounded_before_they_are_pairs():
    """Sums of bf16 in one kernel with the product: each operand is a bf16 again."""
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = bf16[20,70] parameter(0)
  y = bf16[70,40] parameter(1)
  z = bf16[20,70] add(x, x)
  ROOT r = f32[20,40] dot(z, y), {PLAIN}
}}""")
    x, y = operands(module)
    assert signs(module, ((x + np.float32(129)).astype(x.dtype), y)) == {"bf"}


@pytest.mark.parametrize("chosen", [WIDE, WHOLE])
def test_modules_that_keep_subnormal_numbers_have_no_pairs(here, monkeypatch, chosen):
    """The instructions take them for zeros, whatever the state of floats."""
    here(chosen)
    monkeypatch.setenv("PYHLO_SUBNORMALS", "keep")
    module = sized(PAIRS[0], "64,256", "256,64", "64,64")
    assert {tile.signs for tile in emitted(module, optimize=False).tiles} == {""}


@pytest.mark.parametrize(
    ("kind", "is_left"),
    [("bf16", False), ("bf16", True), *((kind, False) for kind in ("s8", "u8", "s4", "u4"))],
)
@pytest.mark.parametrize("depth", [70, 71])
def test_constants_are_packed_before(kind, depth, is_left):
    """Their numbers are put together when the module is written, whichever operand they are."""
    rows, columns = (40, 20) if is_left else (20, 40)
    shapes = f"{rows},{depth}", f"{depth},{columns}", f"{rows},{columns}"
    kinds = kind, kind, "f32" if kind == "bf16" else "s32"
    constant = next(a for k, a in enumerate(operands(sized(kinds, *shapes))) if k != is_left)
    if kind == "bf16":
        constant[0, :2] = -0.0, -np.inf
    given = [f"constant({spelled(constant)})", "parameter(0)"]
    module = sized(kinds, *shapes, given=given if is_left else given[::-1])
    arguments = [np.abs(each) if kind == "bf16" else each for each in operands(module)]
    made = checked(module, arguments=arguments, remember=False)
    assert all(tile.signs for tile in made.tiles)
    assert "packed" not in made.names


WHOLE_FORMS = {
    "a page of depth": ("64,4096", "4096,64", "64,64", True),
    "rows and columns left over": ("37,256", "256,70", "37,70", True),
    "one vector": ("300,512", "512,24", "300,24", True),
    "steps in chunks": ("40,4096", "4096,1056", "40,1056", True),
    "few steps left over": ("70,150", "150,80", "70,80", False),
    "few rows": ("8,512", "512,512", "8,512", False),
    "little to do": ("16,64", "64,16", "16,16", False),
}


@pytest.mark.parametrize("kinds", [BYTES[0], *PAIRS])
@pytest.mark.parametrize("form", WHOLE_FORMS)
def test_whole_tiles(here, form, kinds):
    """Where the compiler does not know the registers, loops take the same numbers."""
    here(WHOLE)
    *shapes, is_whole = WHOLE_FORMS[form]
    assert {each.isupper() for each in signs(sized(kinds, *shapes))} == {is_whole}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("left", "right"), [("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("u8", "u8")]
)
def test_whole_tiles_of_all_signs(here, monkeypatch, left, right, known):
    """A compiler that does not know the registers makes loops of the same numbers."""
    here(WHOLE)
    if not known:
        command = (*find_compiler(), "-U__AMX_INT8__", "-U__AMXINT8__")
        monkeypatch.setenv("CC", " ".join(command))
    module = sized((left, right, "s32"), "37,256", "256,70", "37,70")
    assert signs(module) == {f"{left[0]}{right[0]}".upper()}


def test_whole_tiles_read_rows_of_the_input_where_they_lie(here):
    here(WHOLE)
    module = sized(PAIRS[0], "64,256", "256,64", "64,64")
    assert signs(module) == {"BF"}
    assert not any("copy" in name for name in emitted(module, optimize=False).names)


def test_whole_tiles_have_products_of_infinities_and_fractions(here):
    here(WHOLE)
    module = sized(PAIRS[0], "64,256", "256,64", "64,64")
    x, y = operands(module)
    x[3, 5], y[5, y[5] == 0], y[7] = np.inf, 1, y[7] / 16
    assert signs(module, (x, y)) == {"BF"}


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u32"])
def test_narrower_and_unsigned_results_wrap_around(here, kind, name):
    here(PROCESSORS[name])
    of = "u8" if kind[0] == "u" else "s8"
    for depth in (70, 2053):
        signs(sized((of, of, kind), f"33,{depth}", f"{depth},49", "33,49"))


@pytest.mark.parametrize("name", PROCESSORS)
def test_compilers_need_not_know_the_instruction(here, monkeypatch, name):
    here(PROCESSORS[name])
    command = " ".join((*find_compiler(), "-U__AVX512VNNI__", "-U__AVXVNNI__"))
    monkeypatch.setenv("CC", command)
    for left, right in (("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")):
        signs(sized((left, right, "s32"), "33,70", "70,49", "33,49"))


def test_other_processors_sum_up_floats(here):
    here(WITHOUT)
    module = sized(BYTES[0], "33,70", "70,49", "33,49")
    assert signs(module) == {""}
    assert {str(t.kind) for t in emitted(module, optimize=False).tiles} == {"f32"}


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
    assert len(re.findall(named, made.read_text())) == 4
