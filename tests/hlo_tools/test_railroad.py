"""The pictures of the grammar are those of the grammar."""

from pathlib import Path

from hlo_tools.drawing.pictures.railroad import GRAMMAR, pages, sections

DOCS = Path(__file__).parents[2] / "docs"


def test_pages_are_up_to_date() -> None:
    for path, content in pages(GRAMMAR.read_text()).items():
        assert (DOCS / path).read_text() == content, "make docs writes it"


def test_every_rule_is_drawn() -> None:
    text = GRAMMAR.read_text()
    drawn = {name for section in sections(text) for name in section.rules}
    assert {"text", "instruction", "shape", "sharding", "_raw"} <= drawn
