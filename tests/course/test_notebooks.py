"""Notebooks run in an environment that holds PyHLO and Jupyter alone, and show what chapters show.

The environment is made anew, by pip, which needs a network.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from course.blocks import COURSE, ROOT, alike
from course.test_chapters import CHAPTERS

# A cell may compile C, and check an exercise.
SECONDS = 120
RUN = """
import sys
import nbformat
from nbclient import NotebookClient

name = sys.argv[1]
notebook = nbformat.read(name, as_version=4)
NotebookClient(notebook, timeout=int(sys.argv[2]), kernel_name="python3").execute()
nbformat.write(notebook, "ran_" + name)
"""


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of its own that has PyHLO, as it is installed, and what runs notebooks."""
    folder = tmp_path_factory.mktemp("jupyter")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    wanted = ["nbclient", "ipykernel", str(ROOT)]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


@pytest.fixture(scope="session")
def notebooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebooks")
    command = [sys.executable, str(COURSE / "export.py"), "notebooks", str(folder)]
    subprocess.run(command, check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_chapter_shows(
    path: Path, jupyter: Path, notebooks: Path
) -> None:
    name = f"{path.stem}.ipynb"
    home = {"HOME": str(notebooks), "PATH": os.defpath}
    command = [str(jupyter), "-c", RUN, name, str(SECONDS)]
    subprocess.run(command, cwd=notebooks, env=home, check=True)
    shown, ran = (read_cells(notebooks / n) for n in (name, f"ran_{name}"))
    different = [
        f"{one['source']}\n--- the chapter shows\n{said(one)}\n--- the notebook\n{said(other)}"
        for one, other in zip(shown, ran, strict=True)
        if not one["source"].startswith("%%") and not alike(joined(one), joined(other))
    ]
    assert not different, "\n\n".join(different)


def read_cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook that run, but for the first one, which no chapter has."""
    cells = json.loads(path.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"][1:]


def said(cell: dict[str, Any]) -> str:
    """The output of a cell, as text; of an error its last line."""
    parts: list[str] = []
    for output in cell["outputs"]:
        if output["output_type"] == "error":
            parts.append(f"{output['ename']}: {output['evalue']}")
        else:
            text = output.get("text") or output["data"]["text/plain"]
            parts.append(text if isinstance(text, str) else "".join(text))
    return "".join(parts)


def joined(cell: dict[str, Any]) -> str:
    """The output in one line, as Jupyter breaks long values into several; of an error its end."""
    text = said(cell)
    if cell["metadata"].get("tags") == ["raises-exception"]:
        text = re.sub(r"^[\w.]+\.", "", text.splitlines()[-1])
    return re.sub(r"\s+", " ", text)
