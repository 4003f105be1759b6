"""`hlo minimize`: what fails in hundreds of instructions is shown in a handful."""

import re
from pathlib import Path

import numpy as np
import pytest
from strategies.planted import PLANTED
from strategies.tower import tower

import hlo as language
from hlo_tools.search.failing import WrongPass, holds
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.parts import parts
from hlo_tools.search.shrink.shrink import shrink
from interpreter import evaluate

# Miscompiles of many kinds: of arithmetic, moved elements, folds, calls, loops and layouts.
MISCOMPILES = (
    *("x + c => x", "clamp with bounds swapped", "constants_are_zero"),
    *("slice_one_further", "padding_on_the_other_side", "gather_takes_the_first", "stale_layout"),
    *("reduced_along_another", "branches_swapped"),
    *("loop_left_out", "one_turn_only", "condition_off_by_one"),
)
MOST_INSTRUCTIONS = 8
CRASHES = """
from hlo.walk import rebuild, rebuild_module


class Crashes:
    name = "crashes"

    def run(self, module, log):
        opcodes = {i.opcode for i in module.instructions()}
        if {"gather", "sort"} <= opcodes:
            raise ValueError("both at once")
        return module


class Drops:
    name = "drops"

    def run(self, module, log):
        def change(computation):
            plan = {i: i.operands[0] for i in computation.instructions if i.opcode == "sine"}
            return rebuild(computation, {i: n for i, n in plan.items() if log.rewrite("", i, n)})

        return rebuild_module(module, change)
"""


@pytest.fixture
def large(tmp_path: Path) -> Path:
    module, given = tower()
    assert sum(1 for _ in module.instructions()) > 500
    path = tmp_path / "tower.hlo"
    path.write_text(str(module))
    np.savez(tmp_path / "tower.npz", **{f"in{n}": array for n, array in enumerate(given)})
    return path


def instructions(text: str) -> int:
    return sum(1 for _ in language.parse(text).instructions())


@pytest.mark.parametrize("name", MISCOMPILES)
def test_a_miscompile_in_a_large_module_is_shown_in_a_small_one(name: str) -> None:
    module, given = tower()
    failing = WrongPass(PLANTED[name])
    case = Case(module, tuple(given))
    first = failing.failure(case)
    assert first is not None
    assert first.startswith("value: ")
    # Far more seconds than are needed, for machines that are busy; questions are what counts.
    small = shrink(case, lambda c: holds(failing, first, c), tries=2000, seconds=600)
    assert sum(1 for _ in small.module.instructions()) <= MOST_INSTRUCTIONS
    again = failing.failure(small)
    assert again is not None
    assert again.startswith("value: ")


def test_a_part_gives_the_value_that_it_has_in_the_whole_module() -> None:
    module, given = tower(2)
    case = Case(module, tuple(given))
    values: dict[str, object] = {}
    evaluate(module, *given, observe=lambda e: values.setdefault(e.instr.name, e.value))
    compared = 0
    for part in parts(case):
        root = part.module.entry.root
        if root.opcode != "parameter" and len(part.module.computations) == 1:
            got = evaluate(part.module, *(part.arguments or ()))
            if isinstance(got, np.ndarray):
                np.testing.assert_array_equal(got, values[root.name])
                compared += 1
    assert compared > 100


def test_a_pass_of_ones_own(hlo, large: Path, tmp_path: Path) -> None:
    passes = tmp_path / "mine.py"
    passes.write_text(CRASHES)
    inputs = large.with_suffix(".npz")
    small, saved = tmp_path / "small.hlo", tmp_path / "small.npz"
    words = ("minimize", large, "--input", inputs, "-o", small, "--save-inputs", saved)
    result = hlo(*words, "--passes", f"{passes}:Drops")
    assert (result.status, result.err) == (0, "")
    assert "instructions became 2 instructions: drops: the value changes" in result.out
    assert instructions(small.read_text()) == 2
    assert "sine" in small.read_text()
    assert hlo("run", small, "--input", saved).status == 0


def test_what_needs_distant_instructions_is_found_too(hlo, large: Path, tmp_path: Path) -> None:
    passes = tmp_path / "mine.py"
    passes.write_text(CRASHES)
    result = hlo("minimize", large, "--passes", f"{passes}:Crashes")
    assert result.status == 0
    assert instructions(result.out) <= 12
    assert "ValueError: both at once" in result.err


def test_a_shell_command(hlo, large: Path) -> None:
    result = hlo("minimize", large, "--command", "! grep -q reduce-window {}")
    assert result.status == 0
    assert instructions(result.out) <= 7
    assert "reduce-window" in result.out
    assert hlo("minimize", large, "--command", "grep -q reduce-window").status == 1


def test_a_command_must_say_the_same(hlo, tmp_path: Path) -> None:
    file = tmp_path / "m.hlo"
    file.write_text("ENTRY e { x = f32[2] parameter(0) y = f32[2] sine(x) ROOT z = f32[2] abs(y) }")
    told = "grep -q sine {} && echo wrong; exit 3"
    small = hlo("minimize", file, "--command", told, "--says", "wrong")
    assert "sine" in small.out
    assert "exit status 3: wrong" in small.err
    assert "sine" not in hlo("minimize", file, "--command", told).out


def test_a_command_gets_the_inputs(hlo, tmp_path: Path) -> None:
    file = tmp_path / "m.hlo"
    file.write_text("ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] log(x) }")
    result = hlo("minimize", file, "--fill", "-1", "--command", "test -s {inputs} -a -s {}")
    assert result.status == 1
    assert result.err.startswith("the command gave 0; it must fail")


def test_where_nan_arises(hlo, tmp_path: Path) -> None:
    file = tmp_path / "m.hlo"
    file.write_text(
        "ENTRY e { x = f32[4,4] parameter(0) a = f32[4,4] exponential(x) b = f32[4,4] negate(a)"
        " c = f32[4,4] sqrt(b) d = f32[4,4] cosine(c) ROOT r = f32[4,4] add(d, x) }"
    )
    result = hlo("minimize", file, "--nan")
    assert result.status == 0
    assert re.search(r"ROOT .* sqrt\(", result.out)
    assert "// %" in result.out
    assert instructions(result.out) == 2
    assert hlo("minimize", file, "--inf").status == 1


def test_two_platforms(hlo, softmax: Path) -> None:
    # Sums are made in another order.
    words = ("minimize", softmax, "--platform", "c", "--ulps", 0, "--seconds", 60)
    result = hlo(*words)
    assert result.status == 0
    assert "c and interpreter: " in result.err
    assert instructions(result.out) < 10


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "one of --passes, --platform, --nan, --inf, --command is needed"),
        ("--nan --inf", "is needed, not --nan and --inf"),
        ("--nan --ulps 1", "--ulps has no effect without --passes or --platform"),
        ("--nan --says x", "--says has no effect without --command"),
        ("--nan --reference c", "--reference has no effect without --platform"),
        ("--passes nonsense", "there is no pass `nonsense`"),
        ("--platform vulkan", "there is no platform `vulkan`"),
    ],
)
def test_senseless_words_are_refused(hlo, softmax: Path, words: str, told: str) -> None:
    result = hlo("minimize", softmax, *words.split())
    assert (result.status, result.out) == (2, "")
    assert told in result.err
