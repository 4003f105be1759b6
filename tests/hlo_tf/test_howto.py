"""The scripts of the how-to print what it shows."""

import re
from pathlib import Path

import pytest

pytest.importorskip("tensorflow", reason="needs TensorFlow: make frontends")

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "first-hour-with-tensorflow.md"
BLOCKS = re.findall(r"```py\n(.*?)```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_scripts_print_what_is_shown(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, output = BLOCKS[number]
    path = tmp_path / "script.py"
    path.write_text(script)
    exec(compile(script, str(path), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == output
