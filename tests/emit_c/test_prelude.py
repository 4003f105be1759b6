"""The prelude: a module gets some of its paragraphs, so each must say by itself what it is."""

import re
from importlib.resources import files

import pytest

PARAGRAPHS = [
    (source.name, paragraph)
    for folder in ("codegen.prelude", "emit_c.code.prelude")
    for source in sorted(files(folder).iterdir(), key=lambda s: s.name)
    if source.name.endswith(".c")
    for paragraph in source.read_text().split("\n\n")
    if paragraph.startswith("//")
]


@pytest.mark.parametrize(("name", "paragraph"), PARAGRAPHS)
def test_no_comment_speaks_of_the_one_before(name, paragraph):
    first = re.match(r"(//.*\n?)+", paragraph)
    assert first, name
    assert not re.match(r"// (The same|Likewise|It|They|By the)\b", first[0]), paragraph
    assert "likewise" not in first[0], paragraph
