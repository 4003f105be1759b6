"""The README, and the pages of commands and of Python, show what happens."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from course.blocks import alike, run_command

from hlo_tools.cli import VERBS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
FILES = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", README, re.DOTALL)
CONSOLES = re.findall(r"```console\n(.*?)```", README + COMMANDS, re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block with what it prints."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2].strip()) for part in parts]


@pytest.mark.parametrize("block", CONSOLES)
def test_consoles_show_what_is_printed(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder that has the project's own beside the files that the README writes."""
    for name in ("tests", "tutorials"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for command, shown in commands(block):
        words = shlex.split(command)
        if words[0] == "cd":
            monkeypatch.chdir(Path.cwd() / words[1])
        if words[0] not in ("cd", "export"):
            printed = run_command(command)
            assert alike(shown, printed), printed


def test_there_is_a_console() -> None:
    assert len(CONSOLES) == 4
    assert len(commands(CONSOLES[-1])) >= 5


@pytest.mark.parametrize("verb", sorted({*re.findall(r"`hlo ([a-z-]+)", README + COMMANDS)}))
def test_verbs_exist(verb: str) -> None:
    assert (ROOT / "hlo_tools" / "verbs" / f"{verb.replace('-', '_')}.py").exists()


def test_every_verb_has_a_row() -> None:
    assert [verb for verb in VERBS if f"`hlo {verb}" not in COMMANDS] == []


def test_the_readme_is_read_in_five_minutes() -> None:
    assert README.count("\n") <= 140


PYTHON = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)


def test_every_block_of_python_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in PYTHON:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "multiply(%parameter.0, %logistic)" in printed
    assert "ENTRY main" in printed
    assert len(PYTHON) == 4


def test_make_run_tells_the_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of `make run`, as make would run them."""
    told = subprocess.run(
        ["make", "-n", "run"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    commands = re.findall(r"^\.venv/bin/(hlo .*)$", told, re.MULTILINE)
    assert len(commands) == 7
    monkeypatch.chdir(ROOT)
    for command in commands:
        printed = run_command(command.partition(" 2>&1")[0].replace("build/", f"{tmp_path}/"))
        assert "error" not in printed
        if "--quiet" in command:
            assert printed.startswith("equal to"), printed


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#\s]+)\)", README)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
