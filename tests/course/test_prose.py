"""The chapters are plain: short sentences, words that are defined, and messages that are kept."""

import re
from pathlib import Path
from statistics import median

import pytest
from course.blocks import COURSE, ROOT
from course.test_chapters import CHAPTERS
from course.test_exercises import WRONG, promised

from hlo_tools.exercises.catalogue import EXERCISES

DOCS = ROOT / "docs"
GLOSSARY = DOCS / "glossary.md"
MEDIAN_WORDS, MOST_WORDS = 18, 40
# The others are made of tables.
WRITTEN = ("cuda", "glossary", "map", "pjrt", "stepping", "teaching", "trace", "xla-names")
PAGES = [*CHAPTERS, COURSE / "README.md", ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [*(DOCS / f"{name}.md" for name in WRITTEN), *sorted((DOCS / "howto").glob("*.md"))]


def prose(path: Path) -> str:
    """A page without its blocks, tables, headings and markup."""
    return prose_of(path.read_text())


def prose_of(text: str) -> str:
    """A text without its blocks, tables, headings and markup."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"^( {4}|\||#|<|!\[).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    whole = re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "code", text))
    return [s for s in re.split(r"(?<=[.?!:])\s", whole) if s.strip()]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_are_short(path: Path) -> None:
    lengths = [len(s.split()) for s in sentences(prose(path))]
    assert median(lengths) < MEDIAN_WORDS
    assert max(lengths) < MOST_WORDS


def glossary() -> dict[str, str]:
    """Each term of the glossary, and the chapter in which it is defined."""
    found = re.findall(r"^\*\*([^*]+)\*\* \((\d+)\): ", GLOSSARY.read_text(), re.MULTILINE)
    assert found
    return dict(found)


def spaced(term: str) -> str:
    """A term as a pattern, on one line or two."""
    return re.escape(term).replace(r"\ ", r"\s+")


def test_every_term_is_defined_where_it_first_stands() -> None:
    """A term is in *italics* where it is defined, and nowhere before."""
    texts = {str(int(path.name[:2])): prose(path) for path in CHAPTERS}
    whole = "".join(texts.values())
    wrong = []
    for term, where in glossary().items():
        use = re.compile(rf"(?<![\w*`.-]){spaced(term)}(?:s|es)?(?![\w`-])", re.IGNORECASE)
        first, defined = use.search(whole), re.search(rf"\*{spaced(term)}", whole, re.IGNORECASE)
        inside = re.search(rf"\*{spaced(term)}", texts.get(where, ""), re.IGNORECASE)
        if defined is None or inside is None:
            wrong.append(f"{term}: not defined in chapter {where}")
        elif first is not None and first.start() < defined.start():
            near = whole[max(0, first.start() - 40) : first.end() + 20].replace("\n", " ")
            wrong.append(f"{term}: used before it is defined: ...{near}...")
    assert not wrong, "\n".join(wrong)


def test_every_term_that_a_chapter_defines_is_in_the_glossary() -> None:
    known = {term.lower() for term in glossary()}
    for path in CHAPTERS:
        for term in re.findall(r"(?<![*\w])\*([a-zA-Z\s-]+)\*(?!\*)", prose(path)):
            plain = " ".join(term.lower().split())
            assert {plain, plain.removesuffix("s"), plain.removesuffix("es")} & known, (
                f"{path.name}: {term}"
            )


# Words that compiler people use and others do not know: a chapter explains those that it uses.
JARGON = (
    "abstract syntax tree", "alias", "alignment", "arena", "atomic", "autotuning", "backend",
    "basic block", "bytecode", "canonical", "codegen", "constant folding", "control flow",
    "control dependency", "dataflow", "dominator", "dot product", "epilogue", "frontend", "fuzzing",
    "heuristic", "hoist", "intermediate representation", "in-place", "IR", "lowering", "lexer",
    "liveness", "loop nest", "metadata", "monoid", "occupancy", "peephole", "phi", "prelude",
    "prologue", "register", "roofline", "semantics", "SIMD", "SSA", "static analysis", "tensor",
    "tile", "token", "topological", "vectorize", "work-efficient",
)  # fmt: skip


def test_no_word_of_the_trade_is_left_unexplained() -> None:
    """A word of the trade that is in the prose is in the glossary, and so defined before."""
    words = set(JARGON) - glossary().keys()
    unexplained = [
        f"{path.name}: {word}"
        for path in CHAPTERS
        for word in sorted(words)
        if re.search(rf"(?<![\w`.-]){spaced(word)}(?:s|es)?(?![\w`-])", prose(path))
    ]
    assert unexplained == []


@pytest.mark.parametrize("number", EXERCISES)
def test_a_stub_is_plain(number: int) -> None:
    """What it says uses no word of the trade that the chapters up to its own do not define."""
    stub = EXERCISES[number].stub
    told = re.sub(r"`[^`]*`", "", stub.split('"""')[1] if '"""' in stub else stub)
    known = {t for t, where in glossary().items() if int(where) <= EXERCISES[number].chapter}
    assert [w for w in JARGON if w not in known and re.search(rf"\b{spaced(w)}", told)] == []


NAMED = 600


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_file_to_be_written_is_named_where_it_can_be_seen(path: Path) -> None:
    """A comment says to the tests what a block is; readers do not see it."""
    text = path.read_text()
    for found in re.finditer(r"<!-- file: (\S+) -->", text):
        said = prose_of(text[max(0, found.start() - NAMED) : found.start()])
        assert f"`{found[1]}`" in said, f"{path.name}: nothing says that a block is {found[1]}"


@pytest.mark.parametrize("path", WRONG, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_chapter_promises_the_message(path: Path) -> None:
    exercise = EXERCISES[int(path.parts[-3])]
    (chapter,) = COURSE.glob(f"{exercise.chapter:02}-*.md")
    said = re.findall(r"^\| `([^`]+)`", chapter.read_text(), re.MULTILINE)
    assert any(promised(path).startswith(s) or s.startswith(promised(path)) for s in said)


@pytest.mark.parametrize("number", EXERCISES)
def test_a_chapter_names_its_exercise(number: int) -> None:
    (chapter,) = COURSE.glob(f"{EXERCISES[number].chapter:02}-*.md")
    text = " ".join(chapter.read_text().split())
    assert f"**Exercise {number}** ({EXERCISES[number].level})" in text


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_its_parts(path: Path) -> None:
    heads = re.findall(r"^## (.*)$", path.read_text(), re.MULTILINE)
    assert heads == ["See it", "Predict", "How it works", "Break it", "Exercise"]
