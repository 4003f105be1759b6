"""Runs the blocks of Markdown pages: chapters of the course, and the pages of docs/.

Each page runs from its top to its end, in an empty folder that has the course's models and
exercises in it. A block's language says what it is:

    console   `$ hlo ...`, run in this process, each followed by what it prints
    python    with `>>>`, as a doctest; without, run as it is
    hlo       a module, which must be well formed
    text      only after a comment that says what it is

A comment before a block says more of it:

    <!-- file: my_rule.py -->                            write it to this file, for later blocks
    <!-- quote: optimizer/passes.py Pipeline.run -->     it is the source of this name
    <!-- wrong: HLO021 -->                               it is refused with this code
    <!-- needs: flax optax -->                           it is run where these are installed
    <!-- picture: hlo opt ... --svg pictures/x.svg -->   a picture, and the command that draws it

Three dots in an output stand for anything. `pytest tests/course --bless` rewrites what is expected.
"""

from __future__ import annotations

import ast
import doctest
import io
import os
import re
import shlex
import sys
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sybil import Sybil
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

import hlo
from emit_c.code import processor
from hlo_tools.cli import main
from hlo_tools.exercises import apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sybil import Document, Example, Region

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "tutorials"
LENT = ("models", "exercises")
COMMENT = re.compile(r"<!-- (?P<word>\w+): (?P<rest>[^\n]*?) -->\n\Z")
PICTURE = re.compile(r"<!-- picture: (?P<command>hlo [^\n]*?) -->")
SETTINGS = {"NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb"}
FLAGS = doctest.ELLIPSIS


@dataclass
class Page:
    """A page that is being run.

    Attributes
    ----------
    folder : in which its commands run.
    edits : what would have to be where, for the page to be right: (start, end, text).
    """

    path: Path
    folder: Path
    text: str
    bless: bool
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def differs(self, start: int, end: int, want: str, got: str, what: str) -> None:
        """Say that something else came out; or remember it, to rewrite the page."""
        if self.bless:
            self.edits.append((start, end, got))
            return
        line = self.text.count("\n", 0, start) + 1
        message = f"{self.path.name}:{line}: {what}\n--- expected\n{want}\n--- printed\n{got}"
        raise AssertionError(message)

    def rewrite(self) -> None:
        """Put in what came out."""
        text = self.text
        for start, end, new in sorted(self.edits, reverse=True):
            text = text[:start] + new + text[end:]
        if text != self.text:
            self.path.write_text(text)


def run_page(path: Path, folder: Path, *, bless: bool = False) -> Page:
    """Run all blocks of a page.

    Raises
    ------
    AssertionError
        naming file and line, where something else comes out than is shown.
    """
    document = sybil().parse(path)
    page = Page(path, folder, document.text, bless)
    document.namespace["page"] = page
    for name in LENT:
        (folder / name).symlink_to(COURSE / name)
    (folder / "pictures").mkdir()
    (folder / "tests").mkdir()
    (folder / "tests" / "sessions").symlink_to(ROOT / "tests" / "sessions")
    with unspoilt(folder), chdir(folder):
        for found in PICTURE.finditer(document.text):
            draw(page, found["command"])
        for example in document.examples():
            example.evaluate()
    page.rewrite()
    return page


def sybil() -> Sybil:
    """What finds the blocks of a page."""
    return Sybil(parsers=[blocks], pattern="*.md")


LEXER = FencedCodeBlockLexer(r"\S*")


def blocks(document: Document) -> Iterator[Region]:
    """Every block, and how it is run."""
    for region in LEXER(document):
        region.parsed = region.lexemes["source"]
        region.evaluator = run_block
        yield region


def run_block(example: Example) -> None:
    """Run one block, as its language and the comment before it say."""
    page: Page = example.namespace["page"]
    source = str(example.parsed)
    begin = example.region.start + example.region.lexemes["source"].offset
    said = COMMENT.search(page.text[: example.region.start])
    word, rest = (said["word"], said["rest"]) if said else ("", "")
    if word == "quote":
        want = quoted(*rest.split())
        if source != want:
            page.differs(begin, begin + len(source), source, want, f"not what {rest} is")
        return
    if word == "file":
        (page.folder / rest).parent.mkdir(parents=True, exist_ok=True)
        (page.folder / rest).write_text(source)
        return
    if word == "needs" and not all(map(find_spec, rest.split())):
        return
    language = example.region.lexemes["language"]
    if language not in RUNS:
        line = page.text.count("\n", 0, begin)
        raise AssertionError(f"{page.path.name}:{line}: nothing runs a block of `{language}`")
    RUNS[language](page, source, begin, rest if word == "wrong" else "")


def run_console(page: Page, source: str, begin: int, _: str) -> None:
    """Run commands, and compare what they print."""
    at = [found.start() for found in re.finditer(r"^\$ ", source, re.MULTILINE)]
    for start, end in zip(at, [*at[1:], len(source)], strict=True):
        command, _, shown = source[start + 2 : end].partition("\n")
        printed = "".join(f"{line.rstrip()}\n" for line in run_command(command).splitlines())
        if not alike(shown, printed):
            first = begin + start + 2 + len(command) + 1
            page.differs(first, begin + end, shown, printed, command)


def run_command(command: str) -> str:
    """What a command prints, on standard output and error together."""
    command, _, given = command.partition(" < ")
    command, _, target = command.partition(" > ")
    words = shlex.split(command)
    assert words[0] == "hlo", f"a page runs nothing but `hlo`, not `{words[0]}`"
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    text = Path(given.strip()).read_bytes() if given else b""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(text), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(out):
            main(words[1:])
    except SystemExit:
        pass
    finally:
        sys.stdin = before
    printed = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    if target:
        Path(target.strip()).write_text(printed)
        return ""
    return printed


def alike(shown: str, printed: str) -> bool:
    """Whether an output is the one that is shown, in which three dots stand for anything."""
    parts = [re.escape(part) for part in shown.strip().split("...")]
    return re.fullmatch(".*".join(parts), printed.strip(), re.DOTALL) is not None


def run_python(page: Page, source: str, begin: int, _: str) -> None:
    """Run Python, or compare what each line of a session prints."""
    if not source.startswith(">>>"):
        exec(compile(source, str(page.path), "exec"), page.names)
        return
    examples = doctest.DocTestParser().get_doctest(source, page.names, page.path.name, None, 0)
    examples.globs = page.names
    wrong: list[tuple[doctest.Example, str]] = []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, _out: Any, _test: Any, example: Any, got: str) -> None:
            wrong.append((example, got))

        def report_unexpected_exception(self, _o: Any, _t: Any, _e: Any, info: Any) -> None:
            raise info[1]

    Runner(verbose=False, optionflags=FLAGS).run(examples, out=lambda _: None, clear_globs=False)
    lines = source.splitlines(keepends=True)
    for example, got in wrong:
        first = example.lineno + example.source.count("\n")
        start = begin + sum(map(len, lines[:first]))
        end = start + len(example.want)
        page.differs(start, end, example.want, got, example.source.strip())


def run_hlo(page: Page, source: str, begin: int, code: str) -> None:
    """Verify a module, or see that it is refused as the page says."""
    try:
        module = hlo.parse(source)
        hlo.verify(module)
    except hlo.HloError as error:
        if error.code == code:
            return
        line = page.text.count("\n", 0, begin)
        raise AssertionError(f"{page.path.name}:{line}: {error}") from None
    assert not code, f"{page.path.name}: a module should be refused with {code}"


RUNS = {"console": run_console, "python": run_python, "hlo": run_hlo}


def draw(page: Page, command: str) -> None:
    """Draw a picture, and compare it with the one that is shown."""
    run_command(command)
    (drawn,) = (page.folder / "pictures").iterdir()
    shown = page.path.parent / "pictures" / drawn.name
    if page.bless:
        shown.parent.mkdir(exist_ok=True)
        shown.write_text(drawn.read_text())
    assert shown.exists(), f"{shown} is missing: {command}"
    assert shown.read_text() == drawn.read_text(), f"{shown} is not what is drawn: {command}"
    drawn.unlink()


def quoted(file: str, name: str = "") -> str:
    """The source of a name in a file of the project: a class, a function, a method, a value."""
    text = (ROOT / file).read_text()
    if file.endswith(".lark"):
        found = re.search(rf"^{name}\b.*\n(?:[ \t]+.*\n)*", text, re.MULTILINE)
        assert found, f"{file} has no {name}"
        return found[0]
    node: Any = ast.parse(text)
    for part in name.split("."):
        node = next((n for n in node.body if part in defined(n)), None)
        assert node is not None, f"{file} has no {name}"
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    lines = text.splitlines(keepends=True)[first - 1 : node.end_lineno]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "".join(line[indent:] or "\n" for line in lines)


def defined(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id] if isinstance(node.target, ast.Name) else []
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def here(number: int, path: Path, _: apart.Limits) -> apart.GradedAnswer:
    """Check an answer in this process: to start another one takes a second or two."""
    return apart.check_here(number, path, shrinking=5)


@contextmanager
def unspoilt(folder: Path) -> Iterator[None]:
    """Leave Python as it was: a page loads files of its own folder, and sets the environment.

    Code is emitted for one processor wherever the pages are run: its tiles tell the scratch memory.
    """
    path, before, apart_ = list(sys.path), dict(os.environ), apart.check_apart
    processor_ = processor.here
    processor.here = lambda: processor.Processor(64, 32, sums_bytes=False)
    os.environ.update(SETTINGS)
    sys.path.insert(0, str(folder))
    apart.check_apart = here
    try:
        yield
    finally:
        files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
        for name, file in files.items():
            if file and Path(file).is_relative_to(folder):
                del sys.modules[name]
        sys.path[:] = path
        apart.check_apart, processor.here = apart_, processor_
        os.environ.clear()
        os.environ.update(before)
