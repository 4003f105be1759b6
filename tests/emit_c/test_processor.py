"""Tiles have the vectors of the processor that they are compiled for."""

import pytest
from emitted import checked, emitted
from products import FEW, product

from emit_c.code import processor
from emit_c.code.processor import (
    CacheLevel,
    Caches,
    Processor,
    caches_of,
    described_caches,
    from_flags,
)


def test_flags_say_what_there_is():
    assert from_flags(["avx", "avx2", "avx512f", "avx512_vnni"], "x86_64") == Processor(
        64, 32, True
    )
    assert from_flags(["avx", "avx512f", "avx_vnni"], "x86_64") == Processor(64, 32, False)
    assert from_flags(["sse2", "avx", "avx_vnni"], "AMD64") == Processor(32, 16, True)
    assert from_flags(["sse2"], "x86_64") == Processor(16, 16, False)
    assert from_flags([], "arm64") == Processor(16, 32, False)
    tiles = from_flags(["avx512f", "avx512_bf16", "amx_int8", "amx_bf16"], "x86_64")
    assert (tiles.sums_pairs, tiles.whole_tiles, tiles.whole_pairs) == (True, True, True)


@pytest.mark.parametrize(
    ("vectors", "shape"),
    [((64, 32), (14, 2, 16)), ((32, 16), (6, 2, 8)), ((16, 16), (6, 2, 4)), ((16, 32), (14, 2, 4))],
)
def test_tiles_fit_into_registers(monkeypatch, vectors, shape):
    monkeypatch.setattr(processor, "here", lambda: Processor(*vectors, sums_bytes=False))
    module = product("84,100", "100,96", "84,96")
    (tile,) = checked(module, arguments=FEW, remember=False).tiles
    assert (tile.rows, tile.vectors, tile.lanes) == shape


def described(folder, *caches):
    """A folder like Linux's, with the type, level, size and ways of each cache."""
    for number, texts in enumerate(caches):
        index = folder / f"index{number}"
        index.mkdir()
        for name, text in zip(FACTS, texts, strict=True):
            (index / name).write_text(f"{text}\n")
    return folder


FACTS = "type", "level", "size", "ways_of_associativity"


def test_caches_are_those_for_data_that_linux_describes(tmp_path):
    folder = described(
        tmp_path,
        ("Data", 1, "48K", 12),
        ("Instruction", 1, "32K", 8),
        ("Unified", 2, "2048K", 16),
        ("Unified", 3, "32768K", 16),
    )
    found = described_caches(folder)
    assert found == [
        CacheLevel(1, 48 << 10, 12),
        CacheLevel(2, 2 << 20, 16),
        CacheLevel(3, 32 << 20, 16),
    ]
    assert caches_of(found) == Caches(found[0], found[1])


def test_where_nothing_is_known_caches_are_the_usual_ones(tmp_path):
    """As on other systems, and in virtual machines that tell of no ways."""
    assert caches_of(described_caches(tmp_path / "nowhere")) == Caches()
    partly = described(tmp_path, ("Data", 1, "64K", 4), ("Unified", 2, "1024K", 0))
    assert caches_of(described_caches(partly)) == Caches(CacheLevel(1, 64 << 10, 4))


def test_rows_that_are_ways_apart_have_as_many_lines_as_a_set():
    caches = Caches(CacheLevel(1, 48 << 10, 12))
    assert [caches.rows(apart) for apart in (4096, 8192, 2048, 4096 + 64)] == [12, 12, 24, 768]
    assert Caches(CacheLevel(1, 64 << 10, 4)).rows(16 << 10) == 4


FIRST, SECOND = Caches().first, Caches().second
LARGE_FIRST = Caches(CacheLevel(1, 64 << 10, 16), SECOND)
LARGE_SECOND = Caches(FIRST, CacheLevel(2, 4 << 20, 16))
MANY_WAYS = Caches(CacheLevel(1, 48 << 10, 12), SECOND)
SMALL_SECOND = Caches(FIRST, CacheLevel(2, 256 << 10, 8))


def made_here(monkeypatch, caches, module):
    """What the C is made of on a processor with some caches."""
    here = Processor(64, 32, sums_bytes=False, caches=caches)
    monkeypatch.setattr(processor, "here", lambda: here)
    return emitted(module, optimize=False)


@pytest.mark.parametrize(
    ("caches", "sizes", "counter", "trips"),
    [
        # Few rows read a matrix by chunks that fill half of the first level, 128 bytes a step.
        (Caches(), (12, 768, 512), "chunk", 6),
        (LARGE_FIRST, (12, 768, 512), "chunk", 3),
        # Many rows read a packed matrix, of which half of the second level has room for panels.
        (Caches(), (96, 1000, 3008), "t_1", 1000),
        (SMALL_SECOND, (96, 1000, 3008), "t_1", 500),
    ],
)
def test_blocks_fill_the_caches(monkeypatch, caches, sizes, counter, trips):
    rows, depth, columns = sizes
    module = product(f"{rows},{depth}", f"{depth},{columns}", f"{rows},{columns}")
    made = made_here(monkeypatch, caches, module)
    assert trips in [loop.stop for loop in made.loops if loop.name == counter]


@pytest.mark.parametrize(
    ("caches", "sizes", "shared", "rows"),
    [
        # By no chunks where it stays in the second level.
        (LARGE_SECOND, (12, 768, 512), "p", 12),
        # A tile has as many rows as there are ways, if rows are a way apart.
        (Caches(), (96, 1024, 16), "v", 8),
        (MANY_WAYS, (96, 1024, 16), "v", 12),
    ],
)
def test_tiles_fit_into_the_caches(monkeypatch, caches, sizes, shared, rows):
    count, depth, columns = sizes
    module = product(f"{count},{depth}", f"{depth},{columns}", f"{count},{columns}")
    tiles = made_here(monkeypatch, caches, module).tiles
    assert {(tile.shared, tile.rows) for tile in tiles} == {(shared, rows)}


@pytest.mark.parametrize(("caches", "by_rows"), [(LARGE_SECOND, False), (SMALL_SECOND, True)])
def test_a_matrix_is_large_if_it_is_outside_of_the_second_level(monkeypatch, caches, by_rows):
    """Then its f16, which are converted, are read row after row."""
    module = product("f16[8,1024]", "f16[1024,1024]", "f32[8,1024]")
    assert bool(made_here(monkeypatch, caches, module).tiles) != by_rows
