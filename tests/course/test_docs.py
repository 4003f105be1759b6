"""The pages of docs/ run, are linked, and are fresh where the program writes them."""

import re
from pathlib import Path

import pytest
from course.blocks import ROOT, run_page

from hlo.opcode import OPCODES
from hlo_tools import reference

DOCS = ROOT / "docs"
RUN = [
    DOCS / f"{name}.md"
    for name in ("map", "teaching", "xla-names", "stepping", "trace", "cuda", "pjrt")
]
# Those of the first hours are run by tests of the front ends.
RUN += [p for p in sorted((DOCS / "howto").glob("*.md")) if "first-hour" not in p.stem]
PAGES = [*DOCS.rglob("*.md"), *(ROOT / "tutorials").glob("*.md"), ROOT / "CONTRIBUTING.md"]
# Examples are evaluated again: a few always, all of them where there is time.
QUICK = list(OPCODES)[::16]


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_what_a_page_shows_is_what_happens(path: Path, tmp_path: Path, bless: bool) -> None:
    run_page(path, tmp_path, bless=bless)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    # In a block, `f[i](x)` is no link.
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)\)", text)
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", [*RUN, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.stem)
def test_files_that_a_page_names_exist(path: Path) -> None:
    named = re.findall(r"`((?:hlo|interpreter|optimizer|codegen|emit_c|hlo_tools|tests|tutorials)"
                       r"/[\w./]+)`", path.read_text())  # fmt: skip
    assert [file for file in named if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("page", ["opcodes", "rules", "passes"])
def test_lists_are_fresh(page: str) -> None:
    made = {"opcodes": reference.opcode_list, "rules": reference.rule_list,
            "passes": reference.pass_list}[page]()  # fmt: skip
    there = (DOCS / f"{page}.md").read_text()
    assert without_evidence(there) == without_evidence(made), "run `make docs`"


def without_evidence(text: str) -> str:
    """A page without what was shown of rules: that changes when they are proved again."""
    return re.sub(r"\| (proved|partly|sampled|not run yet) \|", "|", text)


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in OPCODES]
)
def test_pages_of_opcodes_are_fresh(name: str) -> None:
    for path, made in reference.opcode_files(name).items():
        assert (DOCS / path).read_text() == made, f"{path}: run `make docs`"


def test_a_backend_has_a_hundred_lines() -> None:
    page = (DOCS.parent / "tutorials" / "15-a-backend-of-your-own.md").read_text()
    (source,) = re.findall(r"<!-- file: emit_numpy.py -->\n```python\n(.*?)```", page, re.DOTALL)
    assert len(source.splitlines()) <= 100


def test_every_page_of_an_opcode_is_of_one() -> None:
    for folder, suffix in (("opcodes", ".md"), ("opcodes/pictures", ".svg")):
        assert {p.stem for p in (DOCS / folder).glob(f"*{suffix}")} == set(OPCODES)


@pytest.mark.parametrize("name", OPCODES)
def test_a_page_of_an_opcode_has_picture_formula_and_example(name: str) -> None:
    """That they are what the program makes is said by the test above."""
    page = (DOCS / "opcodes" / f"{name}.md").read_text()
    assert f"![{name}, drawn](pictures/{name}.svg)" in page
    assert "| numbers | in NumPy |" in page or "```python\ndef evaluate_" in page
    (module,) = re.findall(r"```hlo\n(.*?)```", page, re.DOTALL)
    assert re.search(rf" {re.sub('^async', '[a-z-]+', name)}\(", module), "the example is of it"
    assert re.search(r"^(device 0: )?result = ", page, re.MULTILINE)
