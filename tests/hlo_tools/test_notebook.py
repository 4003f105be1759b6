"""The stepper and the viewer in a notebook."""

import html
import re
from pathlib import Path

import pytest

from hlo_tools.step import step

MEAN = Path(__file__).parents[1] / "sessions" / "mean_of_sum.hlo"


def test_a_notebook_takes_the_commands_of_the_prompt() -> None:
    session = step(MEAN, "algebraic-simplifier")
    assert "1 rewrite" in repr(session)
    assert "1 rewrite" in session._repr_html_()
    told = session("n; a\n# a comment\nwhatis reduce_sum.7")
    assert "rule divide by a power of two" in str(told)
    assert "x = %reduce_sum.7" in str(told)
    assert "used by %multiply" in str(told)
    assert "background:#d2fedb33" in told._repr_html_()
    assert "there is no command `nxt`" in str(session("nxt"))
    assert session.stepper.at == 1


def test_the_page_is_in_a_frame_of_its_own(tmp_path: Path) -> None:
    view = step(MEAN).view()
    assert "trace of jit_mean_of_sum" in repr(view)
    shown = view._repr_html_()
    frame = re.fullmatch(
        r'<iframe [^>]*sandbox="allow-scripts [^>]*srcdoc="([^"]*)"></iframe>', shown
    )
    assert frame
    view.save(tmp_path / "m.html")
    assert html.unescape(frame[1]) == (tmp_path / "m.html").read_text()


@pytest.mark.slow
def test_cells_of_a_notebook_are_executed() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [
        f"from hlo_tools.step import step\nsession = step({str(MEAN)!r})\nsession",
        "session('b fusion; c')",
        "session.view()",
        "session.stepper.module",
        "session.stepper.recording.pipeline",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell.outputs[-1].data for cell in notebook.cells]
    shown = [data.get("text/html", data["text/plain"]) for data in outputs]
    assert "3 rewrites" in shown[0]
    assert "breakpoint 1" in shown[1]
    assert shown[2].startswith("<iframe")
    assert "svg" in shown[3]
    assert "cpu-optimization" in shown[4]
