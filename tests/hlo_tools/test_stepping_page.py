"""The tables of features in three pages: each row names tests, and these exist."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
# A row: the feature, what is here, and the tests.
ROW = re.compile(r"\| ([^|]+) \| (yes[^|]*) \| ([^|]+) \|")


@pytest.mark.parametrize(
    ("page", "least"), [("stepping.md", 28), ("howto/explore.md", 10), ("howto/editor.md", 9)]
)
def test_every_feature_is_shown_by_tests_that_exist(page: str, least: int) -> None:
    table = (DOCS / page).read_text().split("| feature | here | shown by |")[1].split("\n\n")[0]
    rows = table.strip().splitlines()[1:]
    assert len(rows) >= least
    files = {path.name: path.read_text() for path in TESTS.glob("hlo_*/test_*.py")}
    known = {name for text in files.values() for name in re.findall(r"def (test_\w+)", text)}
    last = ""
    for row in rows:
        match = ROW.fullmatch(row)
        assert match, row
        feature, _, told = match.groups()
        told = last if told == "the same" else told
        named = re.findall(r"`(test_\w+)(\.py)?`", told)
        tests = [name for name, is_file in named if not is_file]
        assert tests, f"{feature}: no test is named"
        assert set(tests) <= known, feature
        assert {f"{name}.py" for name, is_file in named if is_file} <= set(files), feature
        last = told
