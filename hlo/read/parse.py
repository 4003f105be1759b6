"""Parses HLO text: characters to syntax (`hlo.read.syntax`), syntax to a module.

The grammar in `hlo.lark` says what the syntax is, and reads every text. `hlo.read.fast` reads usual
texts faster; what it cannot read, the grammar reads again, and raises its error.

What the grammar leaves open is looked up: opcodes and attributes in the opcode table, operands and
computations among those defined so far (HLO has no forward references, so one sweep is enough).

The result is exactly the text, not a checked program: `hlo.verify` is the check. XLA keeps the two
apart too, so a text with, say, a wrong result shape can be parsed, printed and looked at.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from hlo.errors.error import HloError, Source, Span
from hlo.instruction import Computation, Header, Module, StackFrames
from hlo.names import NameSupply, free_of_keywords
from hlo.read.budget import Budget
from hlo.read.by_grammar import GrammarReader
from hlo.read.completion import settle_async, with_entry_layout
from hlo.read.computation_text import check_signature, read_computation
from hlo.read.fast.cut import UnusualError
from hlo.read.fast.instructions import FastInstructions
from hlo.read.fast.reader import FastReader
from hlo.read.header_text import read_header, read_stack_frames
from hlo.read.instruction_text import InstructionText
from hlo.read.other_language import other_language
from hlo.read.stack_frames import FrameTables, settle_frames
from hlo.read.syntax import InstructionSyntax, Item, Piece
from hlo.support.garbage import no_collection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.read.scope import TextScope
    from hlo.read.syntax import ComputationSyntax, ModuleSyntax


def parse(text: str, name: str = "<string>", *, fast: bool = True) -> Module:
    """Parse HLO text: a module, computations without a header, or one instruction.

    Parameters
    ----------
    text : as XLA prints it, or shorter where XLA allows it.
    name : what errors call the text, such as a file's name.
    fast : whether to take the short cuts of `hlo.read.fast`; the module is the same either way.

    Returns
    -------
    Module
        what the text says. `hlo.verify` tells whether it makes sense.

    Raises
    ------
    HloError
        HLO001 to HLO019, with the position, if this is no HLO text; and what `hlo.infer` raises
        where an instruction has no shape and its operands do not fit it.
    TypeError
        if the text is no string.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        hint = "hlo.load(path) reads a file" if isinstance(text, PathLike) else "decode it before"
        raise TypeError(f"a text is needed, not {type(text).__name__}; {hint}")
    with no_collection():
        source = Source(text, name)
        _check_characters(source)
        if fast:
            try:
                return _FastModuleText(FastReader(source)).read()
            except (UnusualError, HloError):
                pass  # the grammar reads it, or says what is wrong with it
        try:
            return _ModuleReader(GrammarReader(source)).read()
        except HloError as error:
            if hint := other_language(text):
                raise error.noting(hint) from None
            raise


def _check_characters(source: Source) -> None:
    """Refuse characters that could not be written to a file again."""
    try:
        source.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        message = "half a surrogate pair is no character"
        raise HloError("HLO001", message, Span(source, error.start, error.end)) from None


class _ModuleReader:
    """The reader of a module, with all computations, names and tables read so far."""

    def __init__(self, reader: GrammarReader) -> None:
        self.reader = reader
        self.computations: dict[str, Computation] = {}
        self.instruction_names = NameSupply()
        self.computation_names = NameSupply()
        self.frames = FrameTables(StackFrames())
        self.made_up = 0  # numbers made up so far, for elided constants
        self.budget = Budget(len(reader.source.text))

    def read(self) -> Module:
        """The module that the text says."""
        syntax = self.reader.module()
        if isinstance(syntax, InstructionSyntax):
            return self.single(syntax)
        return self.module(syntax)

    def module(self, syntax: ModuleSyntax) -> Module:
        """A module, with or without its header line."""
        header = Header()
        if syntax.header is not None:
            attributes = syntax.header.attributes
            header = read_header(attributes, self.reader, lambda text: str(parse(text)))
        self.frames = FrameTables(read_stack_frames(syntax.tables, self.reader))
        own = [self.computation(part) for part in syntax.computations]
        entries = [c for c, part in zip(own, syntax.computations, strict=True) if part.is_entry]
        if len(entries) > 1:
            raise HloError("HLO004", "two computations are ENTRY", entries[1].span)
        entry = (entries or own)[-1]
        name = syntax.header.name.text.rstrip(":") if syntax.header else f"module_{entry.name}"
        return self.finish(name, entry, header)

    def computation(self, syntax: ComputationSyntax) -> Computation:
        """One computation, added to those known."""
        name = syntax.name
        if name.text in self.computations:
            message = f"computation {name.text} is defined twice"
            raise HloError("HLO004", message, self.reader.span(name))
        thread = self.thread(syntax.attributes)
        computation = read_computation(self, name, syntax.body, thread=thread)
        if syntax.signature is not None:
            check_signature(syntax.signature, computation, self.reader)
        self.computations[name.text] = computation = self.uniquely_named(computation)
        return computation

    def instruction_text(self, scope: TextScope) -> InstructionText:
        """The reader of a computation's instructions."""
        return InstructionText(scope)

    def inline(self, body: Sequence[InstructionSyntax], start: int) -> Computation:
        """A computation that is in braces where its name is expected."""
        computation = read_computation(self, Piece("_", start), body)
        computation = self.uniquely_named(computation)
        self.computations[computation.name] = computation
        return computation

    def uniquely_named(self, new: Computation) -> Computation:
        """A computation under a name that is free now that its body, too, is read."""
        return replace(new, name=self.computation_names.unique(free_of_keywords(new.name)))

    def thread(self, attributes: Sequence[Item]) -> str:
        """The thread that a computation runs on, from `, execution_thread="name"`."""
        thread = "main"
        for key, value in attributes:
            if key.text != "execution_thread":
                message = f"a computation has no attribute `{key.text}`"
                hint = "only execution_thread may follow its `}`"
                raise HloError("HLO005", message, self.reader.span(key), (hint,))
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
        """The module, completed by everything that XLA derives."""
        computations = tuple(self.computations.values())
        header = with_entry_layout(header, entry)
        tables = self.frames.tables()
        module = Module(name, computations, entry, header, tables, entry.span)
        return settle_frames(settle_async(module))


class _FastModuleText(_ModuleReader):
    """A module that is read by short cuts."""

    def instruction_text(self, scope: TextScope) -> InstructionText:
        """The reader of a computation's instructions."""
        return FastInstructions(scope)
