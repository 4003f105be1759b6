"""Dot products of every form: tiles, few rows, exact sums of bytes."""

from __future__ import annotations

from math import prod

import ml_dtypes
import numpy as np
import pytest
from emitted import checked, emitted
from hypothesis import assume, given
from hypothesis import strategies as st
from products import FEW, PLAIN, ROWS, product
from strategies.compiled import check, whole

import emit_c
import hlo
from emit_c.code import processor

TYPES = {"f32": np.float32, "s32": np.int32, "c64": np.complex64, "s8": np.int8, "u8": np.uint8,
         "s16": np.int16, "u16": np.uint16}  # fmt: skip


def dot(lhs, rhs, result, how, kind="f32", target=None):
    """A product of arrays of a type, by their sizes."""
    return product(f"{kind}[{lhs}]", f"{kind}[{rhs}]", f"{target or kind}[{result}]", how)


def check_dot(*case):
    """The C agrees exactly with the interpreter on small whole numbers."""
    check(dot(*case), arguments=FEW)


def made_of(*case):
    """What the C is made of, if it does."""
    return checked(dot(*case), arguments=FEW)


@st.composite
def dots(draw):
    """Two operands whose dimensions of every role are in any order."""
    sizes = st.sampled_from([1, 2, 3, 5, 8, 17, 40])
    roles = {
        role: draw(st.lists(sizes, max_size=most))
        for role, most in (("batch", 2), ("contracting", 2), ("lhs", 2), ("rhs", 2))
    }
    sides = []
    for side in ("lhs", "rhs"):
        named = [
            (role, i) for role in ("batch", "contracting", side) for i in range(len(roles[role]))
        ]
        sides.append(draw(st.permutations(named)))
    # Free dimensions keep the order that the operand has.
    free = [[roles[r][i] for r, i in side if r in ("lhs", "rhs")] for side in sides]
    result = [*roles["batch"], *free[0], *free[1]]
    assume(prod(result) * prod(roles["contracting"]) < 1 << 20)
    texts = [",".join(str(roles[r][i]) for r, i in side) for side in sides]
    words = []
    for side, name in zip(sides, ("lhs", "rhs"), strict=True):
        for role in ("batch", "contracting"):
            places = ",".join(str(side.index((role, i))) for i in range(len(roles[role])))
            if places or role == "contracting":
                words.append(f"{name}_{role}_dims={{{places}}}")
    return (*texts, ",".join(map(str, result)), ", ".join(words))


@given(dots(), st.sampled_from(["f32", "f32", "bf16", "f64", "s32", "c64", "s8", "u8", "s16"]))
def test_all_kinds(case, element_type):
    check_dot(*case, element_type)


BATCH = "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}"
IN_LANES = (
    "lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={2}, rhs_contracting_dims={0}"
)
CASES = {
    "a batch of vectors, in lanes": ("8,2", "2,8,8", "8,8", IN_LANES),
    "panels in chunks": ("40,1024", "1024,320", "40,320", PLAIN),
    "a prime depth": ("40,2053", "2053,100", "40,100", PLAIN),
    "rows a page apart": ("30,1024", "1024,300", "30,300", PLAIN),
    "left transposed": ("512,40", "512,300", "40,300",
                        "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    "right transposed": ("40,100", "70,100", "40,70", ROWS),
    "few columns": ("200,64", "64,3", "200,3", PLAIN),
    "vector and matrix": ("1,100", "100,600", "1,600", PLAIN),
    "vector and rows": ("100", "600,100", "600",
                        "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    "few vectors and rows": ("5,96", "33,96", "5,33", ROWS),
    "batch": ("6,20,30", "6,30,40", "6,20,40", BATCH),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("element_type", ["f32", "bf16", "c64"])
def test_forms(name, element_type):
    check_dot(*CASES[name], element_type)


@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16"])
@pytest.mark.parametrize("columns", [2, 3, 4, 5])
def test_few_columns_are_stored_interleaved(columns, element_type):
    check_dot("1003,5", f"5,{columns}", f"1003,{columns}", PLAIN, element_type)


@pytest.mark.parametrize("sides", ["{0} {0}", "{0} {1}", "{1} {0}", "{1} {1}"])
@pytest.mark.parametrize("size", [2, 3, 4, 8, 40])
def test_a_matrix_is_multiplied_by_itself(size, sides):
    """Which operand is the left one can't be told by the instruction that both are."""
    left, right = sides.split()
    check(f"""HloModule m
ENTRY e {{
  x = f32[{size},{size}] parameter(0)
  ROOT r = f32[{size},{size}] dot(x, x), lhs_contracting_dims={left}, rhs_contracting_dims={right}
}}""", arguments=FEW)  # fmt: skip


@pytest.mark.parametrize(("element_type", "depth"), [("f32", 7), ("s32", 3), ("c64", 7)])
def test_long_matrices_are_not_packed_for_few_columns(element_type, depth):
    """Its numbers would be packed one by one, each for five products."""
    module = dot(f"1003,{depth}", f"{depth},5", "1003,5", PLAIN, element_type)
    kind, generator = TYPES[element_type], np.random.default_rng(0)
    parts = (generator.integers(-9, 10, (2, *dims)) for dims in ((1003, depth), (depth, 5)))
    turn = 1j if element_type == "c64" else 1
    x, y = ((real + imaginary * turn).astype(kind) for real, imaginary in parts)
    executable = emit_c.compile(module)
    np.testing.assert_array_equal(executable(x, y), x @ y)
    assert executable.memory.temporaries < x.nbytes // 4


@pytest.mark.parametrize("depth", [3, 8, 13, 16, 20])
@pytest.mark.parametrize("element_type", ["f32", "s32", "bf16"])
def test_short_rows_are_multiplied_side_by_side(depth, element_type):
    """Seven rows at a time would be stored seven apart, and fill no vector together either."""
    made = made_of("77," + str(depth), str(depth), "77", PLAIN, element_type)
    is_gathered = element_type != "bf16" or depth in {3, 8, 16}
    stored_apart = any((loop.name, loop.stop) == ("b", 11) for loop in made.loops)
    assert stored_apart == (depth > 16 or not is_gathered)


@pytest.mark.parametrize("element_type", ["s8", "u8", "s16", "u16"])
@pytest.mark.parametrize("columns", [3, 7, 9])
def test_few_columns_of_few_bits_are_summed_up_in_more(columns, element_type):
    """A tile of bytes would use too few of its lanes; sums of 16 bits have the same last ones."""
    module = hlo.parse(
        f"HloModule m\nENTRY e {{ x = {element_type}[500,{columns}] parameter(0)\n"
        f"ROOT r = {element_type}[{columns},{columns}] dot(x, x), lhs_contracting_dims={{0}}, "
        "rhs_contracting_dims={0} }"
    )
    limits = np.iinfo(TYPES[element_type])
    made = checked(module, optimize=True, arguments=whole(limits.min, limits.max + 1))
    assert bool(made.tiles) == (columns > 3)


@pytest.mark.parametrize("element_type", ["s2", "u2", "s4", "u4", "s8", "u8"])
@pytest.mark.parametrize("size", [3, 5, 9, 20])
def test_sums_of_few_bits_wrap_around(size, element_type):
    module = dot(*[f"{size},{size}"] * 3, PLAIN, element_type)
    limits = ml_dtypes.iinfo(module.entry.root.shape.element_type.dtype)
    check(module, optimize=True, arguments=whole(int(limits.min), int(limits.max) + 1))


@pytest.mark.parametrize("element_type", ["s8", "u8"])
def test_bytes_are_summed_up_exactly(element_type, monkeypatch):
    """In floats, where the processor has no sums of bytes."""
    monkeypatch.setattr(processor, "here", lambda: processor.Processor(64, 32, sums_bytes=False))
    extreme = 255 if element_type == "u8" else -128
    arguments = [np.full(s, extreme, TYPES[element_type]) for s in ((20, 4096), (4096, 40))]
    arguments[0][:, 0] = 1
    module = dot("20,4096", "4096,40", "20,40", PLAIN, element_type, "s32")
    made = checked(module, arguments=arguments, remember=False)
    assert {str(tile.kind) for tile in made.tiles} == {"f32"}


@pytest.mark.parametrize("opcode", ["dot", "convolution"])
@pytest.mark.parametrize("element_type", ["f32", "bf16", "f16"])
def test_sums_of_floats_become_integers_last(element_type, opcode):
    """They are rounded to the operands' type, then truncated and saturate."""
    how = PLAIN if opcode == "dot" else "dim_labels=bf_io->bf"
    shapes = f"{element_type}[6,8]", f"{element_type}[8,5]", "s8[6,5]"
    module = product(*shapes, how, opcode=opcode)
    generator = np.random.default_rng(0)
    arguments = [
        (generator.normal(size=p.shape.dims) * 4).astype(p.shape.element_type.dtype)
        for p in module.entry.parameters
    ]
    check(module, arguments=arguments)


IN_PLACE = {
    "many rows, of a kernel whose own are close": ("99,40", "40,32", "99,32", PLAIN),
    "a last tile that begins earlier": ("99,40", "40,100", "99,100", PLAIN),
    "many rows of a batch": ("3,99,40", "3,40,100", "3,99,100", BATCH),
    "one tile of a batch": ("7,8,24", "7,24,16", "7,8,16", BATCH),
    "two contracted": (
        "8,3,5", "3,5,4,16", "8,4,16", "lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}",
    ),
    "two batches, features in front": (
        "2,3,8,9", "2,3,9,4,16", "2,3,8,4,16",
        ("lhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
         "rhs_batch_dims={0,1}, rhs_contracting_dims={2}"),
    ),
}  # fmt: skip


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("name", IN_PLACE)
def test_a_kernel_is_read_where_it_is(name):
    assert "packed" not in made_of(*IN_PLACE[name]).names


@pytest.mark.parametrize("roles", [
    ("5,2,128,4", "5,2,4,1056", "lhs_contracting_dims={3}, rhs_contracting_dims={2}"),
    ("5,2,128,4", "5,2,1056,4", "lhs_contracting_dims={3}, rhs_contracting_dims={3}"),
])  # fmt: skip
def test_a_batch_is_packed_and_gone_through_one_after_the_other(roles):
    lhs, rhs, contracted = roles
    batch = f"lhs_batch_dims={{0,1}}, rhs_batch_dims={{0,1}}, {contracted}"
    made = made_of(lhs, rhs, "5,2,128,1056", batch)
    assert {"panel", "own"} <= made.names
    # Whole rows or squares are copied, whose places are found without divisions.
    assert made.names & {"__builtin_memcpy", "hlo_transpose_u32"}


COPIES = {"panel", "packed"}


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("rows", [1, 5, 8, 40, 64])
@pytest.mark.parametrize("panels", ["6,300,32", "3,2,50,64", "8,1100,64", "7,20,64"])
def test_panels_are_read_where_they_lie(rows, panels):
    *outer, depth, lane = panels.split(",")
    contracted = f"lhs_contracting_dims={{1}}, rhs_contracting_dims={{{len(outer)}}}"
    result = ",".join([str(rows), *outer, lane])
    assert not COPIES & made_of(f"{rows},{depth}", panels, result, contracted).names


@pytest.mark.parametrize(
    ("kind", "rows", "sums"),
    [("f32", 4, True), ("f32", 5, False), ("f16", 8, True), ("f16", 9, False)],
)
def test_a_large_matrix_that_is_converted_is_read_row_after_row(kind, rows, sums):
    """By more rows than one that tiles can read where it lies: to pack it would take longer."""
    module = dot(f"{rows},3000", "3000,400", f"{rows},400", PLAIN, kind, "f32")
    assert (not emitted(module, optimize=False).tiles) == sums


# Steps of a chunk: of 128 bytes each, in half of the first-level cache.
CHUNK = 128
CHUNKS = {
    "chunks of one size": ("12,512", "512,1056"),
    "a last chunk of fewer steps": ("24,331", "331,1056"),
    "columns left over": ("24,300", "300,1501"),
    "columns and steps left over": ("17,331", "331,1501"),
    "one chunk": ("40,20", "20,4096"),
    "several tiles of rows": ("61,700", "700,420"),
    "rows close together": ("20,3000", "3000,68"),
}


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("case", CHUNKS)
def test_few_rows_read_a_matrix_in_place_by_chunks_of_its_rows(case):
    """All tiles of a chunk are made before the next one, whose numbers are fetched meanwhile."""
    lhs, rhs = CHUNKS[case]
    (rows, depth), columns = lhs.split(","), rhs.split(",")[1]
    made = made_of(lhs, rhs, f"{rows},{columns}", PLAIN)
    assert not COPIES & made.names
    assert is_by_chunks(made)
    assert ("chunk" in made.names) == (int(depth) > CHUNK)


def is_by_chunks(made):
    """Whether tiles fetch the vectors of the one after the next."""
    return "q" in {tile.shared for tile in made.tiles}


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    ("lhs", "rhs"), [("65,512", "512,1056"), ("24,256", "256,256"), ("24,512", "512,20")]
)
def test_other_matrices_are_not_read_by_chunks(lhs, rhs):
    """For many rows, a matrix is packed; where it stays in the cache, or is narrow, it need not."""
    result = f"{lhs.split(',')[0]},{rhs.split(',')[1]}"
    assert not is_by_chunks(made_of(lhs, rhs, result, PLAIN))


@pytest.mark.usefixtures("wide")
def test_a_batch_of_matrices_is_read_by_chunks():
    assert is_by_chunks(made_of("3,20,300", "3,300,800", "3,20,800", BATCH))


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("rows", [512, 513, 600])
def test_many_rows_are_gone_through_in_two_blocks(rows):
    """So that threads read rows of their own; for the stride of 4096 bytes, they are copied."""
    for count, depth in ((rows, 1024), (500, 1024), (rows, 300)):
        made = made_of(f"{count},{depth}", f"{depth},1100", f"{count},1100", PLAIN)
        assert ("rows" in made.names) == (count == rows and depth == 1024)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(
    "case",
    [
        ("640,1100", "8,1100,64", "640,8,64", ROWS),
        ("199,4", "4,1056", "199,1056", PLAIN),
        ("99,40", "40,12", "99,12", PLAIN),
    ],
    ids=["many rows", "few steps", "few columns"],
)
def test_other_kernels_are_packed(case):
    assert COPIES & made_of(*case).names
