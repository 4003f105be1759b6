"""Writes the chapters as notebooks, and gathers all pages for a site.

    python tutorials/export.py notebooks FOLDER     an .ipynb for each chapter
    python tutorials/export.py pages FOLDER         what a site is built of, its links checked

A notebook runs as it is, in a Jupyter whose Python has `hlo`: files are written by `%%writefile`,
commands run by `!hlo`, and sessions of Python are cells. Until it is run, it shows the outputs that
the chapter shows.
"""

import doctest
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
BLOCK = re.compile(r"(?P<said><!-- (?P<word>\w+): (?P<rest>[^\n]*?) -->\n)?"
                   r"```(?P<language>\w+)\n(?P<source>.*?)```\n", re.DOTALL)  # fmt: skip
# The kernel's Python has `hlo` beside it, whether or not its environment is activated.
START = """import os, sys
from pathlib import Path

path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
os.environ.update(PATH=path, NO_COLOR="1", TERM="dumb", COLUMNS="100")"""
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]*)\]\((?P<target>[^)#\s:]+)\)")
PICTURE = re.compile(r"\(\.\./docs/pictures/(?P<name>[^)\s]+)\)")
SETTINGS = """[project]
site_name = "PyHLO"
docs_dir = "{pages}"
site_dir = "site"
nav = [
{nav}
]

[project.theme]
font = false
features = ["navigation.tabs", "navigation.indexes", "navigation.footer", "navigation.path",
            "navigation.top", "content.code.copy", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark pages"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light pages"
"""
FOLD = re.compile(r"</?(details|summary)>")
# The parts of the site, and their pages; a part with pages of its own is inside.
PARTS: dict[str, list[str]] = {
    "The course": ["tutorials/README.md", "tutorials/[0-9]*.md"],
    "How to": ["docs/howto/*.md", "docs/stepping.md", "docs/teaching.md"],
    "Look up": ["docs/frontends.md", "docs/commands.md", "docs/python.md",
                "docs/platforms.md", "docs/beside-xla.md",
                "docs/map.md", "docs/opcodes.md", "docs/rules.md", "docs/passes.md",
                "docs/codes.md", "docs/speed.md", "docs/glossary.md", "docs/grammar.md",
                "docs/xla-names.md"],
    "Opcodes": ["docs/opcodes/*.md"],
    "Inside": ["CONTRIBUTING.md", "docs/cuda.md", "docs/pjrt.md", "docs/pjrt-library.md",
               "docs/trace.md"],
}  # fmt: skip


def notebook(text: str) -> dict[str, Any]:
    """The notebook of a chapter."""
    cells = [code(START), *cells_of(text)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def cells_of(text: str) -> Iterator[dict[str, Any]]:
    """Prose and code in turn."""
    end = 0
    for found in BLOCK.finditer(text):
        yield from prose(text[end : found.start()])
        end = found.end()
        made = runnable(
            found["word"] or "", found["rest"] or "", found["language"], found["source"]
        )
        if made is None:
            yield from prose(f"```{found['language']}\n{found['source']}```\n")
        else:
            yield from made
    yield from prose(text[end:])


def runnable(word: str, rest: str, language: str, source: str) -> list[dict[str, Any]] | None:
    """The cells that a block becomes; None if it is only shown."""
    if word == "file":
        return [code(f"%%writefile {rest}\n{source}")]
    if word in ("quote", "needs"):
        return None
    if language == "console":
        lines = source.splitlines(keepends=True)
        typed = [f"!{line[2:]}" for line in lines if line.startswith("$ ")]
        return [code("".join(typed), "".join(x for x in lines if not x.startswith("$ ")))]
    if language == "python" and source.startswith(">>>"):
        return list(session(source))
    return [code(source)] if language == "python" else None


def session(source: str) -> Iterator[dict[str, Any]]:
    """A cell for each output of a session, so that all are seen, and what raises stops nothing."""
    typed = ""
    for example in doctest.DocTestParser().get_examples(source):
        typed += example.source
        if example.want or example.exc_msg:
            said = example.want.replace("<BLANKLINE>", "")
            yield code(typed, said, raises=example.exc_msg is not None)
            typed = ""
    if typed:
        yield code(typed)


def code(source: str, shown: str = "", *, raises: bool = False) -> dict[str, Any]:
    """A cell that runs, and the output that the chapter shows."""
    tags = {"tags": ["raises-exception"]} if raises else {}
    output = {"output_type": "stream", "name": "stdout", "text": shown}
    made = {"cell_type": "code", "metadata": tags, "source": source.rstrip()}
    return {**made, "execution_count": None, "outputs": [output] if shown.strip() else []}


def prose(text: str) -> Iterator[dict[str, Any]]:
    """A cell to read, if there is anything in it."""
    shown = FOLD.sub("", text).strip()
    if shown:
        yield {"cell_type": "markdown", "metadata": {}, "source": shown}


def write_notebooks(folder: Path) -> None:
    """A notebook for each chapter, with the models and exercises beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(HERE.glob("[0-9]*.md")):
        made = notebook(PICTURE.sub(lambda m: f"({beside(m['name'], folder)})", path.read_text()))
        (folder / f"{path.stem}.ipynb").write_text(json.dumps(made, indent=1) + "\n")
    for name in ("models", "exercises", "pictures"):
        shutil.copytree(HERE / name, folder / name, dirs_exist_ok=True)


def beside(name: str, folder: Path) -> str:
    """A picture of docs/, copied to where notebooks find it."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "docs" / "pictures" / name, folder / "pictures" / name)
    return f"pictures/{name}"


def kept(link: re.Match[str], page: Path) -> str:
    """A link, or its text alone where it leads to a file that is no page."""
    target = (page.parent / link["target"]).resolve()
    source = target.exists() and target.suffix not in (".md", ".svg", ".png")
    return link["text"] if source else link[0]


def navigation(folder: Path) -> str:
    """The parts of the site with all of their pages, as lines of its settings.

    Raises
    ------
    SystemExit
        naming the pages that are in no part.
    """
    left = {str(path.relative_to(folder)) for path in folder.rglob("*.md")} - {"index.md"}
    lines = ['  { "PyHLO" = "index.md" },']
    for part, patterns in PARTS.items():
        pages = [p.relative_to(folder) for each in patterns for p in sorted(folder.glob(each))]
        lines.append(f'  {{ "{part}" = {json.dumps([str(page) for page in pages])} }},')
        left -= {str(page) for page in pages}
    if left:
        sys.exit("\n".join(["pages that are in no part of the site:", *sorted(left)]))
    return "\n".join(lines)


def write_pages(folder: Path) -> None:
    """All pages of tutorials/ and docs/, the README first, and no link that leads nowhere."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("tutorials", "docs"):
        for path in sorted((ROOT / name).rglob("*")):
            if path.suffix in (".md", ".svg", ".png") and "exercises" not in path.parts:
                target = folder / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
                if path.suffix == ".md":
                    text = LINK.sub(lambda m, at=path: kept(m, at), path.read_text())
                    # Else what is folded would be taken as HTML, not as Markdown.
                    target.write_text(text.replace("<details>", '<details markdown="1">'))
    for name, target in (("README.md", "index.md"), ("CONTRIBUTING.md", "CONTRIBUTING.md")):
        text = (ROOT / name).read_text().replace("(LICENSE)", "(index.md)")
        (folder / target).write_text(text)
    # In a block, `f[i](x)` is no link.
    texts = {
        path: re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for path in sorted(folder.rglob("*.md"))
    }
    settings = SETTINGS.format(pages=folder.name, nav=navigation(folder))
    (folder.parent / "zensical.toml").write_text(settings)
    broken = [
        f"{path.relative_to(folder)}: {link}"
        for path, text in texts.items()
        for link in re.findall(r"\]\(([^)#\s]+)", text)
        if "://" not in link and not (path.parent / link).exists()
    ]
    if broken:
        sys.exit("\n".join(["links that lead nowhere:", *broken]))


if __name__ == "__main__":
    {"notebooks": write_notebooks, "pages": write_pages}[sys.argv[1]](Path(sys.argv[2]))
