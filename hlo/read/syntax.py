"""The syntax of HLO text: what the grammar in `hlo.lark` finds, cut into pieces with positions.

Nothing has a meaning yet: no opcode, shape or operand was looked up. Each rule of the grammar
makes one of the named tuples here, and `hlo.parse` makes a module of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Token, Transformer
from lark.exceptions import UnexpectedToken

from hlo.read.grammar import load_grammar
from hlo.read.lexer import HloLexer, LinesToken
from hlo.read.scanner import Item, Piece, Scanner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.errors.error import HloError


class InstructionSyntax(NamedTuple):
    """`ROOT %name = shape opcode(arguments), key=value, ...`; the arguments without parentheses."""

    name: str
    is_root: bool
    shape: Piece | None
    opcode: Piece
    arguments: Piece
    attributes: Sequence[Item]


class SignatureSyntax(NamedTuple):
    """`(parameters) -> result`; the parameters without parentheses."""

    parameters: Piece
    result: Piece


class ComputationSyntax(NamedTuple):
    """`ENTRY %name (parameters) -> result { body }, key=value`."""

    is_entry: bool
    name: Piece
    signature: SignatureSyntax | None
    body: Sequence[LinesToken | InstructionSyntax]
    attributes: Sequence[Item]


class HeaderSyntax(NamedTuple):
    """`HloModule name, key=value, ...`."""

    name: Piece
    attributes: Sequence[Item]


class ModuleSyntax(NamedTuple):
    """A header, tables and computations."""

    header: HeaderSyntax | None
    tables: Sequence[Piece]
    computations: Sequence[ComputationSyntax]


class _Rules(Transformer[Token, Any]):
    """What each rule of `hlo.lark` makes. None stands for an absent part in brackets."""

    def module(self, items: Any) -> ModuleSyntax:
        header, *others = items
        tables = [_piece(item) for item in others if isinstance(item, Token)]
        return ModuleSyntax(header, tables, others[len(tables) :])

    def headless(self, items: Any) -> ModuleSyntax:
        return ModuleSyntax(None, (), items)

    def header(self, items: Any) -> HeaderSyntax:
        _, name, *attributes = items
        return HeaderSyntax(_name(name), [_item(token) for token in attributes])

    def computation(self, items: Any) -> ComputationSyntax:
        entry, name, signature, body, attributes = items
        return ComputationSyntax(entry is not None, _name(name), signature, body, attributes)

    def body(self, items: Any) -> Any:
        return items[1:-1]

    def attributes(self, items: Any) -> list[Item]:
        return [_item(token) for token in items]

    def signature(self, items: Any) -> SignatureSyntax:
        parameters, _, result = items
        return SignatureSyntax(_inside(parameters), _piece(result))

    def instruction(self, items: Any) -> InstructionSyntax:
        lhs, *others = items
        words = lhs.rstrip().removesuffix("=").split()
        return _instruction(words[-1].lstrip("%"), others, is_root=len(words) == 2)

    def unnamed(self, items: Any) -> InstructionSyntax:
        return _instruction("_", items, is_root=True)


def _instruction(name: str, items: Any, *, is_root: bool) -> InstructionSyntax:
    shape, opcode, arguments, attributes = items
    shape = _piece(shape) if shape is not None else None
    inside = _inside(arguments)
    return InstructionSyntax(name, is_root, shape, _name(opcode), inside, attributes)


def _inside(arguments: Token) -> Piece:
    return Piece(arguments[1:-1], (arguments.start_pos or 0) + 1)


def _piece(token: Token) -> Piece:
    return Piece(str(token), token.start_pos or 0)


def _name(token: Token) -> Piece:
    bare = token.lstrip("%")
    return Piece(bare, (token.start_pos or 0) + len(token) - len(bare))


def _item(token: Token) -> Item:
    start = token.start_pos or 0
    key, _, value = token.partition("=")
    lead = len(key) + 1 + len(value) - len(value.lstrip())
    return Item(Piece(key.rstrip(), start), Piece(value.strip(), start + lead))


@cache
def _grammar() -> Any:
    # It reads scanners, as our lexer does.
    return load_grammar("hlo", lexer=HloLexer, start=["text", "body"], transformer=_Rules())


def read_syntax(scanner: Scanner) -> ModuleSyntax | InstructionSyntax:
    """The syntax of a whole text: a module, or a single instruction.

    Raises
    ------
    HloError
        HLO001 if it is not of the form that the grammar describes.
    """
    return _read(scanner, "text")


def read_body(scanner: Scanner) -> Sequence[LinesToken | InstructionSyntax]:
    """The instructions of a computation that stands in braces where its name is expected."""
    return _read(scanner, "body")


def _read(scanner: Scanner, start: str) -> Any:
    try:
        return _grammar().parse(scanner, start=start)
    except UnexpectedToken as error:
        raise _syntax_error(error, scanner) from None


# What tokens are called in errors, in the order in which they are listed there.
_EXPECTED = {
    "HLO_MODULE": "`HloModule`",
    "ENTRY": "`ENTRY`",
    "NAME": "a name",
    "LHS": "an instruction, `%name = shape opcode(...)`",
    "SHAPE": "a shape",
    "ARGUMENTS": "`(`",
    "ATTRIBUTE": "`, key=value`",
    "ARROW": "`->`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "$END": "the end",
}


def _syntax_error(error: UnexpectedToken, scanner: Scanner) -> HloError:
    expected: set[str] = set(error.expected)
    wanted = [words for token, words in _EXPECTED.items() if token in expected]
    expects = f"expects {' or '.join(wanted)}" if wanted else "unexpected text"
    token: Token = error.token
    if token.type == "$END":
        end = len(scanner.text[: scanner.end].rstrip())
        return scanner.error(f"the text ends too early: {expects}", max(0, end - 1))
    return scanner.error(expects, token.start_pos or 0, token.end_pos)
