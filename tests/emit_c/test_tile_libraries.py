"""Register tiles are compiled once for all modules, apart from these."""

from pathlib import Path

import numpy as np
import pytest

import emit_c
import hlo
from emit_c.contraction.library import exported
from emit_c.executable import tiles
from emit_c.executable.libraries import compilers
from emit_c.executable.runtime import runtime
from emit_c.program.units import Units

pytestmark = pytest.mark.usefixtures("wide")

DOT = """HloModule m
ENTRY e {{
  x = f32[{n},256] parameter(0)
  y = f32[256,{k}] parameter(1)
  ROOT d = f32[{n},{k}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""

TWO_DOTS = """HloModule m
ENTRY e {
  x = f32[28,256] parameter(0)
  y = f32[30,256] parameter(1)
  z = f32[256,64] parameter(2)
  d = f32[28,64] dot(x, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[30,64] dot(y, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (f32[28,64], f32[30,64]) tuple(d, c)
}"""
ONES = [np.ones(shape, np.float32) for shape in ((28, 256), (30, 256), (256, 64))]

SORT = """HloModule m
less { a = f64[] parameter(0)  b = f64[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f64[100000] parameter(0)
  ROOT s = f64[100000] sort(x), dimensions={0}, to_apply=less }"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no tiles that are loaded already."""
    runtime()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tiles, "_LOADED", {})
    return tmp_path / "pyhlo" / "libraries"


def multiplied(n, k):
    """The names of the tiles with which a compiled module multiplies two matrices."""
    module = hlo.parse(DOT.format(n=n, k=k))
    generator = np.random.default_rng(0)
    x, y = (generator.integers(-9, 9, s).astype(np.float32) for s in ((n, 256), (256, k)))
    executable = emit_c.compile(module, optimize=False, remember=False)
    np.testing.assert_array_equal(executable(x, y), x @ y)
    return emit_c.emit(module).parts.tiles


def test_modules_share_a_library(cache):
    first = multiplied(28, 64)
    assert len(list(cache.iterdir())) == 2
    assert multiplied(42, 96) == first
    assert len(list(cache.iterdir())) == 3


def test_tiles_that_are_compiled_together_have_a_name_each(cache, monkeypatch):
    monkeypatch.setattr(tiles, "FEW", 2)
    names = emit_c.emit(hlo.parse(DOT.format(n=28, k=64))).parts.tiles
    names += emit_c.emit(hlo.parse(DOT.format(n=30, k=64))).parts.tiles
    names += emit_c.emit(hlo.parse(DOT.format(n=5, k=3))).parts.tiles
    tiles.compile_tiles(names)
    files = {path.stat().st_ino for path in cache.iterdir()}
    assert (len(files), len(list(cache.iterdir()))) == (1, len(set(names)) + 1)
    tiles.load_tiles(names[:1])
    assert len(list(cache.iterdir())) == len(set(names)) + 1


@pytest.mark.usefixtures("cache")
def test_tiles_are_compiled_while_kernels_are_still_written(monkeypatch):
    monkeypatch.setattr(tiles, "FEW", 2)
    module = hlo.parse(TWO_DOTS)
    with compilers() as running:
        missing = tiles.MissingTiles(lambda: running)
        begun = []
        monkeypatch.setattr(running, "take", begun.append)
        program = emit_c.emit(module, units=Units(2, hand_out_tiles=missing.look))
    names = program.parts.tiles
    assert len(names) == 2
    assert begun == [exported(names)]
    executable = emit_c.compile(module)
    np.testing.assert_array_equal(executable(*ONES)[1], np.full((30, 64), 256, np.float32))


def test_files_may_have_one_name_each(cache, monkeypatch):
    def refuse(*_):
        raise OSError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    multiplied(28, 64)
    multiplied(30, 64)
    assert len(list(cache.iterdir())) == 4


def test_a_library_that_was_removed_is_made_again(cache, monkeypatch):
    first = multiplied(28, 64)
    for path in cache.iterdir():
        path.unlink()
    monkeypatch.setattr(tiles, "_LOADED", {})
    tiles.load_tiles(first)
    assert len(list(cache.iterdir())) == 1


def test_the_file_that_people_read_holds_the_tiles():
    parts = emit_c.emit(hlo.parse(DOT.format(n=28, k=64))).parts
    (tile,) = parts.tiles
    assert f"static void {tile.name}(" in parts.whole()
    unit = parts.declaring()
    assert f"\nvoid {tile.name}(" in unit
    assert "sum_0_0" not in unit


def test_long_functions_of_the_prelude_are_shared_as_well():
    parts = emit_c.emit(hlo.parse(SORT)).parts
    assert "hlo_bucket_sort_u64" in parts.tiles
    assert "static void hlo_bucket_sort_u64(" in parts.whole()
    unit = parts.declaring()
    assert "\nvoid hlo_bucket_sort_u64(" in unit
    assert "radix_sort_u64" not in unit
    x = np.random.default_rng(0).normal(size=100_000)
    assert (emit_c.compile(hlo.parse(SORT))(x) == np.sort(x)).all()
