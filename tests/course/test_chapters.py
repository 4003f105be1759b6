"""Every chapter runs: what it shows is what comes out."""

from pathlib import Path

import pytest
from course.blocks import COURSE, run_page

CHAPTERS = sorted(COURSE.glob("[0-9]*.md"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter(path: Path, tmp_path: Path, bless: bool) -> None:
    run_page(path, tmp_path, bless=bless)
