"""A schedule of the user's own in `hlo opt`: applied, refused, and compared."""

import pytest

pytestmark = pytest.mark.usefixtures("folder")
MODULE = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[9,8] parameter(0)
  zero = f32[] constant(0)
  ROOT sums = f32[8] reduce(x, zero), dimensions={0}, to_apply=add
}
"""
SCHEDULES = '''"""Schedules of a test."""
from dataclasses import replace
from codegen.schedule.coalesce import coalesce
from codegen.schedule.divide import divide
from codegen.expressions import BLOCK_X, THREAD_X, Literal, Load, Name
from codegen.schedule.order import bind, innermost, parallelize, vectorize
from codegen.statements import Assign, For, LocalVariable

def in_lanes(body, loop):
    """Lanes inside."""
    return innermost(loop, vectorize)

def threads(body, loop):
    return innermost(loop, parallelize)

def blocks(body, loop):
    return divide(body, loop, 4, lambda block, first: [block])

def shorter(body, loop):
    return replace(loop, start=1)

def nothing(body, loop):
    pass

def failing(body, loop):
    return loop.nme

def same_name(body, loop):
    return [LocalVariable("f32", "x", None, 4), loop]

def endless(body, loop):
    return divide(body, loop, -3, lambda block, first: [block])

def no_loop():
    pass

def by_hand(body, loop):
    place = Load(Name("parts"), Name(loop.name) * 2)
    store = For(loop.name, loop.stop, (Assign(place, Literal(0.0)),))
    return [LocalVariable("f32", "parts", None, 12), store, loop]

def by_rest(body, loop):
    place = Load(Name("parts"), Name(loop.name) % 5)
    store = For(loop.name, loop.stop, (Assign(place, Literal(0.0)),))
    return [LocalVariable("f32", "parts", None, 4), store, loop]

def block_in_thread(body, loop):
    inside = lambda block, first: [bind(block, BLOCK_X)]
    (blocks,) = divide(body, loop, 4, inside, tail="guard")
    return replace(blocks, bind=THREAD_X)

def bound(body, loop):
    inside = lambda block, _: [loop.body[0], block]
    return [bind(each, BLOCK_X) for each in divide(body, loop, 5, inside)]

number = 7
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "m.hlo").write_text(MODULE)
    (tmp_path / "mine.py").write_text(SCHEDULES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_schedule_replaces_the_passes_over_plain_loops(hlo) -> None:
    result = hlo("opt", "m.hlo", "--stage", "loops", "--schedule", "mine.py:in_lanes", "--steps")
    assert result.status == 0, result.err
    assert result.err == ""
    titles = [line for line in result.out.splitlines() if line.startswith("// sums")]
    assert titles == [
        "// sums: as it is written",
        "// sums: in mine.py:in_lanes, step 1 of 1: vectorize",
        "// sums: after mine.py:in_lanes",
        "// sums: after inline-uses",
    ]
    assert "//   legal, as no two iterations access one element" in result.out


def test_the_c_has_the_loops_of_the_schedule(hlo) -> None:
    assert "i_block" in hlo("opt", "m.hlo", "--stage", "c", "--schedule", "mine.py:blocks").out


def test_a_scheduled_program_runs_and_is_timed(hlo) -> None:
    words = ("--platform", "c", "--schedule", "mine.py:blocks", "--repeat", "2", "--seed", "1")
    result = hlo("run", "m.hlo", *words, "--quiet", "--reference", "interpreter")
    assert result.status == 0, result.err
    assert "2 runs: best" in result.err
    changed = hlo("run", "m.hlo", "--platform", "c", "--schedule", "mine.py:shorter")
    assert "error[HLO153]: `shorter` changes what the kernel of sums leaves" in changed.err


def test_a_profile_is_of_the_scheduled_loops(hlo) -> None:
    """It measures the kernels of the schedule, so it refuses a wrong one as every run does."""
    words = ("run", "m.hlo", "--platform", "c", "--profile", "--seed", "1")
    result = hlo(*words, "--schedule", "mine.py:blocks", "--reference", "interpreter")
    assert result.status == 0, result.err
    assert "sums_kernel" in result.out
    assert "GFLOP/s" in result.out
    assert "`shorter` changes what the kernel" in hlo(*words, "--schedule", "mine.py:shorter").err


def refused(hlo, name, *options):
    result = hlo("opt", "m.hlo", "--stage", "loops", "--schedule", f"mine.py:{name}", *options)
    assert result.status == 2
    return result.err


def test_what_is_not_legal_is_refused_at_the_line_that_asks_for_it(hlo) -> None:
    assert refused(hlo, "threads") == (
        "mine.py:14:5: error[HLO206]: not legal: "
        "the loop over r folds, and threads would share the total\n"
        "  14 |     return innermost(loop, parallelize)\n"
        "     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
    )


def test_what_is_no_loop_is_refused_at_the_line_that_gives_it_to_a_primitive(hlo) -> None:
    """Of eight iterations three are left over, for which `divide` gives what is in a block."""
    error = refused(hlo, "bound")
    assert "mine.py:54:5: error[HLO206]: `bind` takes a loop, and is given a LocalVariable" in error
    assert 'with tail="guard" it gives one loop' in error


def test_a_loop_that_is_changed_by_hand_is_compared(hlo) -> None:
    wanted = "error[HLO153]: `shorter` changes what the kernel of sums leaves in sums["
    assert wanted in refused(hlo, "shorter")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nothing", "`nothing` returns NoneType, not statements"),
        ("failing", "mine.py:26:5: error[HLO206]: AttributeError: 'For' object has no attribute"),
        ("number", "`number` is no function"),
        ("no_loop", "mine.py:34:1: error[HLO206]: `no_loop` does not take two arguments"),
        ("same_name", "declares x, which is an array of the kernel's"),
        ("endless", "mine.py:32:5: error[HLO206]: not legal: there is no block of -3 iterations"),
        ("by_hand", "not legal: the store to parts[i * 2] may be outside of 12 elements"),
        ("by_rest", "`by_rest` is wrong: parts[4] is outside of 4 elements"),
        ("block_in_thread", "has blockIdx.x: threads are inside of blocks"),
        ("in_lane", "did you mean `in_lanes`?"),
    ],
)
def test_what_is_no_schedule_is_told(hlo, name, error) -> None:
    assert error in refused(hlo, name)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("--stage loops --schedule tiled", "`tiled` names no schedule"),
        ("--stage loops --schedule mine.py", "mine.py has 13 schedules"),
        ("--stage loops --schedule gone.py:tiled", "cannot read gone.py"),
        ("--schedule mine.py:blocks", "--schedule asks for --stage loops or c"),
        ("--stage c --schedule mine.py:blocks --kernel y", "no kernel is that of `y`"),
    ],
)
def test_what_does_not_go_together_is_told(hlo, words, error) -> None:
    result = hlo("opt", "m.hlo", *words.split())
    assert result.status == 2
    assert error in result.err


def test_a_kernel_that_is_too_long_to_be_compared_is_told(hlo, folder) -> None:
    (folder / "m.hlo").write_text(MODULE.replace("9,8", "9000,80").replace("[8]", "[80]"))
    result = hlo("opt", "m.hlo", "--stage", "loops", "--schedule", "mine.py:in_lanes")
    assert result.status == 0
    assert result.err == (
        "sums: loops before and after the schedule are not run and compared, "
        "as it takes too many steps; try smaller arrays, too\n"
    )


TRANSPOSE = """HloModule t
ENTRY main {
  x = f32[9,7] parameter(0)
  ROOT t = f32[7,9] transpose(x), dimensions={1,0}
}
"""
TILES = '''"""Tiles of 4 by 4 in shared memory."""
from codegen.expressions import BLOCK_X, BLOCK_Y, THREAD_X, THREAD_Y, Load, Name
from codegen.schedule.divide import divide
from codegen.schedule.interchange import interchange
from codegen.schedule.loop import LoopView
from codegen.schedule.order import bind
from codegen.schedule.stage import loading_tile
from codegen.statements import LocalVariable

def tiled(body, loop):
    """Rows of five elements, of which the last is not used."""
    return _tiled(body, loop, 4 * 5)

def _tiled(body, loop, elements):
    def columns(lane, _):
        (made,) = divide(body, interchange(lane), 4, tile, tail="guard")
        return [bind(made, BLOCK_X)]

    def tile(rows, _):
        inner = rows.body[-1].then[-1]
        (load,) = LoopView(inner).loads
        name = body.name("tile")
        here = Load(Name(name), Name(rows.name) * 5 + Name(inner.name))
        copies, last = loading_tile(rows, here, load)
        array = LocalVariable("f32", name, None, elements)
        return [array, threads(interchange(copies)), threads(last)]

    (made,) = divide(body, interchange(loop), 4, columns, tail="guard")
    return bind(made, BLOCK_Y)

def threads(nest):
    *values, inner = nest.body
    return bind(nest.with_body([*values, bind(inner, THREAD_X)]), THREAD_Y)
'''


def test_a_schedule_of_threads_runs_on_the_model_of_a_gpu(hlo, folder) -> None:
    """Its threads may take turns in any order, and no two of them race."""
    (folder / "t.hlo").write_text(TRANSPOSE)
    (folder / "tiles.py").write_text(TILES)
    words = ("t.hlo", "--platform", "cuda-host", "--schedule", "tiles.py:tiled", "--quiet")
    result = hlo("run", *words, "--checked", "--seed", "3", "--reference", "interpreter")
    assert result.status == 0, result.err
    assert "equal to interpreter" in result.out
    profile = hlo("run", *words, "--profile")
    assert profile.status == 0, profile.err
    assert "1 kernel call" in profile.out
