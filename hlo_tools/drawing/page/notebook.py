"""The page of `hlo view` inside a notebook."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlo_tools.drawing.page.page import page

if TYPE_CHECKING:
    from collections.abc import Mapping


class View:
    """The page of a trace, shown in a frame of the notebook.

    Parameters
    ----------
    data : the trace, as `hlo_tools.trace.document` has it.
    height : of the frame, in pixels.
    """

    def __init__(self, data: Mapping[str, Any], height: int = 720) -> None:
        self.data, self.height = data, height

    def __repr__(self) -> str:
        """The text at Python's prompt."""
        return f"<the trace of {self.data['module']}; .save('m.html') writes the page>"

    def save(self, path: str | Path) -> None:
        """Write the page to a file, for any browser."""
        Path(path).write_text(page(self.data), "utf-8")

    def _repr_html_(self) -> str:
        # A frame of its own origin: scripts of the page cannot reach the notebook.
        return (
            f'<iframe title="{escape(self.data["module"])}" sandbox="allow-scripts allow-modals" '
            f'style="width:100%;height:{self.height}px;border:1px solid #888" '
            f'srcdoc="{escape(page(self.data))}"></iframe>'
        )
