"""Register tiles do not depend on the module: they are shared, and all of one size."""

import json

import pytest
from emitted import checked
from products import product
from strategies.compiled import whole

from codegen.callees import BUILTINS
from codegen.statements import Call, nested
from emit_c.contraction.library import as_json, of_json
from emit_c.contraction.tiles import PAIRS, Tile, tile_function
from hlo.types.element_type import ELEMENT_TYPES


def tiled(text):
    """What the C is made of, if it gives what the interpreter gives for small whole numbers."""
    return checked(f"HloModule m\nENTRY e {{\n{text}\n}}", arguments=whole(-9, 9))


@pytest.mark.parametrize("known", [None, 640])
@pytest.mark.parametrize("signs", ["", "us", "SS", PAIRS])
def test_a_function_that_a_cache_names_is_the_one_that_code_calls(known, signs):
    """A process that finds a module in the cache compiles those of its tiles that are not there."""
    kind = ELEMENT_TYPES["s32" if signs in ("us", "SS") else "f32"]
    tile = Tile("n", "p", 13, 2, 16, 3, kind, known, signs)
    for function in (tile, "hlo_transpose_u64"):
        assert of_json(json.loads(json.dumps(as_json(function)))) == function


TWO = """x = f32[{n},64] parameter(0)  y = f32[64,{k}] parameter(1)  z = f32[{k},96] parameter(2)
d = f32[{n},{k}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
f = f32[{n},96] dot(d, z), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
ROOT r = (f32[{n},{k}], f32[{n},96]) tuple(d, f)"""


@pytest.mark.parametrize(("rows", "columns"), [(28, 128), (25, 128), (41, 126), (27, 127)])
def test_dots_of_other_sizes_share_a_tile_that_covers_all_rows_and_lanes(rows, columns):
    assert len(tiled(TWO.format(n=rows, k=columns)).tiles) == 1


@pytest.mark.usefixtures("wide")
def test_tiles_that_add_do_not_meet():
    """Sums of 8192 bytes are exact in f32 only in parts."""
    module = product("u8[41,8192]", "u8[8192,100]", "s32[41,100]")
    assert len(checked(module, arguments=whole(0, 256), remember=False).tiles) == 2


@pytest.mark.usefixtures("wide")
def test_the_tiles_of_a_batch_of_small_matrices_are_one_call():
    text = """x = f32[50,8,8] parameter(0)  y = f32[50,8,8] parameter(1)
d = f32[50,8,8] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0},
  rhs_contracting_dims={1}
ROOT r = (f32[50,8,8]) tuple(d)"""
    (kernel,) = tiled(text).statements.values()
    (call,) = (s for s in kernel if isinstance(s, Call))  # not inside of a loop
    assert isinstance(call.function, Tile)


@pytest.mark.usefixtures("wide")
def test_names_from_hlo_are_no_tiles():
    name = Tile("n", "v", 14, 2, 16, 1, ELEMENT_TYPES["f32"]).name
    text = TWO.format(n=28, k=128).replace("x = ", f"{name} = ").replace("(x,", f"({name},")
    assert name in [tile.name for tile in tiled(text).tiles]


@pytest.mark.usefixtures("wide")
def test_small_contractions_share_few_tiles():
    sizes = [(9, 20), (11, 24), (13, 28), (26, 31)]
    lines, results = [], []
    for k, (rows, columns) in enumerate(sizes):
        lines.append(f"x{k} = f32[{rows},6] parameter({2 * k})")
        lines.append(f"y{k} = f32[6,{columns}] parameter({2 * k + 1})")
        contracted = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        lines.append(f"d{k} = f32[{rows},{columns}] dot(x{k}, y{k}), {contracted}")
        results.append((f"f32[{rows},{columns}]", f"d{k}"))
    shapes, names = (", ".join(column) for column in zip(*results, strict=True))
    lines.append(f"ROOT r = ({shapes}) tuple({names})")
    assert len(tiled("\n".join(lines)).tiles) == 1


ONE = """x = f32[{m},{k}] parameter(0)  y = f32[{k},{n}] parameter(1)
d = f32[{m},{n}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
ROOT r = (f32[{m},{n}]) tuple(d)"""


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(("steps", "rows"), [(1024, 8), (512, 16), (960, 26)])
def test_a_tile_has_no_more_rows_than_their_set_of_the_cache_has_ways(steps, rows):
    """Of rows 4 KiB apart, a line each lies in one set of 8 ways, of 2 KiB in two."""
    text = ONE.format(m=208, k=steps, n=16)
    (tile,) = tiled(text).tiles
    assert tile.rows == rows


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize(("columns", "shared"), [(256, "p"), (96, "v"), (1056, "q")])
def test_numbers_are_fetched_ahead_where_rows_lie_far_apart(columns, shared):
    text = ONE.format(m=12, k=400, n=columns)
    (tile,) = tiled(text).tiles
    assert tile.shared == shared
    calls = [s for s in nested(tile_function(tile).body) if isinstance(s, Call)]
    assert (BUILTINS["prefetch"] in {call.function for call in calls}) == (shared != "v")
