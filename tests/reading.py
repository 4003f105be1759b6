"""Expressions from their text, as tests write them."""

from __future__ import annotations

import re
from functools import cache

from codegen.callees import BUILTINS, FUNCTIONS, Callee
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Load,
    Name,
    Op,
    Quoted,
    Struct,
)
from codegen.kinds import Array, Kind, Pointer, Record
from codegen.printer import PRECEDENCE, mistaken_in, precedence, shown
from hlo.types.element_type import C64, C128, ELEMENT_TYPES, F32, F64

_TOKEN = re.compile(
    r"\s*(0x[0-9a-f.]+p[+-]?\d+f?|0x[0-9a-f]+u?l{0,2}|\d+\.\d*(?:e[+-]?\d+)?f?|\d+e[+-]?\d+f?"
    r"|\d+u?l{0,2}|[A-Za-z_@][\w@ ]*@|[A-Za-z_]\w*"
    r"|\"[^\"]*\"|'\w'|<<|>>|<=|>=|==|!=|&&|\|\||->|[-+*/%<>&^|!~?:()\[\],{}])"
)
_TYPES = {*ELEMENT_TYPES, "const", "void", "char", "int", "unsigned", "float", "double", "struct"}
_SIGNS = {"-": "-", "!": "!", "~": "~", "&": "&", "*": "*", "__real__": "real", "__imag__": "imag"}


@cache
def read(text: str) -> Expr:
    """The tree of an expression's text."""
    if text.isidentifier():
        return Name(text)
    reader = _Reader(text)
    found = reader.choice()
    assert reader.at == len(reader.tokens), (text, reader.tokens, reader.at)
    return found


@cache
def callee(name: str) -> Callee:
    """The row of a function, from its name in C."""
    stem, _, last = name.rpartition("_")
    if last in ELEMENT_TYPES:
        return FUNCTIONS[stem, ELEMENT_TYPES[last]]
    if stem != "__builtin":
        return FUNCTIONS[name]
    found = (f.of(t) for f in [*BUILTINS.values()] if f.type for t in (F32, F64, C64, C128))
    return next((f for f in found if f.name == name), None) or BUILTINS[last]


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        assert "".join(self.tokens).replace(" ", "") == text.replace(" ", ""), text
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self, wanted: str | None = None) -> str:
        token = self.peek()
        assert wanted is None or token == wanted, (self.tokens, self.at, wanted)
        self.at += 1
        return token

    def choice(self) -> Expr:
        condition = self.operation(4)
        if self.peek() != "?":
            return condition
        self.take()
        then = self.choice()
        self.take(":")
        otherwise = self.choice()
        return Choose(_bare(condition, 4), then, _bare(otherwise, 3))

    def operation(self, least: int) -> Expr:
        found = self.unary()
        while (level := PRECEDENCE.get(self.peek(), 0)) >= least:
            op = self.take()
            other = self.operation(level + 1)
            found = Op(op, (_bare(found, level, op), _bare(other, level + 1, op)))
        return found

    def unary(self) -> Expr:
        token = self.peek()
        if token in _SIGNS:
            self.take()
            inside = self.unary()
            if token == "-" and isinstance(inside, Literal) and shown(inside) not in ("0", "0x0"):
                return Literal(-inside.value, inside.kind, inside.hexadecimal)
            if token == "-" and isinstance(inside, Group) and precedence(inside.inside) >= 14:
                inner = inside.inside
                negative = isinstance(inner, Op) and inner.op == "-" and len(inner.args) == 1
                return Op("-", (inner if negative else inside,))
            return Op(_SIGNS[token], (_bare(inside, 14),))
        if token == "(" and self.peek(1) in _TYPES:
            return self.cast()
        return self.postfix()

    def cast(self) -> Expr:
        self.take("(")
        words: list[str] = []
        while self.peek() != ")":
            words.append(self.take())
        self.take(")")
        kind = _kind(words)
        if self.peek() == "{":
            self.take()
            return Struct(kind, self.listed("}"))
        return Cast(kind, _bare(self.unary(), 14))

    def postfix(self) -> Expr:
        found = self.primary()
        while True:
            if self.peek() == "[":
                self.take()
                found = Load(_bare(found, 16), self.choice())
                self.take("]")
            elif self.peek() == "->":
                self.take()
                found = Op("->", (found, Name(self.take())))
            elif self.peek() == "(" and isinstance(found, Name):
                self.take()
                found = Apply(callee(found.name), self.listed(")"))
            else:
                return found

    def listed(self, end: str) -> tuple[Expr, ...]:
        found: list[Expr] = []
        while self.peek() != end:
            found.append(self.choice())
            if self.peek() == ",":
                self.take()
        self.take(end)
        return tuple(found)

    def primary(self) -> Expr:
        token = self.take()
        if token == "(":
            inside = self.choice()
            self.take(")")
            return Group(inside)
        if token == "{":
            return Struct(None, self.listed("}"))
        if token[0] == "'":
            return Literal(ord(token[1]), "char")
        if token[0] == '"':
            return Quoted(token[1:-1])
        if token[0].isdigit():
            return _number(token)
        return Name(token)


def _kind(words: list[str]) -> Kind:
    """A type from its words, of which `*` and `[ ]` are some."""
    const, words = "const" in words, [word for word in words if word != "const"]
    if words[-1] == "*":
        inner = _kind(words[:-1])
        assert isinstance(inner, str | Record)
        return Pointer(inner, const)
    if words[-2:] == ["[", "]"]:
        return Array(words[0])
    return Record(words[1]) if words[0] == "struct" else " ".join(words)


def _bare(expr: Expr, least: int, op: str = "") -> Expr:
    """What is put into parentheses anyway, without them: by precedence, or to be plain."""
    if not isinstance(expr, Group):
        return expr
    least = mistaken_in(op, expr.inside) or least
    return expr.inside if precedence(expr.inside) < least else expr


def _number(token: str) -> Literal:
    if "." in token or ("p" in token) or ("e" in token and token[:2] != "0x"):
        kind = "f32" if token.endswith("f") else "f64"
        digits = token.removesuffix("f") if kind == "f32" else token
        return Literal(float.fromhex(digits) if "x" in digits else float(digits), kind)
    bare = token.rstrip("ul")
    suffix = token[len(bare) :]
    kind = {"": "", "u": "u32", "ll": "s64", "ull": "u64"}[suffix]
    return Literal(int(bare, 0), kind, hexadecimal=bare.startswith("0x"))
