"""Parses HLO text: tokens to a tree (by the grammar), the tree to a module.

The grammar gives the structure; this file looks up what it leaves open: opcodes and attributes in
the opcode table, operands and computations among those defined so far (HLO has no forward
references, so one sweep is enough).

The result is exactly the text, not a checked program: `hlo.verify` is the check. XLA keeps the two
apart too, so a text with, say, a wrong result shape can be parsed, printed and looked at.
"""

from __future__ import annotations

import gc
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken

from hlo.error import HloError, Source, Span
from hlo.header_text import read_header, read_stack_frames
from hlo.instruction import Computation, Header, Module, StackFrames
from hlo.instruction_text import ComputationText
from hlo.lexer import HloLexer, Scanner, blank_comments
from hlo.names import NameSupply
from hlo.values import ComputationLayout

if TYPE_CHECKING:
    from collections.abc import Callable

_EXPECTED = {
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "NAME": "a name",
    "ARGUMENTS": "`(`",
    "ATTRIBUTE": "`, key=value`",
    "SHAPE": "a shape",
    "LHS": "an instruction, `%name = shape opcode(...)`",
    "ARROW": "`->`",
    "ENTRY": "`ENTRY`",
    "HLO_MODULE": "`HloModule`",
    "$END": "the end",
}


@cache
def _grammar() -> Lark:
    text = Path(__file__).with_name("hlo.lark").read_text()
    return Lark(
        text, parser="lalr", lexer=HloLexer, start=["text", "inline"], maybe_placeholders=True
    )


def parse(text: str, name: str = "<string>") -> Module:
    """Parse HLO text: a module, computations without a header, or one instruction.

    Parameters
    ----------
    text : as XLA prints it, or shorter where XLA allows it.
    name : what errors call the text, such as a file's name.

    Returns
    -------
    Module
        what the text says. `hlo.verify` tells whether it makes sense.

    Raises
    ------
    HloError
        HLO001 to HLO019, with the position, if this is no HLO text.
    """
    # A dump makes millions of small objects and hardly any garbage: the collector would only
    # walk over them again and again.
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _parse(Source(text, name))
    finally:
        if enabled:
            gc.enable()


def _parse(source: Source) -> Module:
    scanner = Scanner(source, blank_comments(source))
    return _ModuleText(scanner).read(_tree(scanner, "text"))


def _tree(scanner: Scanner, start: str) -> Tree[Token]:
    try:
        return _grammar().parse(scanner, start=start)  # type: ignore[arg-type]
    except UnexpectedToken as error:
        raise _syntax_error(error, scanner) from None


def _syntax_error(error: UnexpectedToken, scanner: Scanner) -> HloError:
    wanted = sorted({_EXPECTED[t] for t in error.expected if t in _EXPECTED})
    expects = f"expects {' or '.join(wanted)}" if wanted else "unexpected text"
    if error.token.type == "$END":
        end = len(scanner.text[: scanner.end].rstrip())
        return scanner.error(f"the text ends too early: {expects}", max(0, end - 1))
    return scanner.error(expects, error.token.start_pos or 0, error.token.end_pos)


class _ModuleText:
    """Everything that is known while a module is read."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.computations: dict[str, Computation] = {}
        self.instruction_names = NameSupply()
        self.computation_names = NameSupply()

    def span(self, token: Token) -> Span:
        return Span(self.scanner.source, token.start_pos or 0, token.end_pos or 0)

    def read(self, tree: Tree[Token]) -> Module:
        build: Callable[[Tree[Token]], Module] = {
            "module": self.module,
            "headless": self.module,
        }.get(tree.data, self.single)
        return build(tree)

    def module(self, tree: Tree[Token]) -> Module:
        """A module, with or without its header line."""
        name, header, frames, entry = "", Header(), StackFrames(), None
        for part in tree.children:
            if isinstance(part, Token):
                frames = read_stack_frames(frames, part, self.span(part))
            elif part is not None and part.data == "header":
                _, label, *attributes = part.children
                name = str(label).strip("%:")
                header = read_header([(t, self.span(t)) for t in attributes])
            elif part is not None:
                computation = self.computation(part)
                if part.children[0] is not None:
                    if entry:
                        raise HloError("HLO004", "two computations are ENTRY", computation.span)
                    entry = computation
        computations = tuple(self.computations.values())
        entry = entry or computations[-1]
        if not name:
            name = f"module_{entry.name}"
        return _finish(name, computations, entry, header, frames)

    def computation(self, tree: Tree[Token]) -> Computation:
        """One computation, added to those known."""
        _, label, signature, _, *body = tree.children
        name = str(label).lstrip("%")
        if name in self.computations:
            raise HloError("HLO004", f"computation {name} is defined twice", self.span(label))
        reader = ComputationText(self)
        thread = ""
        for part in body:
            if isinstance(part, Tree):
                reader.instruction(part)
            elif part.type == "LINE":
                reader.line(part)
            elif part.type == "ATTRIBUTE":
                thread = self.thread(part)
        made = reader.finish(name, self.span(label), thread or "main", signature)
        self.computations[name] = made
        return made

    def inline(self, start: int, end: int) -> Computation:
        """A computation that stands in braces where its name is expected."""
        inner = Scanner(self.scanner.source, self.scanner.text, start, end)
        tree = _tree(inner, "inline")
        reader = ComputationText(self)
        for part in tree.children[1:-1]:
            if isinstance(part, Tree):
                reader.instruction(part)
            else:
                reader.line(part)
        return self.known(reader.finish("_", Span(inner.source, start, start + 1), "main", None))

    def known(self, computation: Computation) -> Computation:
        """Add a computation to those known, under its unique name."""
        self.computations[computation.name] = computation
        return computation

    def thread(self, token: Token) -> str:
        """The thread that a computation runs on, from `, execution_thread="name"`."""
        key, _, value = token.partition("=")
        if key.strip() != "execution_thread":
            raise HloError(
                "HLO005",
                f"a computation has no attribute `{key.strip()}`",
                self.span(token),
                ["only execution_thread may follow its `}`"],
            )
        return value.strip().strip("\"'")

    def single(self, tree: Tree[Token]) -> Module:
        """A text that is one instruction; operands that are not defined become parameters."""
        reader = ComputationText(self, parameters_from_operands=True)
        self.computation_names.unique("_")
        if tree.data == "unnamed":
            shape, opcode, arguments, *attributes = tree.children
            reader.add("_", shape, opcode, arguments, attributes, is_root=True)
        else:
            reader.instruction(tree)
        label = tree.children[0] or tree.children[1]
        entry = reader.finish("_", self.span(label), "main", None, reserved=True)  # type: ignore[arg-type]
        self.computations["_"] = entry
        header = Header(is_scheduled=True)
        return _finish("_", tuple(self.computations.values()), entry, header, StackFrames())


def _finish(
    name: str,
    computations: tuple[Computation, ...],
    entry: Computation,
    header: Header,
    frames: StackFrames,
) -> Module:
    """The module, with the layout of its entry filled in where the text leaves it open."""
    layout = header.entry_computation_layout or ComputationLayout(
        tuple(p.shape for p in entry.parameters), entry.root.shape
    )
    values: dict[str, Any] = {f: getattr(header, f) for f in header.__slots__}
    header = Header(**(values | {"entry_computation_layout": layout}))
    return Module(name, computations, entry, header, frames, entry.span)
