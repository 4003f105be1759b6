"""Reads a text by the grammar in `hlo.lark`, and by nothing else: Lark's trees, made into syntax.

This says what HLO text is. `hlo.read.fast` is a quicker way to the same syntax.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedInput

from hlo.errors.error import HloError, Source, Span
from hlo.names import KEYWORDS, TYPE_NAMES, free_of_keywords
from hlo.read.grammar import PIECES, load_grammar
from hlo.read.nesting import TooDeepError, nesting_limit
from hlo.read.syntax import (
    CalledSyntax,
    ComputationSyntax,
    HeaderSyntax,
    InstructionSyntax,
    Item,
    ModuleSyntax,
    OperandSyntax,
    Piece,
    SignatureSyntax,
    TableSyntax,
)
from hlo.read.syntax_error import syntax_error
from hlo.read.value_text import read

NOT_NEWLINE = re.compile(r"[^\n]")
_NO_PLAIN_NAMES = KEYWORDS | TYPE_NAMES


@cache
def _parser() -> Any:
    return load_grammar("pieces", PIECES, propagate_positions=True, postlex=nesting_limit)


def parse_piece(rule: str, source: Source, piece: Piece) -> Any:
    """Lark's tree of a piece of a text, with positions in the piece.

    Raises
    ------
    HloError
        HLO001 if the piece is not of the form that the rule describes.
    """
    try:
        return _parser().parse(piece.text, start=rule)
    except UnexpectedInput as error:
        raise syntax_error(error, rule, source, piece) from None
    except TooDeepError as error:
        span = Span(source, piece.start + error.at, piece.start + error.at + 1)
        raise HloError("HLO001", str(error), span) from None


class GrammarReader:
    """A text, cut into syntax by the grammar.

    Parameters
    ----------
    source : the text that errors show.

    Raises
    ------
    HloError
        every method: HLO001 if the text is not of the form that the grammar describes, HLO002 if
        a value is not.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = self.without_comments()

    def without_comments(self) -> str:
        """The text with blanks in place of comments, so that positions do not change."""
        parts: list[str] = []
        for token in self._parse("commented", Piece(self.source.text, 0)).children:
            if token.type == "UNCLOSED":
                raise self.error("the comment does not end", Piece("/*", token.start_pos))
            is_comment = token.type == "COMMENT"
            parts.append(NOT_NEWLINE.sub(" ", token) if is_comment else token)
        return "".join(parts)

    def module(self) -> ModuleSyntax | InstructionSyntax:
        """The syntax of the whole text: a module, or a single instruction."""
        tree = self._parse("text", Piece(self.text, 0))
        if tree.data == "module":
            (name, around), *others = tree.children[0].children, *tree.children[1:]
            header = HeaderSyntax(self._bare(name), self._items(around))
            tables = [self._table(part) for part in others if part.data == "table"]
            computations = [self._computation(p) for p in others if p.data == "computation"]
            return ModuleSyntax(header, tables, computations)
        if tree.data == "headless":
            return ModuleSyntax(None, (), [self._computation(part) for part in tree.children])
        return self._instruction(tree, 0)

    def operands(self, piece: Piece) -> list[OperandSyntax]:
        """The operands in an opcode's parentheses."""
        trees = self._parse("operands", piece).children
        return [self._operand(tree, piece.start) for tree in trees if tree is not None]

    def names(self, piece: Piece) -> list[Piece]:
        """The names in braces."""
        names = self._parse("names", piece).children
        return [self._bare(name, piece.start) for name in names if name is not None]

    def called(self, piece: Piece) -> CalledSyntax:
        """The computation that an attribute calls: its name, or the body in its place."""
        return self._called(self._parse("called", piece).children[0], piece.start)

    def called_list(self, piece: Piece) -> list[CalledSyntax]:
        """The computations that an attribute calls: one, or a list in braces."""
        parts = self._parse("called_list", piece).children
        return [self._called(part, piece.start) for part in parts if part is not None]

    def parameters(self, piece: Piece) -> list[Piece]:
        """The shapes of a signature's parameters."""
        trees = self._parse("parameters", piece).children
        return [self._piece(tree.children[1], piece.start) for tree in trees if tree is not None]

    def value(self, kind: str, piece: Piece) -> Any:
        """The value that a piece spells, by the rule for its kind."""
        return read(kind, piece.text, self.span(piece))

    def span(self, piece: Piece) -> Span:
        """The span of a piece in the source."""
        return Span(self.source, piece.start, piece.end)

    def error(self, message: str, piece: Piece, *notes: str) -> HloError:
        """A syntax error at a piece."""
        return HloError("HLO001", message, self.span(piece), notes)

    # ---- from trees to syntax; `offset` is where the text starts that a tree was made from

    def _parse(self, rule: str, piece: Piece) -> Any:
        return parse_piece(rule, self.source, piece)

    def _computation(self, tree: Any) -> ComputationSyntax:
        entry, name, signature, body, around = tree.children
        if signature is not None:
            parameters, result = signature.children
            signature = SignatureSyntax(self._inside(parameters, 0), self._piece(result, 0))
        instructions = [self._instruction(part, 0) for part in body.children]
        bare = self._bare(name)
        self._check_plain(name, name.start_pos)
        return ComputationSyntax(
            entry is not None, bare, signature, instructions, self._items(around)
        )

    def _instruction(self, tree: Any, offset: int) -> InstructionSyntax:
        *target, shape, opcode, parens, attributes = tree.children
        name, is_root = "_", True
        if target:
            words = target[0].removesuffix("=").split()
            name, is_root = words[-1].lstrip("%"), len(words) > 1
            start = offset + target[0].start_pos + target[0].index(words[-1])
            self._check_name(words[-1], start)
        self._check_plain(opcode, offset + opcode.start_pos)
        return InstructionSyntax(
            name,
            is_root,
            None if shape is None else self._piece(shape, offset),
            self._bare(opcode, offset),
            self._inside(parens, offset),
            self._items(attributes, offset),
        )

    def _called(self, part: Any, offset: int) -> CalledSyntax:
        if isinstance(part, Token):
            return self._bare(part, offset)
        return [self._instruction(instruction, offset) for instruction in part.children]

    def _operand(self, tree: Any, offset: int) -> OperandSyntax:
        whole = self._piece(tree, offset)
        if tree.data == "nameless":
            return OperandSyntax(whole, self._piece(tree.children[0], offset), None, (), None)
        shape, name, *others = tree.children
        shape = None if shape is None else self._piece(shape, offset)
        bare = self._bare(name, offset)
        if tree.data == "nested":
            return OperandSyntax(whole, shape, bare, (), self._inside(others[0], offset))
        elements = tuple(int(element.children[0]) for element in others)
        return OperandSyntax(whole, shape, bare, elements, None)

    def _table(self, tree: Any) -> TableSyntax:
        heading, *rows = tree.children
        cells = [row.children for row in rows]
        return TableSyntax(
            self._piece(heading, 0),
            [(self._piece(n, 0), self._piece(text, 0)) for n, text in cells],
        )

    def _items(self, tree: Any, offset: int = 0) -> list[Item]:
        items: list[Item] = []
        for attribute in tree.children:
            key = attribute.children[0]
            end = offset + attribute.meta.end_pos
            start = self.text.index("=", offset + key.end_pos) + 1
            value = self.text[start:end]
            lead = len(value) - len(value.lstrip())
            items.append(Item(self._piece(key, offset), Piece(value.strip(), start + lead)))
        return items

    def _piece(self, part: Any, offset: int) -> Piece:
        """The text of a token or tree."""
        position: Any = part if isinstance(part, Token) else part.meta
        start, end = offset + position.start_pos, offset + position.end_pos
        return Piece(self.text[start:end], start)

    def _inside(self, tree: Any, offset: int) -> Piece:
        """The text between a tree's brackets."""
        whole = self._piece(tree, offset)
        return Piece(whole.text[1:-1], whole.start + 1)

    def _bare(self, name: Token, offset: int = 0) -> Piece:
        """A name without `%`; XLA lets a colon end that of a module."""
        bare = name.lstrip("%")
        return Piece(bare.rstrip(":"), offset + (name.start_pos or 0) + len(name) - len(bare))

    def _check_plain(self, name: str, start: int) -> None:
        if name in _NO_PLAIN_NAMES:
            message = f"`{name}` means something by itself, and is no name"
            raise self.error(message, Piece(name, start), f"as a name it is written `%{name}`")

    def _check_name(self, name: str, start: int) -> None:
        self._check_plain(name, start)
        bare = name.lstrip("%")
        if (other := free_of_keywords(bare)) != bare:
            message = f"`{bare}` is no name for an instruction"
            raise self.error(message, Piece(name, start), f"call it `{other}`")


ShapedLiteral = tuple[str, str] | list["ShapedLiteral"]


def split_elements(text: str) -> list[str]:
    """The elements of a tuple's literal, `(1, {2, 3})`."""
    return _Cut("elements", text).texts()


def split_shaped_literal(text: str) -> ShapedLiteral:
    """The texts of a shape and of the literal after it; a list of such pairs for a tuple."""
    cut = _Cut("shaped_literal", text)
    return cut.shaped(cut.tree)


class _Cut:
    """The tree that a rule makes of a text by itself."""

    def __init__(self, rule: str, text: str) -> None:
        self.text = text
        self.tree = parse_piece(rule, Source(text), Piece(text, 0))

    def texts(self) -> list[str]:
        """The texts of the tree's children."""
        return [self._of(child) for child in self.tree.children if child is not None]

    def shaped(self, tree: Any) -> ShapedLiteral:
        """The pair of a `shaped_literal`, or the pairs of `shaped_literals`."""
        if tree.data == "shaped_literals":
            return [self.shaped(child) for child in tree.children if child is not None]
        shape, literal = tree.children
        return self._of(shape), self._of(literal)

    def _of(self, tree: Any) -> str:
        return self.text[tree.meta.start_pos : tree.meta.end_pos]
