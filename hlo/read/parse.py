"""Parses HLO text: characters to syntax (`hlo.read.syntax`), syntax to a module.

What the grammar leaves open is looked up: opcodes and attributes in the opcode table, operands and
computations among those defined so far (HLO has no forward references, so one sweep is enough).

The result is exactly the text, not a checked program: `hlo.verify` is the check. XLA keeps the two
apart too, so a text with, say, a wrong result shape can be parsed, printed and looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.errors.error import HloError, Source, Span
from hlo.instruction import Computation, Header, Module, StackFrames
from hlo.names import NameSupply, free_of_keywords
from hlo.read.completion import settle_async, with_entry_layout
from hlo.read.computation_text import check_signature, read_computation
from hlo.read.header_text import read_header, read_stack_frames
from hlo.read.scanner import Item, Piece, Scanner, blank_comments
from hlo.read.stack_frames import FrameTables
from hlo.read.syntax import InstructionSyntax, read_body, read_syntax
from hlo.support.garbage import no_collection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.read.syntax import ComputationSyntax, ModuleSyntax


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
        HLO001 to HLO019, with the position, if this is no HLO text; and what `hlo.infer` raises
        where an instruction has no shape and its operands do not fit it.
    """
    with no_collection():
        source = Source(text, name)
        _check_characters(source)
        return _ModuleText(Scanner(source, blank_comments(source))).read()


def _check_characters(source: Source) -> None:
    """Refuse what could not be written to a file again."""
    try:
        source.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        message = "half a surrogate pair is no character"
        raise HloError("HLO001", message, Span(source, error.start, error.end)) from None


class _ModuleText:
    """Everything that is known while a module is read."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.computations: dict[str, Computation] = {}
        self.instruction_names = NameSupply()
        self.computation_names = NameSupply()
        self.frames = FrameTables(StackFrames())
        self.made_up = 0  # numbers for elided constants

    def read(self) -> Module:
        """The module that the text says."""
        syntax = read_syntax(self.scanner)
        if isinstance(syntax, InstructionSyntax):
            return self.single(syntax)
        return self.module(syntax)

    def module(self, syntax: ModuleSyntax) -> Module:
        """A module, with or without its header line."""
        header = Header()
        if syntax.header is not None:
            attributes = syntax.header.attributes
            header = read_header(attributes, self.scanner, lambda text: str(parse(text)))
        self.frames = FrameTables(read_stack_frames(syntax.tables, self.scanner))
        made = [self.computation(part) for part in syntax.computations]
        entries = [c for c, part in zip(made, syntax.computations, strict=True) if part.is_entry]
        if len(entries) > 1:
            raise HloError("HLO004", "two computations are ENTRY", entries[1].span)
        entry = (entries or made)[-1]
        name = syntax.header.name.text.rstrip(":") if syntax.header else f"module_{entry.name}"
        return self.finish(name, entry, header)

    def computation(self, syntax: ComputationSyntax) -> Computation:
        """One computation, added to those known."""
        name = syntax.name
        if name.text in self.computations:
            message = f"computation {name.text} is defined twice"
            raise HloError("HLO004", message, self.scanner.span(name))
        thread = self.thread(syntax.attributes)
        made = read_computation(self, name, syntax.body, thread=thread)
        if syntax.signature is not None:
            check_signature(syntax.signature, made, self.scanner)
        self.computations[name.text] = made = self.uniquely_named(made)
        return made

    def inline(self, braces: Piece) -> Computation:
        """A computation that stands in braces where its name is expected."""
        inner = Scanner(self.scanner.source, self.scanner.text, braces.start, braces.end)
        made = read_computation(self, Piece("_", braces.start), read_body(inner))
        made = self.uniquely_named(made)
        self.computations[made.name] = made
        return made

    def uniquely_named(self, made: Computation) -> Computation:
        """A computation under a name that is free now that its body, too, is read."""
        return replace(made, name=self.computation_names.unique(free_of_keywords(made.name)))

    def thread(self, attributes: Sequence[Item]) -> str:
        """The thread that a computation runs on, from `, execution_thread="name"`."""
        thread = "main"
        for key, value in attributes:
            if key.text != "execution_thread":
                message = f"a computation has no attribute `{key.text}`"
                hint = "only execution_thread may follow its `}`"
                raise HloError("HLO005", message, self.scanner.span(key), (hint,))
            thread = value.text.strip("\"'")
        return thread

    def single(self, syntax: InstructionSyntax) -> Module:
        """A text that is one instruction; operands that are not defined become parameters."""
        self.computation_names.unique("_")
        name = Piece("_", syntax.opcode.start)
        entry = read_computation(self, name, [syntax], parameters_from_operands=True)
        self.computations["_"] = entry
        return self.finish("_", entry, Header(is_scheduled=True))

    def finish(self, name: str, entry: Computation, header: Header) -> Module:
        """The module, with what XLA works out by itself."""
        computations = tuple(self.computations.values())
        header = with_entry_layout(header, entry)
        tables = self.frames.tables()
        return settle_async(Module(name, computations, entry, header, tables, entry.span))
