"""Draws which packages import which, and the folders of each: the pictures of `docs/map.md`.

    python -m hlo_tools.drawing.graphs.house docs

An import that follows from others is left out: where `a` imports `b`, and `b` imports `c`, there is
no arrow from `c` to `a`.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from hlo_tools.drawing.graphs.scene import Box, Edge, Scene
from hlo_tools.drawing.graphs.svg import draw
from hlo_tools.drawing.pictures.families import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).parents[3]
# From left to right: a package imports only from those before it.
PACKAGES: Final = (
    *("hlo", "interpreter", "optimizer", "codegen", "emit_c", "emit_cuda"),
    *("hlo_jax", "hlo_tf", "hlo_torch", "hlo_tools"),
)
# Letters of a line in a box, and lines.
WIDE, MOST_LINES = 34, 4


def house() -> str:
    """The picture of all packages."""
    uses = {name: imported(ROOT / name) & set(PACKAGES) - {name} for name in PACKAGES}
    return draw(_scene(uses, PACKAGES, ROOT), "The packages", _TOLD, legend=False)


def room(package: str) -> str:
    """The picture of the folders of a package."""
    folders = sorted(path.parent.name for path in (ROOT / package).glob("*/__init__.py"))
    prefix = len(package) + 1
    uses = {
        name: {
            used[prefix:].partition(".")[0]
            for used in imported(ROOT / package / name, whole=True)
            if used.startswith(f"{package}.")
        }
        & set(folders) - {name}
        for name in folders
    }
    return draw(_scene(uses, folders, ROOT / package), f"{package}/", _TOLD, legend=False)


_TOLD: Final = "An arrow leads from a folder to one that imports it."


def imported(folder: Path, *, whole: bool = False) -> set[str]:
    """The modules that files below a folder import when they are loaded.

    Parameters
    ----------
    whole : with their packages' names before them; or else those packages alone.
    """
    names: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in _when_loaded(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
    return names if whole else {name.partition(".")[0] for name in names}


def _when_loaded(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a file outside of functions, and of what only type checkers read."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += ast.iter_child_nodes(node)


def _scene(uses: Mapping[str, set[str]], names: Sequence[str], folder: Path) -> Scene:
    """A box a folder, each after those that it imports."""
    order = _ordered(uses, names)
    position = {name: number for number, name in enumerate(order)}
    everything: dict[str, set[str]] = {}
    edges: list[Edge] = []
    for name in order:
        direct = {used for used in uses[name] if position[used] < position[name]}
        further = set[str]().union(*(everything[used] for used in direct))
        everything[name] = direct | further
        edges += [Edge(position[used], position[name], 0) for used in sorted(direct - further)]
    return Scene(folder.name, tuple(_box(folder / name) for name in order), tuple(edges))


def _ordered(uses: Mapping[str, set[str]], names: Sequence[str]) -> list[str]:
    """Names after those that they use, where this is possible."""
    order: list[str] = []
    while len(order) < len(names):
        rest = [name for name in names if name not in order]
        free = [name for name in rest if not (uses[name] - set(order))]
        order.append((free or rest)[0])
    return order


def _box(folder: Path) -> Box:
    """A folder with the first sentence of its docstring."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    lines = wrap(docstring.split("\n\n")[0].replace("`", ""), WIDE)[:MOST_LINES]
    family = next(iter(COLOURS))
    return Box(None, folder.name, tuple(lines), family, docstring)


def main(folder: Path) -> None:
    """Write all pictures below a folder of documentation."""
    pictures = {"house": house(), **{f"room_{name}": room(name) for name in PACKAGES}}
    for name, text in pictures.items():
        (folder / "pictures" / f"{name}.svg").write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
