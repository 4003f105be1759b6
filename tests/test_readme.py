"""What the README shows is what happens."""

import os
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONSOLES = re.findall(r"```console\n(.*?)```", README, re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block with what it prints."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2].strip()) for part in parts]


@pytest.mark.parametrize("block", CONSOLES)
def test_consoles_show_what_is_printed(block: str) -> None:
    folder = ROOT
    bin_ = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}", "NO_COLOR": "1"}
    for command, shown in commands(block):
        words = shlex.split(command)
        if words[0] == "cd":
            folder /= words[1]
        if words[0] in ("cd", "export"):
            continue
        assert words[0] == "hlo"
        done = subprocess.run(
            [sys.executable, "-m", "hlo_tools", *words[1:]],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        printed = (done.stdout + done.stderr).strip()
        # Three dots stand for anything.
        pattern = "*".join(re.sub(r"[\[*?]", "[\\g<0>]", part) for part in shown.split("..."))
        assert fnmatchcase(printed, f"{pattern}*" if shown.endswith("...") else pattern), printed


def test_there_is_a_console() -> None:
    assert len(CONSOLES) == 1
    assert len(commands(CONSOLES[0])) >= 5


@pytest.mark.parametrize("verb", sorted(set(re.findall(r"`hlo ([a-z-]+)", README))))
def test_verbs_exist(verb: str) -> None:
    assert (ROOT / "hlo_tools" / "verbs" / f"{verb.replace('-', '_')}.py").exists()


def test_files_exist() -> None:
    named = set(re.findall(r"`((?:hlo|interpreter|optimizer|emit_c|tests|docs)/[\w./]*)`", README))
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_builder_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "Builder" in b]
    exec(block, {})
    assert "multiply(%parameter.0, %logistic)" in capsys.readouterr().out
