"""Chapters become notebooks that hold all that the chapters run, and pages without dead links."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from course.blocks import COURSE
from course.test_chapters import CHAPTERS


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for what in ("notebooks", "pages"):
        command = [sys.executable, str(COURSE / "export.py"), what, str(folder / what)]
        subprocess.run(command, check=True)
    return folder


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_notebook_has_every_command(path: Path, made: Path) -> None:
    cells = json.loads((made / "notebooks" / f"{path.stem}.ipynb").read_text())["cells"]
    code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    # What needs other packages is only shown.
    text = re.sub(r"<!-- needs: .*?```.*?```", "", path.read_text(), flags=re.DOTALL)
    lines = text.splitlines()
    assert all(f"!{line[2:]}" in code for line in lines if line.startswith("$ "))
    assert all(line[4:] in code for line in lines if line.startswith(">>> "))
    compiled = [c["source"] for c in cells if c["cell_type"] == "code"]
    for source in compiled:
        if not source.startswith(("!", "%%")):
            compile(source, path.name, "exec")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_notebook_has_its_pictures(path: Path, made: Path) -> None:
    cells = json.loads((made / "notebooks" / f"{path.stem}.ipynb").read_text())["cells"]
    text = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert [name for name in shown if not (made / "notebooks" / name).exists()] == []


def test_pages_are_gathered_with_their_links(made: Path) -> None:
    assert (made / "pages" / "index.md").exists()
    assert {path.name for path in CHAPTERS} <= {p.name for p in (made / "pages").rglob("*.md")}
    settings = tomllib.loads((made / "zensical.toml").read_text())["project"]
    listed = [page for part in settings["nav"] for pages in part.values() for page in pages]
    there = {str(p.relative_to(made / "pages")) for p in (made / "pages").rglob("*.md")}
    assert sorted(listed[len("index.md") :]) == sorted(there - {"index.md"})
    # What is folded is Markdown, too.
    for path in (made / "pages" / "tutorials").glob("*.md"):
        assert "<details>" not in path.read_text()
