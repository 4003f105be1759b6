"""The fast reader: the grammar's, with short cuts for text in the form that XLA prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hlo.read.by_grammar import GrammarReader
from hlo.read.fast.comments import blank_comments
from hlo.read.fast.cut import Cutter
from hlo.read.fast.lines import SHAPE
from hlo.read.fast.usual import usual_value
from hlo.read.syntax import Piece

if TYPE_CHECKING:
    from hlo.read.syntax import CalledSyntax, ModuleSyntax

_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)", re.ASCII)
_NAMES = re.compile(rf"\{{{_NAME.pattern}(?:, {_NAME.pattern})*\}}", re.ASCII)
_PARAMETER = re.compile(rf"[A-Za-z_][\w.\-]*: ({SHAPE})(?:, |\Z)", re.ASCII)


class FastReader(GrammarReader):
    """A text, cut into the syntax that the grammar makes of it.

    Raises
    ------
    UnusualError
        where the text, or a piece of it, has a form that only the grammar knows.
    """

    def without_comments(self) -> str:
        """The text with blanks in place of comments."""
        return blank_comments(self.source.text)

    def module(self) -> ModuleSyntax:
        """The syntax of a text that begins with `HloModule`."""
        return Cutter(self.text).module()

    def called(self, piece: Piece) -> CalledSyntax:
        """The computation that an attribute calls, where it is a name."""
        name = _NAME.fullmatch(piece.text)
        return Piece(name[1], piece.start + name.start(1)) if name else super().called(piece)

    def called_list(self, piece: Piece) -> list[CalledSyntax]:
        """The computations that an attribute calls, where they are names in braces."""
        if not _NAMES.fullmatch(piece.text):
            return super().called_list(piece)
        return [Piece(name[1], piece.start + name.start(1)) for name in _NAME.finditer(piece.text)]

    def parameters(self, piece: Piece) -> list[Piece]:
        """The shapes of a signature's parameters, where they are arrays and tuples of arrays."""
        pieces: list[Piece] = []
        at, end = 0, len(piece.text)
        while at < end:
            parameter = _PARAMETER.match(piece.text, at)
            if parameter is None:
                return super().parameters(piece)
            pieces.append(Piece(parameter[1], piece.start + parameter.start(1)))
            at = parameter.end()
        return pieces if not piece.text.endswith(", ") else super().parameters(piece)

    def value(self, kind: str, piece: Piece) -> Any:
        """The value that a piece spells, by the rule for its kind."""
        fast = usual_value(kind, piece.text)
        return super().value(kind, piece) if fast is None else fast
