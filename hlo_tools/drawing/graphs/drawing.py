"""From a module to the text of its picture, for verbs and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.wording import counted
from hlo_tools.drawing.graphs.dot import dot, drawn_by_graphviz
from hlo_tools.drawing.graphs.scene import MOST_BOXES, chosen_computation, scene
from hlo_tools.drawing.graphs.svg import draw

if TYPE_CHECKING:
    from hlo.instruction import Module


def drawn(
    module: Module,
    *,
    form: str = "svg",
    engine: str = "own",
    computation: str | None = None,
    around: str | None = None,
    hops: int = 2,
    collapse: bool = False,
    most: int | None = None,
) -> str:
    """The picture of a module as a graph.

    Parameters
    ----------
    form : "svg", or "dot" for Graphviz.
    engine : who draws: "own", which folds what is too large to be read, or "dot", Graphviz, which
        draws everything.
    computation, around, hops, collapse, most : as of `scene`.

    Raises
    ------
    HloError
        HLO204 as `scene` and `drawn_by_graphviz`.
    """
    # DOT is for other programs, which may have room for more.
    limit = most or (None if "dot" in (engine, form) else MOST_BOXES)
    shown = scene(
        module, computation=computation, around=around, hops=hops, collapse=collapse, most=limit
    )
    title = module.name
    whole = computation is None and around is None
    if not whole:
        title += f" / {chosen_computation(module, computation, around).name}"
    if around is not None:
        title += f", {counted(hops, 'edge')} around {around.removeprefix('%')}"
    if form == "dot":
        return dot(shown, title)
    if engine == "dot":
        return drawn_by_graphviz(dot(shown, title))
    count = sum(1 for _ in module.instructions())
    size = f"{counted(count, 'instruction')} in {counted(len(module.computations), 'computation')}"
    return draw(shown, title, size if whole else f"of {size}")
