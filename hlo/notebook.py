"""The display of modules, passes, rules and buffers in notebooks.

A notebook asks an object for `_repr_html_` or `_repr_svg_`. Pictures are drawn far from here, by
packages that know the language and not the other way round, so whoever draws says so in the
metadata of its installation: an entry point `html` or `svg` of the group `pyhlo.notebooks`, a
function that takes the object. It is loaded when the first object is shown; without it a notebook
shows the plain `repr`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP = "pyhlo.notebooks"
Shown = TypeVar("Shown", bound=type[Any])


@cache
def _drawers(form: str) -> tuple[Callable[[object], str | None], ...]:
    from importlib.metadata import entry_points  # noqa: PLC0415  it imports the parser of mails

    return tuple(entry.load() for entry in entry_points(group=GROUP, name=form))


def picture(thing: object, form: str) -> str | None:
    """The picture of an object in a notebook; None if nobody draws such.

    Parameters
    ----------
    form : "html" or "svg".
    """
    for drawer in _drawers(form):
        drawn = drawer(thing)
        if drawn is not None:
            return drawn
    return None


def as_html(thing: object) -> str | None:
    """An object as HTML: the `_repr_html_` of classes that notebooks can show."""
    return picture(thing, "html")


def as_svg(thing: object) -> str | None:
    """An object as SVG: the `_repr_svg_` of classes that notebooks can show."""
    return picture(thing, "svg")


def shown_in_notebooks(class_: Shown) -> Shown:
    """Let notebooks ask the objects of a class for pictures."""
    class_._repr_html_ = as_html
    class_._repr_svg_ = as_svg
    return class_
