"""Reads the instructions of one computation, in any form that XLA accepts.

Most instructions of a dump are `LINE` tokens, in the form in which XLA prints them; those take a
short cut past the general way. Both end in `add`, where the opcode table says what the pieces mean.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from lark import Token, Tree

from hlo.annotations import NO_ANNOTATIONS, Annotations, Metadata
from hlo.async_text import async_base, read_async
from hlo.attributes import (
    NO_ATTRS,
    AsyncStart,
    Attrs,
    Constant,
    CustomCall,
    Map,
    Parameter,
    attribute_specs,
)
from hlo.element_type import U32
from hlo.error import HloError, Span, did_you_mean
from hlo.instruction import Computation, Instruction
from hlo.lexer import ATTRIBUTE_ITEM, NAME, TYPED_OPERAND, LineToken, Scanner
from hlo.literal_text import read_literal, read_shaped_literal
from hlo.metadata_text import read_metadata
from hlo.opcode import OPCODES, Opcode
from hlo.shape import TOKEN_SHAPE, Shape, array, tuple_of
from hlo.sharding import Sharding
from hlo.value_rules import keep_json
from hlo.value_text import read, read_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.names import NameSupply

# How deep instructions may stand inside each other's parentheses.
MAX_NESTING = 200
_COMMON = {
    "backend_config",
    "statistics",
    "origin",
    "sharding",
    "frontend_attributes",
    "metadata",
    "control-predecessors",
}
_ENDS_ASYNC = {"async-update", "async-done"}
_OF_ASYNC_START = {"calls", "async_execution_thread", "output_to_operand_aliasing"}
_RENAMED = {"original_value": "origin"}
_PIECE = re.compile(rf"({NAME})((?:\s*#\s*\d+)*)")
_LHS = re.compile(r"(ROOT\s+)?%?([^\s=]+)")
_INSTRUCTION = re.compile(r"=")
# What was read from a text is kept: a dump repeats its shapes and attributes all the time. All of
# it is immutable, so that modules may share it.
MEMO = 100_000
_shape_memo: dict[str, Shape] = {}
_attrs_memo: dict[tuple[Any, ...], Attrs] = {}
_plain_memo: dict[tuple[str, str, str], tuple[Attrs, Annotations]] = {}


class ModuleText(Protocol):
    """What the reader of a computation needs to know of the module around it."""

    scanner: Scanner
    computations: dict[str, Computation]
    instruction_names: NameSupply
    computation_names: NameSupply

    def inline(self, start: int, end: int) -> Computation:
        """Read the computation that stands in braces between two places."""
        ...


class ComputationText:
    """The instructions of one computation, as they are read.

    Parameters
    ----------
    module : the module around it.
    parameters_from_operands : operands that are not defined become parameters of their shape.
    """

    def __init__(self, module: ModuleText, *, parameters_from_operands: bool = False) -> None:
        self.module = module
        self.scanner = module.scanner
        self.known: dict[str, Instruction] = {}
        self.instructions: list[Instruction] = []
        self.root: Instruction | None = None
        self.parameters_from_operands = parameters_from_operands
        self.depth = 0

    def span(self, start: int, end: int) -> Span:
        """A place in the text."""
        return Span(self.scanner.source, start, end)

    # ---- the forms of an instruction

    def line(self, token: LineToken) -> None:
        """Read an instruction in the form in which XLA prints it."""
        found = token.match
        root, name, shape_text, opcode, arguments, before, metadata, after = found.groups()
        row = OPCODES.get(opcode)
        plain = _plain_memo.get((opcode, before, after)) if row and row.arity != 0 else None
        if plain is None or row is None:
            self._general_line(found)
            return
        # The same attributes were read before, and no computation is called.
        attrs, annotations = plain
        if name in self.known:
            raise HloError("HLO004", f"instruction {name} is defined twice", self._at(found, 4))
        if metadata is not None:
            annotations = replace(annotations, metadata=Metadata(metadata))
        span = self._at(found, 4)
        operands = self.operands(arguments, found.start(5))
        if row.arity is not None and len(operands) != row.arity:
            raise _wrong_arity(row, operands, span)
        shape = _shape_memo.get(shape_text) or self._shape(shape_text, found.start(3))
        made = Instruction(name, opcode, shape, operands, attrs, (), (), annotations, span)
        self._keep(_canonical(made), is_root=root is not None)

    def _general_line(self, found: re.Match[str]) -> None:
        root, name, shape, opcode, arguments, before, metadata, after = found.groups()
        attributes = [
            (item[1], item[2], item.start(2))
            for group in (6, 8)
            for item in ATTRIBUTE_ITEM.finditer(found.string, found.start(group), found.end(group))
        ]
        if metadata is not None:
            attributes.append(("metadata", f"{{{metadata}}}", found.start(7) - 1))
        made = self._add(
            name,
            (shape, found.start(3)),
            (opcode, found.start(4)),
            (arguments, found.start(5)),
            attributes,
            is_root=root is not None,
        )
        row = made.row
        repeats = row.arity != 0 and not row.called and opcode not in _COMPLETED
        if row.name == opcode and repeats and "control-pre" not in before:
            if len(_plain_memo) > MEMO:
                _plain_memo.clear()
            annotations = made.annotations
            if row.attrs is Map or annotations.sharding is not None:
                return  # what is kept depends on the shape
            if annotations.metadata is not None:
                annotations = replace(annotations, metadata=None)
            _plain_memo[opcode, before, after] = made.attrs, annotations

    def _at(self, found: re.Match[str], group: int) -> Span:
        return Span(self.scanner.source, found.start(group), found.end(group))

    def _shape(self, text: str, at: int) -> Shape:
        shape = read_shape(text, self.span(at, at + len(text)))
        if len(_shape_memo) > MEMO:
            _shape_memo.clear()
        _shape_memo[text] = shape
        return shape

    def instruction(self, tree: Tree[Token]) -> None:
        """Read an instruction in any form."""
        lhs, shape, opcode, arguments, *attributes = tree.children
        found = _LHS.match(str(lhs))
        assert found
        self.add(found[2], shape, opcode, arguments, attributes, is_root=bool(found[1]))

    def add(
        self,
        name: str,
        shape: Any,
        opcode: Any,
        arguments: Any,
        attributes: Sequence[Any],
        *,
        is_root: bool,
    ) -> Instruction:
        """Read an instruction from its tokens."""
        items: list[tuple[str, str, int]] = []
        for token in attributes:
            key, _, value = token.partition("=")
            lead = len(key) + 1 + len(value) - len(value.lstrip())
            items.append((key.rstrip(), value.strip(), token.start_pos + lead))
        start = opcode.start_pos
        return self._add(
            name,
            (str(shape), shape.start_pos) if shape is not None else None,
            (str(opcode).lstrip("%"), start),
            (arguments[1:-1], arguments.start_pos + 1),
            items,
            is_root=is_root,
        )

    def _add(
        self,
        name: str,
        shape_text: tuple[str, int] | None,
        opcode_text: tuple[str, int],
        arguments: tuple[str, int],
        attributes: list[tuple[str, str, int]],
        *,
        is_root: bool,
    ) -> Instruction:
        opcode, at = opcode_text
        span = Span(self.scanner.source, at, at + len(opcode))
        if name in self.known:
            raise HloError("HLO004", f"instruction {name} is defined twice", span)
        shape = None
        if shape_text:
            shape = _shape_memo.get(shape_text[0]) or self._shape(*shape_text)
        base = opcode if opcode in OPCODES else async_base(opcode)
        if base is None:
            notes = did_you_mean(opcode, OPCODES)
            raise HloError("HLO007", f"there is no opcode `{opcode}`", span, notes)
        if base != opcode:
            made = read_async(self, name, opcode, base, shape, arguments, attributes, span)
        else:
            made = self.build(name, OPCODES[opcode], shape, arguments, attributes, span)
        return self._keep(made, is_root=is_root)

    def _keep(self, made: Instruction, *, is_root: bool) -> Instruction:
        self.known[made.name] = made
        self.instructions.append(made)
        if is_root:
            if self.root is not None:
                raise HloError("HLO004", "two instructions are ROOT", made.span)
            self.root = made
        return made

    # ---- the pieces of an instruction

    def build(
        self,
        name: str,
        row: Opcode,
        shape: Shape | None,
        arguments: tuple[str, int],
        attributes: list[tuple[str, str, int]],
        span: Span,
        operands: tuple[Instruction, ...] | None = None,
    ) -> Instruction:
        """The instruction that the pieces describe."""
        attrs, called, control, annotations = NO_ATTRS, (), (), NO_ANNOTATIONS
        own: list[tuple[str, str, int]] = []
        calls: list[tuple[str, str, int]] = []
        if attributes:
            own, calls, control, annotations = self._sort_attributes(row, attributes, span)
        if row.arity == 0:
            operands = ()
        elif operands is None:
            operands = self.operands(*arguments)
        if row.attrs is not Attrs:
            attrs = self._attrs(row, shape, arguments, own, span)
        if row.called:
            called = self._called(row, operands, calls, span)
        if isinstance(attrs, AsyncStart):
            called = tuple(self.on_thread(c, attrs.async_execution_thread) for c in called)
        if row.attrs is Map and "dimensions" not in {key for key, _, _ in own}:
            attrs = Map(dimensions=tuple(range(operands[0].shape.rank if operands else 0)))
        if row.arity is not None and len(operands) != row.arity:
            raise _wrong_arity(row, operands, span)
        made = Instruction(
            name,
            row.name,
            shape,  # type: ignore[arg-type]
            operands,
            attrs,
            called,
            control,
            annotations,
            span,
        )
        if shape is None:
            made = self._with_inferred_shape(made)
        return _canonical(made)

    def _with_inferred_shape(self, instr: Instruction) -> Instruction:
        from hlo.infer import infer  # noqa: PLC0415 - only short forms need it

        row = instr.row
        if row.arity == 0 or instr.opcode in _SHAPE_IS_INPUT:
            message = f"{instr.opcode} needs its shape: nothing else says it"
            raise HloError("HLO009", message, instr.span)
        return instr.with_(shape=infer(instr))

    def _sort_attributes(
        self, row: Opcode, attributes: list[tuple[str, str, int]], span: Span
    ) -> tuple[Any, Any, tuple[Instruction, ...], Annotations]:
        """Split attributes into the opcode's own, called computations, and what any may carry."""
        own: list[tuple[str, str, int]] = []
        calls: list[tuple[str, str, int]] = []
        common: dict[str, Any] = {}
        control: tuple[Instruction, ...] = ()
        specs = attribute_specs(row.attrs)
        seen: set[str] = set()
        for item in attributes:
            key, text, at = item
            if key in seen:
                raise HloError("HLO005", f"attribute `{key}` is given twice", self._key(item))
            seen.add(key)
            key = _RENAMED.get(key, key)
            if key == "metadata":
                common[key] = read_metadata(text, self.span(at, at + len(text)))
            elif key in specs:
                own.append(item)
            elif key in row.called or key + "*" in row.called:
                calls.append(item)
            elif key == "control-predecessors":
                control = self._control(text, at)
            elif key == "statistics":
                common[key] = text
            elif key == "backend_config":
                common[key] = "" if text in ('""', "''") else keep_json(text)
            elif row.name in _ENDS_ASYNC and key in _OF_ASYNC_START:
                pass  # they repeat what the async-start says
            elif key in _COMMON:
                common[key] = read(key, text, self.span(at, at + len(text)))
            else:
                known = [*specs, *(k.rstrip("*") for k in row.called), *_COMMON]
                notes = did_you_mean(key, known)
                message = f"{row.name} has no attribute `{key}`"
                raise HloError("HLO005", message, self._key(item), notes)
        return own, calls, control, Annotations(**common) if common else NO_ANNOTATIONS

    def _key(self, item: tuple[str, str, int]) -> Span:
        """Where the key of an attribute stands: before its value and the `=`."""
        key, _, at = item
        start = self.scanner.text.rindex(key, 0, at)
        return self.span(start, start + len(key))

    def _attrs(
        self,
        row: Opcode,
        shape: Shape | None,
        arguments: tuple[str, int],
        own: list[tuple[str, str, int]],
        span: Span,
    ) -> Attrs:
        """The opcode's own attributes; the same text gives the same object."""
        inside: Any = None
        if row.attrs is Constant:
            if shape is None:
                raise HloError("HLO009", "constant needs its shape: nothing else says it", span)
            inside = shape
        memo = (row.attrs, inside, arguments[0] if row.arity == 0 else "", *(x[:2] for x in own))
        found = _attrs_memo.get(memo) if len(arguments[0]) < 1000 else None
        if found is None:
            found = self._read_attrs(row, shape, arguments, own, span)
            if len(arguments[0]) < 1000:
                if len(_attrs_memo) > MEMO:
                    _attrs_memo.clear()
                _attrs_memo[memo] = found
        return found

    def _read_attrs(
        self,
        row: Opcode,
        shape: Shape | None,
        arguments: tuple[str, int],
        own: list[tuple[str, str, int]],
        span: Span,
    ) -> Attrs:
        text, at = arguments
        place = self.span(at, at + len(text))
        specs = attribute_specs(row.attrs)
        values: dict[str, Any] = {}
        if row.attrs is Constant and shape is not None:
            values["literal"] = read_literal(shape, text, place)
        elif row.attrs is Parameter:
            values["number"] = read("int", text.strip(), place)
            if values["number"] < 0:
                raise HloError("HLO008", "a parameter's number can't be negative", place)
        elif row.arity == 0 and text.strip():
            raise HloError("HLO008", f"{row.name} takes no operands", place)
        for key, value, start in own:
            spec = specs[key]
            where = self.span(start, start + len(value))
            if spec.kind == "literal":
                values[spec.field] = read_shaped_literal(value, where)
            else:
                read_value = read(spec.kind, value, where)
                single = spec.kind == "bools" and not isinstance(read_value, tuple)
                values[spec.field] = (read_value,) if single else read_value
        for key, spec in specs.items():
            if spec.required and spec.field not in values:
                raise HloError("HLO005", f"{row.name} needs the attribute `{key}`", span)
        return row.attrs(**values)

    # ---- operands

    def operands(self, text: str, at: int) -> tuple[Instruction, ...]:
        """The instructions that stand in an opcode's parentheses."""
        if not text or text.isspace():
            return ()
        known = self.known
        try:
            # The usual form, `%a, %b`.
            return tuple([known[word.strip().lstrip("%")] for word in text.split(",")])
        except KeyError:
            end = at + len(text)
            typed = self._typed_operands(at, end)
            if typed is not None:
                return typed
            pieces = self.scanner.pieces(at, end)
            return tuple([self._operand(start, stop) for start, stop in pieces])

    def _typed_operands(self, at: int, end: int) -> tuple[Instruction, ...] | None:
        """Operands that all have their shape in front; None if the text has another form."""
        found: list[Instruction] = []
        while at < end:
            piece = TYPED_OPERAND.match(self.scanner.text, at, end)
            instr = self.known.get(piece[2]) if piece else None
            if piece is None or instr is None:
                return None
            if piece[1] != instr.shape.text:
                self._checked(instr, self._shape(piece[1], at), at, piece.end())
            found.append(instr)
            at = piece.end()
        return tuple(found)

    def _operand(self, start: int, end: int) -> Instruction:
        """One operand: a name, perhaps with its shape in front, or an instruction in place."""
        text = self.scanner.text
        if start == end:
            raise HloError("HLO001", "expects an operand", self.span(start, start + 1))
        found = _PIECE.fullmatch(text, start, end)
        if found and found[1].lstrip("%") in self.known:
            return self._element(self.known[found[1].lstrip("%")], found)
        stop = self.scanner.shape(start)
        shape = None
        after = start
        if stop is not None:
            shape = read_shape(text[start:stop], self.span(start, stop))
            after = self.scanner.skip_space(stop)
        found = _PIECE.fullmatch(text, after, end)
        if found and found[1].lstrip("%") in self.known:
            named = self._element(self.known[found[1].lstrip("%")], found)
            return self._checked(named, shape, start, end)
        if self.parameters_from_operands and shape is not None and (found or after >= end):
            return self._parameter(found[1] if found else None, shape, self.span(start, end))
        if after < end and text[end - 1] == ")" and (head := re.match(NAME, text[after:end])):
            return self._nested(shape, (start, stop), head[0], after, end)
        word = text[after:end] or text[start:end]
        notes = did_you_mean(word.lstrip("%"), self.known)
        message = f"there is no instruction `{word[:60].lstrip('%')}` before this one"
        raise HloError("HLO010", message, self.span(after if after < end else start, end), notes)

    def _element(self, instr: Instruction, found: re.Match[str]) -> Instruction:
        """The element of a tuple that `%x#0#1` means; the instruction itself for `%x`."""
        for index in re.findall(r"\d+", found[2]):
            row = OPCODES["get-tuple-element"]
            span = self.span(found.start(), found.end())
            if not instr.shape.is_tuple or int(index) >= len(instr.shape.elements):
                raise HloError("HLO010", f"{instr.name} has no element {index}", span)
            attrs = row.attrs(index=int(index))  # type: ignore[call-arg]
            shape = instr.shape.elements[int(index)]
            name = self._fresh(f"{instr.name}_element_{index}")
            instr = Instruction(name, row.name, shape, (instr,), attrs, span=span)
            self.known[name] = instr
            self.instructions.append(instr)
        return instr

    def _checked(
        self, instr: Instruction, shape: Shape | None, start: int, end: int
    ) -> Instruction:
        # As XLA does, leave dynamic dimensions to the instruction itself.
        if shape is not None and (shape.dims, shape.element_type) != (
            instr.shape.dims,
            instr.shape.element_type,
        ):
            message = f"operand {instr.name} is {instr.shape}, not {shape}"
            raise HloError("HLO010", message, self.span(start, end))
        return instr

    def _parameter(self, name: str | None, shape: Shape, span: Span) -> Instruction:
        number = sum(1 for i in self.instructions if i.opcode == "parameter")
        fresh = name.lstrip("%") if name else self._fresh(f"_{number}")
        made = Instruction(fresh, "parameter", shape, (), Parameter(number=number), span=span)
        self.known[fresh] = made
        self.instructions.append(made)
        return made

    def _nested(
        self,
        shape: Shape | None,
        shape_place: tuple[int, int | None],
        opcode: str,
        start: int,
        end: int,
    ) -> Instruction:
        """An instruction that stands where an operand is expected: `add(negate(p), q)`."""
        if self.depth >= MAX_NESTING:
            message = f"instructions are nested more than {MAX_NESTING} deep"
            raise HloError("HLO010", message, self.span(start, end))
        opened = self.scanner.skip_space(start + len(opcode))
        text = self.scanner.text
        if text[opened] != "(" or self.scanner.balanced(opened) != end:
            raise HloError("HLO001", "expects `opcode(...)` or a name", self.span(start, end))
        self.depth += 1
        shape_text = None
        if shape is not None and shape_place[1] is not None:
            shape_text = (text[shape_place[0] : shape_place[1]], shape_place[0])
        made = self._add(
            self._fresh(f"{opcode}.anon"),
            shape_text,
            (opcode, start),
            (text[opened + 1 : end - 1], opened + 1),
            [],
            is_root=False,
        )
        self.depth -= 1
        return made

    def _fresh(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self.known:
            number += 1
            name = f"{wanted}.{number}"
        return name

    def _control(self, text: str, at: int) -> tuple[Instruction, ...]:
        """The instructions that `control-predecessors={%a, %b}` names."""
        return self.operands(text[1:-1], at + 1)

    # ---- called computations

    def _called(
        self,
        row: Opcode,
        operands: tuple[Instruction, ...],
        calls: list[tuple[str, str, int]],
        span: Span,
    ) -> tuple[Computation, ...]:
        """The computations that the attributes name, in the order of the opcode's row."""
        # Read in the order of the text, which is that of the names that inline ones get.
        given = {key: self._computations(text, at) for key, text, at in calls}
        found: list[Computation] = []
        missing: list[str] = []
        for key in row.called:
            found += given.get(key.rstrip("*"), ())
            if key.rstrip("*") not in given:
                missing.append(key.rstrip("*"))
        if missing and not self._may_miss(row, operands, given):
            raise HloError("HLO005", f"{row.name} needs the attribute `{missing[0]}`", span)
        return tuple(found)

    @staticmethod
    def _may_miss(row: Opcode, operands: tuple[Instruction, ...], given: dict[str, Any]) -> bool:
        """Whether keys may be absent: where the row lists alternatives, one of them will do."""
        if row.attrs is CustomCall:
            return True
        if row.name == "conditional":
            return "branch_computations" in given or len(given) == 2
        return False

    def on_thread(self, computation: Computation, thread: str) -> Computation:
        """A computation, and all that it calls, on the thread that an async-start names."""
        if computation.execution_thread == thread:
            return computation
        body: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            called = tuple(self.on_thread(c, thread) for c in instr.called)
            operands = tuple(body[o] for o in instr.operands)
            control = tuple(body[c] for c in instr.control_predecessors)
            same = (called, operands, control) == (
                instr.called,
                instr.operands,
                instr.control_predecessors,
            )
            body[instr] = instr if same else instr.with_(
                called=called, operands=operands, control_predecessors=control
            )
        moved = replace(
            computation,
            instructions=tuple(body.values()),
            root=body[computation.root],
            execution_thread=thread,
        )
        for name, known in self.module.computations.items():
            if known is computation:
                self.module.computations[name] = moved
        return moved

    def _computations(self, text: str, at: int) -> list[Computation]:
        """The computations of `%a`, `{%a, %b}`, `{ ... ROOT ... }` or `{ { ... }, { ... } }`."""
        if not text.startswith("{"):
            return [self._computation(text, at)]
        if _INSTRUCTION.search(text, 0, text.find("(")):
            head = text[1:].lstrip()
            if not head.startswith("{"):
                return [self.module.inline(at, at + len(text))]
        pieces = self.scanner.pieces(at + 1, at + len(text) - 1)
        return [self._computation(self.scanner.text[a:b], a) for a, b in pieces]

    def _computation(self, text: str, at: int) -> Computation:
        if text.startswith("{"):
            return self.module.inline(at, at + len(text))
        name = text.lstrip("%")
        found = self.module.computations.get(name)
        if found is None:
            notes = did_you_mean(name, self.module.computations)
            message = f"there is no computation `{name[:60]}` before this one"
            raise HloError("HLO010", message, self.span(at, at + len(text)), notes)
        return found

    # ---- the whole

    def finish(
        self,
        name: str,
        span: Span,
        thread: str,
        signature: Tree[Token] | None,
        *,
        reserved: bool = False,
    ) -> Computation:
        """The computation, its names made unique in the module as XLA does."""
        if not self.instructions:
            raise HloError("HLO004", f"computation {name} has no instructions", span)
        root = self.root or self.instructions[-1]
        self._check_parameters(span)
        if signature is not None:
            self._check_signature(signature, root)
        supply = self.module.instruction_names
        renamed: dict[Instruction, Instruction] = {}
        for instr in self.instructions:
            unique = supply.unique(instr.name)
            operands = instr.operands
            control = instr.control_predecessors
            if renamed and (operands or control):
                operands = tuple([renamed.get(o, o) for o in operands])
                control = tuple([renamed.get(c, c) for c in control])
            changed = operands != instr.operands or control != instr.control_predecessors
            if unique != instr.name or changed:
                renamed[instr] = instr.with_(
                    name=unique, operands=operands, control_predecessors=control
                )
        body = (
            tuple([renamed.get(i, i) for i in self.instructions])
            if renamed
            else tuple(self.instructions)
        )
        unique_name = name if reserved else self.module.computation_names.unique(name)
        return Computation(unique_name, body, renamed.get(root, root), thread, span)

    def _check_parameters(self, span: Span) -> None:
        numbers = {}
        for instr in self.instructions:
            if instr.opcode == "parameter":
                number = instr.attrs.number  # type: ignore[attr-defined]
                if number in numbers:
                    raise HloError("HLO004", f"parameter {number} is defined twice", instr.span)
                numbers[number] = instr
        for number in range(len(numbers)):
            if number not in numbers:
                where = next(iter(numbers.values())).span or span
                message = f"there are {len(numbers)} parameters but no parameter({number})"
                raise HloError("HLO004", message, where)

    def _check_signature(self, signature: Tree[Token], root: Instruction) -> None:
        result: Any = signature.children[2]
        start, end = result.start_pos, result.end_pos
        declared = read_shape(str(result), self.span(start, end))
        if not declared.compatible(root.shape):
            message = f"the root is {root.shape}, but the computation says {declared}"
            raise HloError("HLO004", message, self.span(start, end))


def _wrong_arity(row: Opcode, operands: tuple[Instruction, ...], span: Span) -> HloError:
    return HloError("HLO008", f"{row.name} takes {row.arity} operands, not {len(operands)}", span)


# How numbers of a kind are compared unless the text says otherwise.
_COMPARE_TYPE = {"signed": "SIGNED", "unsigned": "UNSIGNED", "pred": "UNSIGNED"}
# Opcodes of which XLA works out more than the text says.
_COMPLETED = {"constant", "outfeed", "send", "send-done", "recv", "recv-done"}


def _canonical(instr: Instruction) -> Instruction:
    """The instruction with what XLA works out by itself, whatever the text says."""
    sharding = instr.annotations.sharding
    if sharding is not None and instr.shape.is_tuple and sharding.kind != "tuple":
        elements = tuple(sharding for _ in instr.shape.leaves())
        spread = replace(instr.annotations, sharding=Sharding("tuple", elements=elements))
        instr = instr.with_(annotations=spread)
    if instr.opcode == "compare":
        attrs = cast("Compare", instr.attrs)
        usual = _COMPARE_TYPE.get(instr.operands[0].shape.element_type.kind, "FLOAT")
        return instr.with_(attrs=replace(attrs, type="")) if attrs.type == usual else instr
    if instr.opcode not in _COMPLETED:
        return instr
    layout = instr.shape.layout
    if instr.opcode == "constant" and layout is not None and layout.element_bits:
        return instr.with_(shape=instr.shape.with_layout(replace(layout, element_bits=0)))
    if instr.opcode == "outfeed":
        attrs: Any = instr.attrs
        if attrs.outfeed_shape is None:
            attrs = replace(attrs, outfeed_shape=instr.operands[0].shape)
        return instr.with_(attrs=attrs, shape=TOKEN_SHAPE)
    if instr.opcode == "send-done":
        return instr.with_(shape=TOKEN_SHAPE)
    if instr.opcode == "send":
        return instr.with_(shape=tuple_of(instr.operands[0].shape, array(U32), TOKEN_SHAPE))
    if instr.opcode == "recv" and instr.shape.elements:
        return instr.with_(shape=tuple_of(instr.shape.elements[0], array(U32), TOKEN_SHAPE))
    if instr.opcode == "recv-done" and instr.operands[0].shape.elements:
        return instr.with_(shape=tuple_of(instr.operands[0].shape.elements[0], TOKEN_SHAPE))
    return instr


# Opcodes whose shape no operand tells.
_SHAPE_IS_INPUT = {
    "convert",
    "bitcast-convert",
    "bitcast",
    "reshape",
    "dynamic-reshape",
    "broadcast",
    "rng",
    "rng-bit-generator",
    "custom-call",
    "infeed",
    "recv",
    "stochastic-convert",
    "async-start",
    "all-to-all",
}
