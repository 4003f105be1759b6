"""Definitions and references in a text of HLO or StableHLO, which may be half written.

A parser gives up at the first mistake, and a text that is being typed has one most of the time. So
names are found from the text's words and braces alone: a definition is a name before `=`, or the
name of an argument, a computation or a function; a reference means the last definition of its name
before it, in the innermost braces that have one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from hlo.opcode import OPCODES

if TYPE_CHECKING:
    from collections.abc import Iterator

# Words of a text; comments and strings are one word each, so that no name is seen inside.
WORD: Final = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<name>[%@]?[A-Za-z_0-9](?:[\w.$]|-(?!>))*|[%@]"[^"\n]*")
    |(?P<mark>->|[{}()\[\]<>=:,\#])""",
    re.VERBOSE | re.DOTALL,
)
# Attributes whose values name computations, and one whose values name instructions.
CALLING: Final = frozenset(key for row in OPCODES.values() for key in row.called)
ORDERING: Final = "control-predecessors"
# A name before one of these is an opcode, an element type or a key.
NO_REFERENCE: Final = frozenset("[(=:<")
# In StableHLO, the words before a name that defines it.
DEFINING: Final = frozenset(
    {"func.func", "func", "private", "public", "nested", "sdy.mesh", "module"}
)


@dataclass(frozen=True, slots=True)
class NameOrMark:
    """A word of a text.

    Attributes
    ----------
    kind : "name" or "mark".
    start, end : its characters, the last one excluded.
    """

    kind: str
    text: str
    start: int
    end: int


@dataclass(eq=False, slots=True)
class Defined:
    """A name that a text defines.

    Attributes
    ----------
    name : without `%` or `@`.
    is_computation : of a computation or a function; else of a value.
    start, end : the name in the text, the last character excluded.
    scope : the definition of the computation that it is a part of, if any.
    references : where it is used.
    """

    name: str
    is_computation: bool
    start: int
    end: int
    scope: Defined | None = None
    references: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def places(self) -> list[tuple[int, int]]:
        """The definition and its references, in the order of the text."""
        return sorted([(self.start, self.end), *self.references])


class DefinedNames:
    """The definitions of a text, in its order, and the names that have none.

    Parameters
    ----------
    stablehlo : whether the text is StableHLO, not HLO.
    """

    def __init__(self, text: str, *, stablehlo: bool) -> None:
        self.definitions: list[Defined] = []
        self._at: dict[int, tuple[int, Defined]] = {}
        finder = _StableNames(text) if stablehlo else _HloNames(text)
        for definition in finder.definitions:
            self.definitions.append(definition)
            for start, end in definition.places:
                self._at[start] = end, definition
        self.definitions.sort(key=lambda d: d.start)
        self._starts = sorted(self._at)

    def at(self, offset: int) -> tuple[int, int, Defined] | None:
        """The name at a character: its stretch of the text, and its definition."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0:
            return None
        start = self._starts[index]
        end, definition = self._at[start]
        return (start, end, definition) if offset <= end else None

    def among(self, computation: Defined | None) -> list[Defined]:
        """The values that a computation defines."""
        return [d for d in self.definitions if d.scope is computation and not d.is_computation]


def words_of(text: str) -> Iterator[NameOrMark]:
    """The names and marks of a text, without comments and strings."""
    for match in WORD.finditer(text):
        kind = match.lastgroup or ""
        if kind in ("name", "mark"):
            yield NameOrMark(kind, match.group(), match.start(), match.end())


def bare(name: str) -> str:
    """A name without `%`, `@` and quotes."""
    return name.lstrip("%@").strip('"')


class _Finder:
    """The scopes of a text while its words are read.

    Attributes
    ----------
    scopes : the values of each pair of braces that is open, the outermost first.
    waiting : references to computations, which may be defined later.
    """

    def __init__(self, text: str) -> None:
        self.definitions: list[Defined] = []
        self.computations: dict[str, Defined] = {}
        self.current: Defined | None = None
        self.scopes: list[dict[str, Defined]] = [{}]
        self.waiting: list[NameOrMark] = []
        self.words = list(words_of(text))
        self.find()
        for word in self.waiting:
            if definition := self.computations.get(bare(word.text)):
                definition.references.append(_stretch(word))

    def find(self) -> None:
        """Read all words."""
        raise NotImplementedError

    def near(self, index: int) -> str:
        """The text of a word; "" before the first and after the last one."""
        return self.words[index].text if 0 <= index < len(self.words) else ""

    def touches(self, index: int) -> bool:
        """Whether the next word follows without a blank."""
        return index + 1 < len(self.words) and self.words[index].end == self.words[index + 1].start

    def define(self, word: NameOrMark, *, is_computation: bool = False) -> Defined:
        """Enter a definition into the innermost scope, or among the computations."""
        start, end = _stretch(word)
        scope = None if is_computation else self.current
        definition = Defined(bare(word.text), is_computation, start, end, scope)
        self.definitions.append(definition)
        if is_computation:
            self.computations[definition.name] = definition
        else:
            self.scopes[-1][definition.name] = definition
        return definition

    def refer(self, word: NameOrMark) -> None:
        """Enter a reference to a value, if the value is known."""
        for scope in reversed(self.scopes):
            if definition := scope.get(bare(word.text)):
                definition.references.append(_stretch(word))
                return


def _stretch(word: NameOrMark) -> tuple[int, int]:
    """The characters of a name, without its `%` or `@`."""
    return word.end - len(word.text.lstrip("%@")), word.end


class _HloNames(_Finder):
    """The names of HLO: `%` may be left out, so a word's place says whether it is a name.

    Attributes
    ----------
    depth, parentheses : those that are open.
    key : of the attribute that is read, if any.
    bodies : the depth of each body that is open.
    """

    depth: int
    parentheses: int
    key: str
    bodies: list[int]

    def find(self) -> None:
        """Read computations one after the other, and no names between them."""
        index = 0
        while index < len(self.words):
            opening = self.computation_at(index)
            if opening is None:
                index += 1
                continue
            first = index + (self.near(index) == "ENTRY")
            self.current = self.define(self.words[first], is_computation=True)
            end = self.body(opening)
            # The signature names the parameters, which the body defines.
            self.signature(first + 1, opening)
            self.scopes, self.current = [{}], None
            index = end

    def computation_at(self, index: int) -> int | None:
        """The index of the `{` that opens a body, if a computation begins at a word."""
        index += self.near(index) == "ENTRY"
        if index >= len(self.words) or self.words[index].kind != "name":
            return None
        if self.near(index + 1) == "(":
            index = self.matching(index + 1)
            return self.opening(index + 2) if self.near(index + 1) == "->" else None
        return index + 1 if self.near(index + 1) == "{" else None

    def opening(self, start: int) -> int | None:
        """The index of the `{` after a result's shape."""
        for at in range(start, len(self.words)):
            # The brace of a layout touches the shape before it: `f32[2]{0}`.
            if self.near(at) == "{" and not self.touches(at - 1):
                return at
            if self.near(at) == "=":
                break
        return None

    def matching(self, index: int) -> int:
        """The index of the bracket that closes the one at an index, or of the last word."""
        depth = 0
        for at in range(index, len(self.words)):
            depth += self.near(at) in ("(", "{", "[")
            depth -= self.near(at) in (")", "}", "]")
            if depth == 0:
                return at
        return len(self.words) - 1

    def signature(self, first: int, last: int) -> None:
        """Enter the parameters' names before `:` as references."""
        for index in range(first, last):
            if self.words[index].kind == "name" and self.near(index + 1) == ":":
                self.refer(self.words[index])

    def body(self, opening: int) -> int:
        """Read a body; the index after its closing brace."""
        self.depth, self.parentheses, self.key = 0, 0, ""
        self.bodies = [1]
        for index in range(opening, len(self.words)):
            word = self.words[index]
            if word.text in "{}":
                self.brace(index, opening)
                if not self.bodies:
                    return index + 1
            elif word.text in "()":
                self.parentheses += 1 if word.text == "(" else -1
            elif word.kind == "name":
                self.name(index)
        return len(self.words)

    def brace(self, index: int, opening: int) -> None:
        """Open or close a body: a computation can be written in place of its name."""
        if self.near(index) == "{":
            self.depth += 1
            if index != opening and self.key in CALLING and self.near(index + 2) == "=":
                self.bodies.append(self.depth)
                self.scopes.append({})
            return
        if self.bodies[-1] == self.depth:
            self.bodies.pop()
            self.scopes = self.scopes[: max(1, len(self.bodies))]
        self.depth -= 1

    def name(self, index: int) -> None:
        """Enter a word as a definition, a key, or a reference, if it can be one."""
        word, after = self.words[index], self.near(index + 1)
        if after == "=" and self.depth == self.bodies[-1] and not self.parentheses:
            is_key = self.near(index - 1) == ","
            self.key = word.text if is_key else ""
            if not is_key:
                self.define(word)
        elif after in NO_REFERENCE:
            return
        elif (self.parentheses > 0 and not self.key) or self.key == ORDERING:
            self.refer(word)
        elif self.key in CALLING:
            self.waiting.append(word)


class _StableNames(_Finder):
    """The names of StableHLO: `%value` and `@function`."""

    outer: Defined | None = None  # the function or module around the last function

    def find(self) -> None:
        """Read all words; braces open and close scopes."""
        # For each open brace, the function around it.
        around: list[Defined | None] = []
        begun: Defined | None = None
        parentheses = 0
        for index, word in enumerate(self.words):
            if word.text in "()":
                parentheses += 1 if word.text == "(" else -1
            elif word.text == "{":
                around.append(self.outer if begun else self.current)
                self.scopes.append({})
                # Attributes are in braces, too, before the body.
                if not parentheses and self.near(index - 1) != "attributes":
                    begun = None
            elif word.text == "}" and around:
                self.scopes.pop()
                outer = around.pop()
                self.current = begun or outer
            elif word.text.startswith("@"):
                if self.near(index - 1) in DEFINING:
                    self.outer = self.current
                    self.current = begun = self.define(word, is_computation=True)
                else:
                    self.waiting.append(word)
            elif word.text.startswith("%"):
                # In a signature, a blank may be before the colon.
                in_signature = bool(begun and parentheses and self.near(index + 1) == ":")
                if in_signature or self.defines(index):
                    self.define(word)
                else:
                    self.refer(word)

    def defines(self, index: int) -> bool:
        """Whether the value at a word is defined there: `%a =`, `%a:2 =`, `%a, %b =`, `(%a: t`."""
        after = self.near(index + 1)
        if after == ":" and self.touches(index):
            return True
        while after == "," and self.near(index + 2).startswith("%"):
            index += 2
            after = self.near(index + 1)
        return after == "="
