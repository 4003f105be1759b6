"""A text in an editor: its errors, and answers about the names and opcodes in it.

Places are offsets of characters; `server` turns them into lines and columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hlo.attributes import attribute_specs
from hlo.errors.error import HloError
from hlo.files import parse_either
from hlo.infer.table import infers
from hlo.opcode import OPCODES
from hlo.read.other_language import is_stablehlo
from hlo.verify import errors_of
from hlo.wording import counted
from hlo_tools.lsp.names import Defined, DefinedNames, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Computation, Instruction, Module

MEANT: Final = re.compile(r"did you mean `([^`]+)`\?")
DECLARED: Final = re.compile(r"declared as (\S+), but is (\S+)$")
NAME: Final = re.compile(r"[A-Za-z_][\w.-]*")
STABLE_NAME: Final = re.compile(r"[A-Za-z_$.][\w$.]*")
INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters `start` to `end` of a text become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that a hint of an error proposes, and its title."""

    title: str
    edit: Edit


class CompletionKind(IntEnum):
    """The kinds of words that are completed, by the protocol's numbers."""

    COMPUTATION = 3
    VALUE = 6
    OPCODE = 14


class EditedText:
    """A text as an editor sees it; it never changes.

    Parameters
    ----------
    name : of its file; one that ends in .mlir is StableHLO, whatever is in it so far.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.is_stablehlo = is_stablehlo(text, name)

    @cached_property
    def names(self) -> DefinedNames:
        """The definitions and references in the text."""
        return DefinedNames(self.text, stablehlo=self.is_stablehlo)

    @cached_property
    def errors(self) -> list[HloError]:
        """Everything that is wrong with the text: what stops reading it, or all rules broken."""
        if not self.text.strip():
            return []
        if isinstance(self._read, HloError):
            return [self._read]
        return sorted(errors_of(self._read), key=self.stretch)

    @property
    def module(self) -> Module | None:
        """The module, if the text can be read."""
        return None if isinstance(self._read, HloError) else self._read

    @cached_property
    def _read(self) -> Module | HloError:
        try:
            return parse_either(self.text, self.name)
        except HloError as error:
            return error

    @cached_property
    def _computations(self) -> dict[str, Computation]:
        return {c.name: c for c in self.module.computations} if self.module else {}

    def stretch(self, error: HloError) -> tuple[int, int]:
        """The characters that an error underlines: the whole text if it has no place."""
        return (error.span.start, error.span.end) if error.span else (0, len(self.text))

    def fixes(self, error: HloError) -> Iterator[Fix]:
        """The changes that an error's notes propose."""
        start, end = self.stretch(error)
        for note in error.notes:
            if (match := MEANT.search(note)) and error.span:
                wrong = self.text[start:end]
                sign = wrong[: len(wrong) - len(wrong.lstrip("%@"))]
                yield Fix(f"change to `{match[1]}`", Edit(start, end, sign + match[1]))
        if (match := DECLARED.search(error.message)) and error.span and not self.is_stablehlo:
            at = self.text.rfind(match[1], 0, start)
            # The shape is in front of the opcode, with its layout.
            if at >= 0 and re.fullmatch(
                r"(\{[^}\n]*\})?\s+", self.text[at + len(match[1]) : start]
            ):
                edit = Edit(at, start, match[2] + " ")
                yield Fix(f"declare it as `{match[2]}`", edit)

    def hover(self, offset: int) -> tuple[int, int, str] | None:
        """Markdown about a name or an opcode, and the characters that it is about."""
        if at := self.names.at(offset):
            start, end, definition = at
            return start, end, self._about(definition)
        for word in words_of(self.text):
            if word.start <= offset <= word.end and (text := about_opcode(word.text)):
                return word.start, word.end, text
            if word.start > offset:
                break
        return None

    def instruction(self, definition: Defined) -> Instruction | None:
        """The instruction that a value's definition has become."""
        if definition.is_computation or self.module is None:
            return None
        last = None
        for instr in self._spans:
            span = instr.span
            assert span is not None
            if self.is_stablehlo:
                if span.start <= definition.start and definition.end <= span.end:
                    last = instr
            elif span.start >= definition.end:
                return instr
        return last

    @cached_property
    def _spans(self) -> list[Instruction]:
        """The instructions that were read from the text, in its order."""
        computations = self.module.computations if self.module else ()
        every = [i for c in computations for i in c.instructions if i.span]
        # A function that is called twice may have become two computations: the first one counts.
        return sorted(every, key=lambda i: i.span.start if i.span else 0)

    def _about(self, definition: Defined) -> str:
        """Markdown about a definition: its text, shape, size and users."""
        if definition.is_computation:
            used = counted(len(definition.references), "reference")
            size = len(self.names.among(definition))
            return f"computation `{definition.name}`: {counted(size, 'value')}, {used}"
        instr = self.instruction(definition)
        used = sorted({self._line_of(start) for start, _ in definition.references})
        where = f"used on line {', '.join(map(str, used))}" if used else "not used"
        if instr is None:
            return f"value `{definition.name}`, {where}"
        shown = f"```hlo\n{instr!r}\n```"
        size = f"{instr.shape.text_without_layout}, {counted(instr.shape.bytes, 'byte')}"
        return f"{shown}\n{size}, {where}\n\n{about_opcode(instr.opcode)}"

    def _line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def rename(self, offset: int, new: str) -> list[Edit]:
        """The changes that give a definition another name.

        Raises
        ------
        ValueError
            if no name is there, or the new name is none or is taken.
        """
        at = self.names.at(offset)
        if at is None:
            raise ValueError("there is no name here that the text defines")
        definition, new = at[2], new.lstrip("%@")
        pattern = STABLE_NAME if self.is_stablehlo else NAME
        if not pattern.fullmatch(new):
            raise ValueError(f"`{new}` is no name")
        kind = definition.is_computation
        scope = definition.scope if self.is_stablehlo else None
        for other in self.names.definitions:
            near = not self.is_stablehlo or kind or other.scope is scope
            if other.name == new and other.is_computation == kind and near:
                if other is definition:
                    return []
                raise ValueError(f"`{new}` is defined on line {self._line_of(other.start)}")
        return [Edit(start, end, new) for start, end in definition.places]

    def shapes(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """The shape of each reference in a stretch of the text, and the end of its name."""
        for definition in self.names.definitions:
            near = [stop for at, stop in definition.references if start <= at < end]
            if near and (instr := self.instruction(definition)):
                shape = instr.shape.text_without_layout
                yield from ((stop, shape) for stop in near)

    def completions(self, offset: int) -> Iterator[tuple[str, CompletionKind, str]]:
        """The words that may be meant at a place: values before it, opcodes, computations."""
        seen: set[str] = set()
        for definition in reversed(self.names.definitions):
            if definition.start < offset and definition.name not in seen:
                seen.add(definition.name)
                kind = (
                    CompletionKind.COMPUTATION
                    if definition.is_computation
                    else CompletionKind.VALUE
                )
                yield definition.name, kind, ""
        for row in OPCODES.values():
            name = f"stablehlo.{row.name.replace('-', '_')}" if self.is_stablehlo else row.name
            yield name, CompletionKind.OPCODE, row.summary

    def formatted(self) -> str:
        """The text as XLA prints it, or, where that would lose something, indented anew.

        A text of HLO with comments, one of StableHLO, and one that cannot be read, keep each word.
        """
        if self.module is not None and not self.is_stablehlo and not has_comments(self.text):
            return str(self.module)
        return indented(self.text)


def about_opcode(word: str) -> str:
    """Markdown about an opcode; "" if a word is none.

    Parameters
    ----------
    word : `reduce-window`, or an operation of StableHLO.
    """
    row = OPCODES.get(word) or OPCODES.get(word.rpartition(".")[2].replace("_", "-"))
    if row is None:
        return ""
    parts = [f"**{row.name}**: {row.summary}"]
    if story := (infers.get(row.name).__doc__ if row.name in infers else ""):
        parts.append(story.partition("\n\n")[0])
    keys = ", ".join(f"`{key}`" for key in (*row.called, *attribute_specs(row.attrs)))
    if keys:
        parts.append(f"attributes: {keys}")
    return "\n\n".join(parts)


def has_comments(text: str) -> bool:
    """Whether a text has comments."""
    plain = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return "//" in plain or "/*" in plain


def indented(text: str) -> str:
    """A text with each line indented by the braces that are open before it."""
    lines: list[str] = []
    depth, in_comment = 0, False
    for line in text.splitlines():
        bare = line.strip()
        if in_comment:
            lines.append(line.rstrip())
            in_comment = "*/" not in bare
            continue
        plain = re.sub(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/', "", bare)
        in_comment = "/*" in plain
        plain = plain.partition("/*")[0]
        closing = len(plain) - len(plain.lstrip("})]"))
        lines.append(INDENT * max(0, depth - closing) + bare if bare else "")
        depth += sum(plain.count(c) for c in "{([") - sum(plain.count(c) for c in "})]")
        depth = max(0, depth)
    return "\n".join(lines).rstrip("\n") + "\n" if lines else text
