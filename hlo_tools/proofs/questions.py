"""Asks the solver whether two elements are equal, for all values of their common operands.

What two elements have in common is unknown to the solver, and so is what lies too deep: if they are
equal then, they are equal for all arguments. A difference that it finds may be of operands that no
argument makes, so it refutes nothing. Equal questions are asked once, whichever elements they are
about.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import hlo_tools.proofs.bits_and_sizes  # pyright: ignore[reportUnusedImport]  # noqa: F401  it fills the table
from hlo.opcode import ELEMENTWISE
from hlo_tools.proofs.arrays import translates
from hlo_tools.proofs.conversions import converted
from hlo_tools.proofs.decide import SolverAnswer, decide, difference_at, in_model
from hlo_tools.proofs.meanings import UntranslatedError, choose, meaning, number, symbol
from hlo_tools.proofs.numbering import scalar_operation
from hlo_tools.proofs.solver import Solved, z3
from hlo_tools.proofs.term_arrays import clamped_cases
from interpreter.numbers.compare import BITS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from hlo.types.element_type import ElementType
    from hlo_tools.proofs.elements import Ids, Made, NumberedElements
    from interpreter.numbers.compare import Promise

# Opcodes of which an element is a function of elements.
KNOWN = ELEMENTWISE | {"bitcast-convert"}
# So many elements of a fold or a contraction are spelled out.
MOST_FOLDED = 16
# So many questions are asked about one rewrite, and so deep are equal operations followed.
MOST_QUESTIONS, MOST_DEPTH = 40, 40


@dataclass
class Questions:
    """Questions about pairs of elements.

    Attributes
    ----------
    steps : of the solver, for each question.
    terms : of which a side consists at most; the rest is unknown.
    pairs : of elements that are looked at, for one rewrite.
    answers, pairs_known : to the questions so far, and about pairs: why they are not proved, or
        nothing.
    left : how many questions may still be asked about a rewrite.
    """

    elements: NumberedElements
    steps: int
    terms: int
    pairs: int
    answers: dict[Any, str] = field(default_factory=dict[Any, str])
    pairs_known: dict[Any, str] = field(default_factory=dict[Any, str])
    left: int = 0

    def ask(self, some: Ids, others: Ids, promise: Promise) -> str:
        """The reason why elements are not proved to equal others; nothing if they are."""
        differ = np.unique(np.stack([some, others], axis=1)[some != others], axis=0)
        if len(differ) > self.pairs:
            return f"more than {self.pairs:,} elements differ"
        self.left = MOST_QUESTIONS
        for one, other in differ.tolist():
            why = self.compare(one, other, promise, 0)
            if why:
                return why
        return ""

    def compare(self, one: int, other: int, promise: Promise, depth: int) -> str:
        """The reason why one element is not proved to be equal to another.

        They are if the same operation makes them of operands that are equal; else it is asked.
        """
        leader = self.elements.leader
        if leader[one] == leader[other]:
            return ""
        pair = (one, other, promise)
        if pair not in self.pairs_known:
            alike = promise == BITS and depth < MOST_DEPTH and self.made_alike(one, other, depth)
            self.pairs_known[pair] = "" if alike else self.ask_pair(one, other, promise)
            if not self.pairs_known[pair] and promise == BITS:
                self.elements.unite(np.array([one]), np.array([other]))
        return self.pairs_known[pair]

    def made_alike(self, one: int, other: int, depth: int) -> bool:
        """Whether the same operation makes two elements of operands that are equal."""
        (operation, some), (again, others) = map(self.elements.definition, (one, other))
        if operation is not again or operation.key[0] in ("constant", "unknown", "whole"):
            return False
        pairs = zip(some, others, strict=True)
        return len(some) == len(others) and not any(
            self.compare(x, y, BITS, depth + 1) for x, y in pairs
        )

    def ask_pair(self, one: int, other: int, promise: Promise) -> str:
        """The reason why the solver does not prove that one element is equal to another."""
        if any(self.elements.definition(x)[0].element_type is None for x in (one, other)):
            return "what is added up differs"
        cones = [self.cone(x) for x in (one, other)]
        common = cones[0].keys() & cones[1].keys()
        why = ""
        for cut in (common, set[int]()):
            pattern = self.pattern((one, other), [cone.keys() for cone in cones], cut)
            asked = (pattern, promise)
            if asked not in self.answers:
                self.left -= 1
                if self.left < 0:
                    return f"{MOST_QUESTIONS} questions do not suffice"
                inside = cones[0].keys() | cones[1].keys()
                self.answers[asked] = self.answer(one, other, promise, inside, cut)
            why = self.answers[asked]
            if not why:
                break
        return why

    def answer(
        self, one: int, other: int, promise: Promise, inside: Container[int], cut: Container[int]
    ) -> str:
        """A reason of the solver why two elements may differ; nothing if they are equal."""
        known: dict[int, Solved] = {}
        try:
            terms = [self.term(element, inside, cut, known) for element in (one, other)]
            different = difference_at(promise)(*terms)
        except UntranslatedError as error:
            return str(error)
        solved = decide([different], z3.BoolVal(True), self.steps)
        if solved.model is not None:
            return self.too_little_known(one, other)
        return solved.reason if not solved.proved else ""

    def too_little_known(self, one: int, other: int) -> str:
        """The reason why the solver may find a difference where there is none."""
        sides = [{e for e in self.cone(top) if self.is_whole(e)} for top in (one, other)]
        names = {str(self.elements.definition(e)[0].key[1]) for e in sides[0] ^ sides[1]}
        if names:
            return f"too little is known of {' and '.join(sorted(names))}"
        return "they differ for some operands, if these may be anything"

    def is_whole(self, element: int) -> bool:
        """Whether an element is a part of a value that is known as a whole."""
        return self.elements.definition(element)[0].key[0] == "whole"

    def cone(self, top: int) -> dict[int, None]:
        """The elements of which one is made, nearest first, as many as there may be."""
        cone = {top: None}
        for element in found_in_turn(cone):
            for operand in self.operands(element):
                if len(cone) < self.terms:
                    cone.setdefault(operand)
        return cone

    def operands(self, element: int) -> tuple[int, ...]:
        """The elements of which one is made, as far as the solver understands how."""
        operation, operands = self.elements.definition(element)
        key = operation.key[0]
        if key == "dot":
            rows = [self.elements.definition(operand)[1] for operand in operands]
            operands = (*rows[0], *rows[1])
        elif key not in KNOWN | {"one of"} and not (key == "reduce" and folds(operation)):
            return ()
        few = key in KNOWN or len(operands) <= MOST_FOLDED
        return tuple(self.elements.leader[list(operands)].tolist()) if few else ()

    def pattern(
        self, tops: tuple[int, ...], inside: list[Any], cut: Container[int]
    ) -> tuple[Any, ...]:
        """The content of a question, but for the names of unknown elements."""
        names: dict[int, int] = {}
        lines: list[Any] = []
        for element, operation, operands in self.below(tops, inside[0] | inside[1], cut, names):
            if self.elements.is_constant[element]:
                lines.append((operation.key, int(self.elements.first[element])))
            elif operands:
                lines.append((operation.key, tuple(names[o] for o in operands)))
            else:
                lines.append(operation.element_type)
            names[element] = len(names)
        return (tuple(lines), tuple(names[top] for top in tops))

    def term(
        self, top: int, inside: Container[int], cut: Container[int], known: dict[int, Solved]
    ) -> Solved:
        """An element as a term of those that are cut."""
        for element, operation, operands in self.below((top,), inside, cut, known):
            element_type = operation.element_type
            if element_type is None:
                raise UntranslatedError("a value that is no number")
            if self.elements.is_constant[element]:
                value = self.elements.values(np.array([element]), element_type)[0]
                known[element] = number(value, element_type)
            elif operands:
                known[element] = applied(operation, [known[o] for o in operands])
            else:
                known[element] = symbol(f"element {element}", element_type)
        return known[top]

    def below(
        self,
        tops: tuple[int, ...],
        inside: Container[int],
        cut: Container[int],
        done: Container[int],
    ) -> Iterator[tuple[int, Made, tuple[int, ...]]]:
        """The elements of which some are made, operands first; none of an element that is unknown.

        Parameters
        ----------
        inside, cut : the elements that are looked into, and those that are not.
        done : holds each element once the caller has gone on.
        """
        stack = list(reversed(tops))
        while stack:
            element = stack[-1]
            if element in done:
                stack.pop()
                continue
            operands = self.operands(element) if element not in cut and element in inside else ()
            if not all(o in inside for o in operands):
                operands = ()
            pending = [o for o in operands if o not in done]
            if pending:
                stack += reversed(pending)
                continue
            stack.pop()
            yield element, self.elements.definition(element)[0], operands

    def arguments(self, one: int, other: int, promise: Promise) -> dict[int, Any] | None:
        """Values of unknown elements for which two elements differ, if the solver finds some."""
        known: dict[int, Solved] = {}
        cones = [self.cone(element) for element in (one, other)]
        inside = cones[0].keys() | cones[1].keys()
        try:
            terms = [self.term(element, inside, (), known) for element in (one, other)]
            different = difference_at(promise)(*terms)
        except UntranslatedError:
            return None
        solved: SolverAnswer = decide([different], z3.BoolVal(True), self.steps)
        if solved.model is None:
            return None
        values: dict[int, Any] = {}
        for element, term in known.items():
            operation, _ = self.elements.definition(element)
            if operation.key[:2] == ("unknown", "argument"):
                values[element] = in_model(solved.model, term, cast("Any", operation.element_type))
        return values


def found_in_turn(elements: dict[int, None]) -> Any:
    """The keys of a table that grows while one looks at them."""
    at = 0
    while at < len(elements):
        rows = list(elements)[at:]
        yield from rows
        at += len(rows)


def folds(operation: Made) -> bool:
    """Whether a fold is one of a single array by one known operation."""
    _, body, count, *_ = operation.key
    return count == 1 and isinstance(body, tuple) and isinstance(body[0], str)


def applied(operation: Made, operands: list[Solved]) -> Solved:
    """The term of an operation on its operands' terms."""
    opcode = cast("str", operation.key[0])
    element_type = cast("Any", operation.element_type)
    if opcode in ("reduce", "dot"):
        named = cast("Any", operation.key[1])[0] if opcode == "reduce" else "add"
        combine = meaning(named, element_type)
        multiply = meaning("multiply", element_type)
        if combine is None or multiply is None:
            raise UntranslatedError(f"the solver has no terms for {opcode} of {element_type}")
        if opcode == "dot":
            types = cast("Any", operation.key[1:3])
            if element_type.is_floating and set(types) != {element_type}:
                raise UntranslatedError("a dot of other floats than its operands")
            half = len(operands) // 2
            sides = operands[:half], operands[half:]
            x, y = (
                [converted(operand, t, element_type) for operand in side]
                for side, t in zip(sides, types, strict=True)
            )
            operands = [number(0, element_type), *map(multiply, x, y)]
        total, *rest = operands
        for item in rest:
            total = combine(total, item)
        return total
    if opcode == "one of":
        return one_of(cast("Any", operation.key[1]), operands)
    _, attrs, *types, result = cast("Any", operation.key)
    step = scalar_operation(opcode, attrs, types, result)
    boxed: list[Any] = []
    for operand in operands:
        box = np.empty((), object)
        box[()] = operand
        boxed.append(box)
    function = translates.get(opcode)
    if function is None:
        raise UntranslatedError(f"the solver has no terms for {opcode}")
    return function(step, attrs, *boxed)[()]


def one_of(starts: Sequence[tuple[int, ElementType]], operands: Sequence[Solved]) -> Solved:
    """The element at a place, of the elements at all places.

    Parameters
    ----------
    starts : the highest of each start of the place, and its type.
    operands : the starts, and then the elements in the order of places.
    """
    if not starts:
        return operands[0]
    (limit, element_type), *rest = starts
    start, others, elements = operands[0], operands[1 : len(starts)], operands[len(starts) :]
    count = len(elements) // (limit + 1)
    chosen: Solved = None
    for value, condition in clamped_cases(start, limit, element_type.kind == "signed"):
        part = one_of(rest, [*others, *elements[value * count : (value + 1) * count]])
        chosen = part if chosen is None else choose(condition, part, chosen)
    return chosen
