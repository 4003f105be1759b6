"""Expressions and statements as text, in a language like C: parentheses by precedence.

An emitter says how its language spells types, literals and operations; what all of these languages
have in common is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Expr,
    Group,
    Index,
    LaunchIndex,
    Literal,
    Load,
    Member,
    Name,
    Op,
    Quoted,
    Struct,
)
from codegen.floats import float_text
from codegen.functions import mentions
from codegen.kinds import Array, Kind, Pointer, Record, Table, base_of
from codegen.statements import (
    Assign,
    Break,
    Call,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    Try,
)
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from codegen.functions import Function
    from optimizer.analysis.indexing import Sum

# How tightly operations bind; of two operands, the left one may be of the same level.
_PRIMARY, _UNARY, _SUM, _CHOICE = 16, 14, 12, 3
PRECEDENCE = {
    **dict.fromkeys(("*", "/", "%"), 13),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("<<", ">>"), 11),
    **dict.fromkeys(("<", "<=", ">", ">="), 10),
    **dict.fromkeys(("==", "!="), 9),
    "&": 8,
    "^": 7,
    "|": 6,
    "&&": 5,
    "||": 4,
}
_COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_BITWISE = frozenset(("&", "^", "|"))
# Operands that compilers want in parentheses (-Wparentheses), though they bind more tightly.
_MISTAKABLE = {
    **dict.fromkeys(_BITWISE, _COMPARISONS | _BITWISE | {"+", "-"}),
    **dict.fromkeys(("<<", ">>"), frozenset("+-")),
    **dict.fromkeys(_COMPARISONS, _COMPARISONS),
    "||": frozenset(("&&",)),
}
_UNARY_SIGNS = {"real": "__real__ ", "imag": "__imag__ "}


def precedence(expr: Expr) -> int:
    """The precedence of the outermost operation of a tree."""
    match expr:
        case Name() | Load():  # as most are
            return _PRIMARY
        case Op(op, args):
            return PRECEDENCE[op] if len(args) == 2 else _UNARY
        case Literal():
            return _UNARY if expr.is_negative else _PRIMARY
        case Index(total):
            return _precedence_of_sum(total)
        case Cast():
            return _UNARY
        case _:
            return _CHOICE if isinstance(expr, Choose) else _PRIMARY


def _precedence_of_sum(total: Sum) -> int:
    if len(total.terms) + bool(total.constant) > 1:
        return _SUM
    if not total.terms:
        return _PRIMARY if total.constant >= 0 else _UNARY
    return _PRIMARY if total.terms[0][1] == 1 else PRECEDENCE["*"]


def shown(expr: Expr, least: int = 0) -> str:
    """A tree as text.

    Parameters
    ----------
    least : how tightly it must bind where it is; else it has parentheses.
    """
    if type(expr) is Name:
        return expr.name
    printed = _PRINTERS[type(expr)](expr)
    return f"({printed})" if least and precedence(expr) < least else printed


def _op(op: Op) -> str:
    sign = op.op
    if len(op.args) == 2:
        level, (x, y) = PRECEDENCE[sign], op.args
        first, second = mistaken_in(sign, x) or level, mistaken_in(sign, y) or level + 1
        return f"{shown(x, first)} {sign} {shown(y, second)}"
    inside = shown(op.args[0], _UNARY)
    return f"{_UNARY_SIGNS.get(sign, sign)}{f'({inside})' if inside[0] == sign else inside}"


def mistaken_in(sign: str, operand: Expr) -> int:
    """The level that puts an operand in parentheses; 0 where these need not be."""
    if sign not in _MISTAKABLE:
        return 0
    match operand:
        case Op(inner, (_, _)) if inner != sign:
            mistakable = inner in _MISTAKABLE[sign]
        case Index(total):
            mistakable = _precedence_of_sum(total) == _SUM and "+" in _MISTAKABLE[sign]
        case _:
            mistakable = False
    return _PRIMARY if mistakable else 0


def _load(load: Load) -> str:
    return f"{shown(load.pointer, _PRIMARY)}[{shown(load.index)}]"


def _choose(choice: Choose) -> str:
    condition, otherwise = shown(choice.condition, _CHOICE + 1), shown(choice.otherwise, _CHOICE)
    return f"{condition} ? {shown(choice.then)} : {otherwise}"


def _apply(apply: Apply) -> str:
    return f"{apply.function.name}({', '.join(map(shown, apply.args))})"


def _struct(struct: Struct) -> str:
    kind = "" if struct.kind is None else f"({spelled(struct.kind)})"
    return f"{kind}{{{', '.join(map(shown, struct.values))}}}"


def literal(number: Literal) -> str:
    """A number as a literal of C."""
    value, kind = number.value, number.kind
    if kind in ("f32", "f64"):
        return float_text(value, "f" if kind == "f32" else "")
    if kind == "char":
        return f"'{chr(int(value))}'"
    if number.hexadecimal:
        return f"{value:#x}{_SUFFIXES.get(kind, '')}"
    return integer(value, kind)


# What C puts after the digits of an integer of a type.
_SUFFIXES = {
    t.name: ("u" if t.kind == "unsigned" else "") + ("ll" if t.bits == 64 else "")
    for t in ELEMENT_TYPES.values()
    if t.is_integer
}


def integer(value: float, kind: str) -> str:
    """An integer of a type as a literal of C."""
    if kind == "s64" and value == -(2**63):
        return "(-0x7fffffffffffffff - 1)"
    return f"{value}{_SUFFIXES.get(kind, '')}"


_PRINTERS: dict[type, Callable[[Any], str]] = {
    Op: _op,
    Load: _load,
    Literal: literal,
    Index: lambda index: index.sum.text,
    LaunchIndex: str,
    Apply: _apply,
    Cast: lambda cast: f"({spelled(cast.kind)}){shown(cast.value, _UNARY)}",
    Choose: _choose,
    Group: lambda group: f"({shown(group.inside)})",
    Quoted: lambda text: f'"{text.text}"',
    Struct: _struct,
    Member: lambda member: f"{shown(member.pointer, _PRIMARY)}->{member.name}",
}


# --------------------------------------------------------------------------------------- statements


def text(statements: Sequence[Statement], indent: int = 1) -> str:
    """Statements as C."""
    return "".join([f"{line}\n" for line, _ in lines(statements, "  " * indent)])


def lines(statements: Sequence[Statement], before: str = "") -> Iterator[tuple[str, Statement]]:
    """The lines of statements, each after some spaces, with the statement that a line is of."""
    inside = before + "  "
    for statement in statements:
        match statement:
            case For():
                for line in _loop_head(statement):
                    yield before + line, statement
                yield from lines(statement.body, inside)
                yield f"{before}}}", statement
            case If(condition, then, otherwise):
                yield f"{before}if ({shown(condition)}) {{", statement
                yield from lines(then, inside)
                if otherwise:
                    yield f"{before}}} else {{", statement
                    yield from lines(otherwise, inside)
                yield f"{before}}}", statement
            case Forever(body):
                yield f"{before}for (;;) {{", statement
                yield from lines(body, inside)
                yield f"{before}}}", statement
            case _:
                yield before + _line(statement), statement


def _line(statement: Let | LocalVariable | Assign | Call | Try | Break) -> str:
    """A statement that has no others inside."""
    match statement:
        case Let(kind, name, value):
            return f"const {declared(kind, name)} = {shown(value)};"
        case LocalVariable(kind, name, value, size):
            length = "" if size is None else f"[{size}]"
            return f"{declared(kind, name)}{length}{f' = {shown(value)}' if value else ''};"
        case Assign(target, value):
            return f"{shown(target)} = {shown(value)};"
        case Call(function, arguments):
            return f"{function.name}({', '.join(map(shown, arguments))});"
        case Try(function, arguments):
            call = f"{function.name}({', '.join(map(shown, arguments))})"
            return f"{{ const int status = {call}; if (status) return status; }}"
        case Break(condition):
            return f"if ({shown(condition)}) break;"


def spelled(kind: Kind) -> str:
    """A type as C."""
    match kind:
        case Pointer(to, const):
            if isinstance(to, Pointer):
                return f"{spelled(to)}{'const ' if const else ''}*"
            return f"{'const ' if const else ''}{spelled(to)} *"
        case Record(name):
            return f"struct {name}"
        case Array(of):
            return f"{spelled(of)}[]"
        case Table(of):
            return f"static const {of}"
        case _:
            return base_of(kind)


def declared(kind: Kind, name: str, restrict: str = "restrict") -> str:
    """A variable or parameter with its type, as C.

    Parameters
    ----------
    restrict : the language's word for pointers that overlap with no other.
    """
    if isinstance(kind, str):
        return f"{kind} {name}"
    if isinstance(kind, Pointer):
        return f"{spelled(kind)}{f'{restrict} ' if kind.restrict else ''}{name}"
    return f"{spelled(kind)} {name}"


def _loop_head(loop: For) -> Iterator[str]:
    if loop.simd:
        folded = "".join(f" reduction({op} : {name})" for op, name in loop.reductions)
        yield f"#pragma omp simd{folded}"
    if loop.unroll:
        yield "#pragma unroll"
    if loop.bind:  # only a schedule's steps show it: a grid has such loops no more
        yield f"// bound to {shown(loop.bind)}"
    i = loop.name
    sign = "++" if loop.step == 1 else "--" if loop.step == -1 else f" += {_bound(loop.step)}"
    start, stop = _bound(loop.start), _bound(loop.stop, PRECEDENCE["<"] + 1)
    test = f"{i} {'>' if loop.counts_down else '<'} {stop}"
    yield f"for ({loop.kind} {i} = {start}; {test}; {i}{sign}) {{"


def _bound(number: int | Expr, least: int = 0) -> str:
    return str(number) if isinstance(number, int) else shown(number, least)


# ---------------------------------------------------------------------------------------- functions


def head(function: Function) -> str:
    """The head of a function: its return type, its name and its parameters."""
    listed = ", ".join(declared(p.kind, p.name) for p in function.parameters) or "void"
    return f"{'int' if function.gives_status else 'void'} {function.name}({listed})"


def above(function: Function) -> str:
    """The lines above a function: the comment, and the record of its name if there is one."""
    if function.record is None:
        return function.about
    fields = "".join(f"  {declared(field.kind, field.name)};\n" for field in function.record)
    return f"{function.about}struct {function.name} {{\n{fields}}};\n\n"


def code(function: Function, used: Collection[str]) -> str:
    """A function as C, for other files to call.

    Parameters
    ----------
    used : the names that its body mentions.
    """
    inline = "inline " if function.is_inline else ""
    remark = f"  // {function.remark}\n" if function.remark else ""
    parameters = (parameter.name for parameter in function.parameters)
    unused = "".join(f"  (void){name};\n" for name in parameters if name not in used)
    status = "  return 0;\n" if function.gives_status else ""
    inside = f"{remark}{unused}{text(function.body)}{status}"
    return f"{inline}{head(function)} {{\n{inside}}}\n"


def definition(function: Function) -> str:
    """A function as C with the lines above it; no other file sees it."""
    return f"{above(function)}static {code(function, mentions(function))}"
