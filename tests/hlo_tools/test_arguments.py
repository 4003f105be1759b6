"""Nothing on a command line is ignored: no senseless number, no wrong name, no idle option."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import optimizer
from hlo.backend_names import OWN
from hlo_tools import cli
from hlo_tools.arguments import Parser

ADD = b"""HloModule m

ENTRY e {
  x = f32[2] parameter(0)
  ROOT r = f32[2] add(x, x)
}
"""
NUMBERS = [
    ("opt - --fuel", "-1 one 1.5"),
    ("opt - --skip", "0 -1"),
    ("stats - --largest", "-1"),
    ("run - --replicas", "0 -1"),
    ("run - --seed", "-1 x"),
    ("run - --max-iterations", "-1 x"),
    ("run - --platform c --threads", "0 -1"),
    ("bisect - --seed", "-1"),
    ("bisect - --replicas", "0"),
    ("bisect - --rtol", "-1 nan inf x"),
    ("run - --reference c --ulps", "-1 0.5"),
]
IDLE = [
    "opt - --passes cse --strict",
    "opt - --passes cse --target gpu",
    "bisect - --passes cse --strict",
    "opt - --target cpu --stage cuda",
    "opt - --seed 1",
    "opt - --input x.npy",
    "opt - --replicas 2",
    "run - --input x.npy --fill 1",
    "run - --input x.npy --seed 0",
    "run - --fill 1 --seed 1",
    "run - --promise BITS",
    "run - --rtol 1",
    "run - --reference c --promise BITS --atol 1",
    "bisect - --promise BITS --ulps 1",
    "run - --threads 1",
    "run - --transport mpi",
    "run - --platform c --transport mpi --profile",
    "run - --profile",
    "run - --profile-trace t",
    "run - --sanitize",
    "run - --platform c --max-iterations 9",
    "run - --platform c --sanitize --profile",
    "run - --platform c --sanitize --threads 1",
    "rules --at r",
    "print - --large-constants",
    "print - --short-parsable --no-percent",
    "opt - --log --log-diff",
    "explain HLO001 --all",
]
EMPTY = [
    *("opt - --passes", "opt - --until", "opt - --print-after", "opt - --dump-to", "opt - --svg"),
    *("opt - -o", "print - -o", "run - -o", "run - --trace", "run - --expect", "run - --input"),
    *(
        "run - --reference",
        "rules --why",
        "aot - -o",
        "aot - -o d --name",
        "rules",
        "ops",
        "ops",
        "passes",
    ),
    *("explain", "run", "verify", "bisect - --passes"),
]
NAMES = [
    "opt - --until algebric-simplifier",
    "opt - --until fusion --passes cse",
    "opt - --print-after fusoin",
    "opt - --passes csee",
    "opt - --skip 1000",
    "run - --platform cudda",
    "run - --reference vulkan",
    "rules nonsense",
    "rules --why - --at nonsense",
    "rules --promise BITS bf17",
    "passes nonsense",
    "ops nonsense",
    "explain 999",
    "explain HLOX",
    "why fuse - nonsense r",
    "why layout - nonsense",
    "why copy - nonsense",
    "why remat - nonsense",
    "why library - nonsense",
]


@pytest.mark.parametrize(("words", "values"), NUMBERS)
def test_a_senseless_number_is_refused(hlo, words: str, values: str) -> None:
    option = words.rsplit(maxsplit=1)[-1]
    for value in values.split():
        result = hlo(*words.split(), value, stdin=ADD)
        assert (result.status, result.out) == (2, "")
        assert re.search(f"argument {option}[: /]", result.err)


@pytest.mark.parametrize("words", IDLE)
def test_an_option_without_effect_is_refused(hlo, words: str) -> None:
    result = hlo(*words.split(), stdin=ADD)
    assert (result.status, result.out) == (2, "")
    assert "has no effect" in result.err


@pytest.mark.parametrize("words", EMPTY)
def test_an_empty_word_is_refused(hlo, words: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = hlo(*words.split(), "", stdin=ADD)
    assert (result.status, result.out) == (2, "")
    assert "is empty" in result.err
    assert "None" not in result.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", NAMES)
def test_a_name_that_does_not_exist_is_refused(hlo, words: str) -> None:
    result = hlo(*words.split(), stdin=ADD)
    assert (result.status, result.out) == (2, "")
    assert "error[HLO" in result.err
    assert "internal" not in result.err


def test_names_are_suggested(hlo) -> None:
    wrong = hlo("opt", "-", "--until", "algebric-simplifier", stdin=ADD).err
    assert "did you mean `algebraic-simplifier`?" in wrong
    wrong = hlo("opt", "-", "--pases", "cse", stdin=ADD).err
    assert "did you mean `--passes`?" in wrong
    assert "there are: interpreter, c" in hlo("run", "-", "--platform", "xyzzy", stdin=ADD).err


def test_platforms_that_are_offered_run(hlo) -> None:
    for platform in OWN.keys() - {"xla"}:  # tests/hlo_jax/test_xla.py
        assert platform in hlo("run", "--help").out
        result = hlo("run", "-", "--platform", platform, "--fill", 1, stdin=ADD)
        # Or they say what is missing, such as a GPU.
        assert result.out == "f32[2] [2., 2.]\n" or "error[HLO" in result.err


def test_a_wrong_verb_is_blamed_before_its_files(hlo, softmax: Path) -> None:
    for words in (("pritn", softmax), ("grasp", softmax), ("pritn", "--quiet")):
        result = hlo(*words)
        assert result.status == 2
        assert f"there is no verb `{words[0]}`" in result.err
        assert "softmax" not in result.err
    assert "did you mean `print`?" in hlo("pritn", softmax).err
    assert all(verb in hlo("fly", softmax).err for verb in cli.VERBS)


def test_codes_can_be_short(hlo) -> None:
    assert hlo("explain", "HLO1").out.startswith("HLO001: ")
    wrong = hlo("explain", "999").err
    assert "did you mean" not in wrong
    assert "`hlo explain` lists them" in wrong


def test_other_names_of_passes_are_known(hlo) -> None:
    assert hlo("opt", "-", "--until", "algsimp", "--print-after", "algsimp", stdin=ADD).status == 0


def test_the_module_is_printed_after_all_passes(hlo, softmax: Path) -> None:
    printed = hlo("opt", softmax, "--print-after", "all").err
    after = {line.rsplit(".")[-1] for line in printed.splitlines() if line.startswith("// after")}
    assert len(after & optimizer.PASSES.keys()) > 2


def test_passes_are_found_by_a_word(hlo) -> None:
    assert len(hlo("passes", "fusion").out.splitlines()) < len(hlo("passes").out.splitlines())
    assert all(
        "fusion" in line for line in hlo("passes", "fusion").out.splitlines() if line[0] != " "
    )


def test_standard_input_is_not_read_twice(hlo) -> None:
    result = hlo("diff", "-", "-", stdin=ADD)
    assert result.status == 2
    assert "cannot read standard input twice" in result.err


@pytest.mark.parametrize("verb", ["print", "opt", "stats"])
def test_a_full_disk_is_one_message(softmax: Path, verb: str) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("no /dev/full")
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "hlo_tools", verb, str(softmax)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == b"hlo: cannot write: No space left on device\n"


def test_a_file_in_place_of_a_folder_is_one_message(hlo, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for words in (("opt", "-", "--dump-to"), ("aot", "-", "-o")):
        result = hlo(*words, tmp_path / "file", stdin=ADD)
        assert result.status == 2
        assert "error[HLO200]" in result.err


def test_words_behind_dashes_are_somebody_else_s() -> None:
    parser = Parser(prog="jax")
    parser.add_argument("script")
    parser.add_argument("--engine")
    parser.behind_dashes("words")
    given = parser.parse(["train.py", "--engine", "c", "--", "--engine", "--", "x"])
    assert (given.engine, given.words) == ("c", ["--engine", "--", "x"])
    assert parser.parse(["train.py"]).words == []


@pytest.mark.parametrize("columns", [80, 120])
def test_help_is_no_wider_than_the_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in ([], *([verb] for verb in cli.VERBS)):
        with pytest.raises(SystemExit):
            cli.main([*words, "--help"])
        wide = [line for line in capsys.readouterr().out.splitlines() if len(line) > columns]
        assert wide == [], words


@pytest.mark.parametrize("verb", ["run", "opt", "minimize"])
def test_help_of_verbs_with_many_options_begins_with_examples(verb, capsys):
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    assert f"    hlo {verb} m.hlo --" in capsys.readouterr().out
