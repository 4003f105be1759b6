"""The page for users of PyTorch shows what happens."""

from pathlib import Path

import pytest
from course.blocks import ROOT, run_page


@pytest.mark.usefixtures("torch")
def test_the_first_hour(tmp_path: Path, bless: bool) -> None:
    run_page(ROOT / "docs/howto/first-hour-with-pytorch.md", tmp_path, bless=bless)
