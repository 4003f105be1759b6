"""Rewrite rules: what is replaced, by what, when, and how exactly the value is kept.

Both sides are data where that is possible, so that a rule can be listed, printed, drawn and tested
without anybody writing a test for it:

    Rule(divide(x, c), multiply(x, 1 / c), promise=BITS, where=reciprocal_is_exact(c))

Where the right side needs code, the rule is a decorated function of the left side's variables:

    @rule(transpose(transpose(x, p), q), promise=BITS)
    def transpose_of_transpose(x, p, q):
        return transpose(x, compose(q, p))

It returns the replacement, or None where the rule does not apply after all; `root` among its
parameters is the whole matched instruction, `names` gives names to computations that it makes, and
`memo` is a table that lasts as long as one walk.
How to add a rule: see `optimizer.rules`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from inspect import Parameter, signature
from math import inf
from typing import TYPE_CHECKING, Any, cast

from hlo.instruction import Instruction
from hlo.names import NameSupply
from hlo.notebook import shown_in_notebooks
from interpreter.numbers.compare import BITS, PROMISES, Promise
from optimizer.log import SourceLine, location_of
from optimizer.rewriting.application import Application, Rest, orders
from optimizer.rewriting.guard import Match
from optimizer.rewriting.make import fold, make, splat
from optimizer.rewriting.term import (
    CONSTANT_OPCODES,
    Bindings,
    ConstantVariable,
    Exactly,
    Folded,
    Term,
    Variable,
    term,
)

if TYPE_CHECKING:
    from hlo.instruction import Computation
    from hlo.types.shape import Shape
    from optimizer.rewriting.guard import Guard
    from optimizer.rewriting.make import Number

# Without an operand that is an instruction, a constructor cannot tell that one is meant.
HOW_TO_MAKE = (
    "`optimizer.rewriting.make` has `make`, `constant` and `splat` for what has no operands: "
    'make("iota", shape=root.shape, iota_dimension=0)'
)
RightSide = Callable[..., "Instruction | None"]


@shown_in_notebooks
@dataclass(frozen=True, eq=False)
class Rule:
    """One rewrite.

    Attributes
    ----------
    left : the pattern of the instructions to replace.
    right : the replacement, or a function that makes it.
    promise : how exactly floating-point values are kept. Integers and preds are kept always.
    where : a condition on the bindings of the pattern's variables.
    xla : the rule of XLA to which it corresponds: a function of AlgebraicSimplifier and, after a
        colon, the rule there; or the file of another pass. Where XLA has none, the compiler that
        has it; "" for none.
    name : the text of both sides unless given.
    witness : values of variables, as f32, for which the rule breaks the next stronger promise.
    doc : the docstring of the function on the right side.
    arguments : the parameters of that function.
    location : the line of the file in which the rule is written.
    """

    left: Application
    right: Term | Number | RightSide
    promise: Promise = BITS
    where: Guard | None = None
    xla: str = ""
    name: str = ""
    witness: Mapping[str, Any] = field(default_factory=dict[str, Any])
    doc: str = ""
    arguments: tuple[str, ...] = field(init=False)
    location: SourceLine = field(init=False)

    def __post_init__(self) -> None:
        """Work out the name, the function's parameters, and where this is written."""
        set_ = object.__setattr__
        right = self.right if callable(self.right) else term(self.right)
        set_(self, "right", right)
        set_(self, "arguments", () if isinstance(right, Term) else variables_of(right))
        set_(self, "name", self.name or f"{self.left} => {right}")
        set_(
            self, "location", location_of(right) if not isinstance(right, Term) else calling_line()
        )

    @cached_property
    def patterns(self) -> tuple[Application, ...]:
        """The left side with commutative operands in every order, made when it is first needed."""
        return tuple(cast("Iterator[Application]", orders(self.left)))

    @property
    def promise_name(self) -> str:
        """The promise as the table of promises spells it."""
        return next(name for name, promise in PROMISES.items() if promise == self.promise)

    @property
    def reach(self) -> float:
        """The number of levels of instructions that it looks at; the root is the first.

        Guards and right sides look at the operands of variables' bindings; few look further.
        """
        return inf if self.where is not None and self.where.far else self.left.depth + 1

    def replacement(self, match: Match) -> Instruction | None:
        """The replacement of a match; None where the rule does not apply after all.

        Raises
        ------
        TypeError
            if the right side returns a pattern.
        """
        if self.where is not None and not self.where.holds(match):
            return None
        if not callable(self.right):
            return instantiate(term(self.right), match, match.root.shape, is_root=True)
        bindings = {**match.bindings, "root": match.root}
        if "names" in self.arguments:
            bindings["names"] = match.names or NameSupply()
        if "memo" in self.arguments:
            bindings["memo"] = {} if match.memo is None else match.memo
        new = self.right(*[bindings[name] for name in self.arguments])
        if isinstance(new, Term):
            message = f"{self.name} returns the pattern `{new}`, not an instruction"
            raise TypeError(f"{message}; {HOW_TO_MAKE}")
        # A right side of somebody's own may return anything.
        if not isinstance(new, Instruction | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            type_name = type(new).__name__
            raise TypeError(f"{self.name} returns a value of type {type_name}, not an instruction")
        return new

    def rewritten(
        self, instr: Instruction, names: NameSupply
    ) -> tuple[Instruction | None, Bindings]:
        """The replacement of an instruction, or None, and the bindings of the variables.

        For rules that do not ask whether an instruction has one use.
        """
        for pattern in self.patterns:
            bindings: Bindings = {}
            if pattern.mismatch(instr, bindings) is None:
                new = self.replacement(Match(instr, bindings, {}, {}, names))
                if new is not None:
                    return new, bindings
        return None, {}

    def __str__(self) -> str:
        """Both sides and the condition."""
        right = f"{self.name}(...)" if callable(self.right) else self.right
        text = f"{self.left} => {right}"
        return f"{text} where {self.where}" if self.where else text


def rule(
    left: Application,
    *,
    promise: Promise = BITS,
    where: Guard | None = None,
    xla: str = "",
    witness: Mapping[str, Any] | None = None,
) -> Callable[[RightSide], Rule]:
    """Make a rule of a function that builds the right side from the left side's variables."""

    def decorate(function: RightSide) -> Rule:
        return Rule(
            left,
            function,
            promise=promise,
            where=where,
            xla=xla,
            name=function.__name__,
            witness=witness or {},
            doc=function.__doc__ or "",
        )

    return decorate


def variables_of(right: RightSide) -> tuple[str, ...]:
    """The parameters of a right side that are not options, which are taken by name alone."""
    parameters = signature(right).parameters.values()
    return tuple(p.name for p in parameters if p.kind is not Parameter.KEYWORD_ONLY)


def calling_line() -> SourceLine:
    """The line that makes a rule: the innermost one that is neither here nor in generated code."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename in (__file__, "<string>"):
        frame = frame.f_back
    return SourceLine(frame.f_code.co_filename, frame.f_lineno) if frame else SourceLine("", 0)


def instantiate(side: Term, match: Match, like: Shape, *, is_root: bool = False) -> Instruction:
    """Make the instructions of a right side.

    Parameters
    ----------
    like : the shape of numbers and folded constants.
    is_root : whether the term is the whole right side, whose shape is that of what it replaces.
    """
    if isinstance(side, Variable | ConstantVariable):
        return match[side]
    if isinstance(side, Exactly):
        return splat(side.value, like)
    if isinstance(side, Folded):
        return fold(side.opcode, like, *[instantiate(o, match, like) for o in side.operands])
    application = cast("Application", side)
    operands = _operands(application, match, like)
    attrs = {name: match[value] for name, value in application.attributes}
    called = [match[value] for _, value in sorted(application.called, key=lambda pair: pair[0])]
    shape = match[application.shape].shape if application.shape else None
    return make(
        application.opcodes[0],
        *operands,
        shape=like if is_root else shape,
        called=called,
        **attrs,
    )


def _operands(application: Application, match: Match, like: Shape) -> list[Instruction]:
    """The operands of a new instruction; numbers get their shape from the operands beside them."""
    opcode = application.opcodes[0]
    operands: list[Any] = []
    for operand in application.operands:
        if isinstance(operand, Rest):
            operands += match[operand]
        elif isinstance(operand, Exactly | Folded):
            operands.append(operand)
        else:
            operands.append(instantiate(operand, match, like))
    # The predicate of a select has a shape of its own.
    values = operands[1:] if opcode == "select" else operands
    shape = next((o.shape for o in values if not isinstance(o, Term)), like)
    return [instantiate(o, match, shape) if isinstance(o, Term) else o for o in operands]


class RuleSet:
    """Rules in the order in which they are tried, found by opcodes."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        names = [rule.name for rule in self.rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two rules are called {twice}")
        self._rooted: dict[str, list[Rule]] = {}
        for member in self.rules:
            for opcode in member.left.opcodes:
                self._rooted.setdefault(opcode, []).append(member)
        self.roots = frozenset(self._rooted)
        # The same opcodes over the same opcodes are looked up again and again.
        self.candidates = lru_cache(maxsize=None)(self._candidates)
        self.reach = lru_cache(maxsize=None)(self._reach)

    def __iter__(self) -> Iterator[Rule]:
        """The rules."""
        return iter(self.rules)

    def _candidates(self, opcode: str, *operands: str) -> list[tuple[Rule, Application]]:
        return [
            (rule, pattern)
            for rule in self._rooted.get(opcode, ())
            for pattern in rule.patterns
            if _may_match(pattern, operands)
        ]

    def _reach(self, opcode: str, *operands: str) -> float:
        """The number of levels below an instruction of an opcode that rules see.

        Itself is the first.
        """
        return max((rule.reach for rule, _ in self.candidates(opcode, *operands)), default=0)

    def may_fit(self, computation: Computation) -> bool:
        """Whether any rule may fit an instruction of a computation, by opcodes alone."""
        if self.roots.isdisjoint(computation.opcodes):
            return False
        return any(
            self.candidates(i.opcode, *[o.opcode for o in i.operands])
            for i in computation.instructions
            if i.opcode in self.roots
        )

    def matches(
        self,
        instr: Instruction,
        uses: Mapping[Instruction, int],
        one_use_answers: dict[str, bool] | None = None,
        names: NameSupply | None = None,
        memo: dict[str, Any] | None = None,
    ) -> Iterator[tuple[Rule, Match, Application]]:
        """Every rule whose left side fits an instruction, in order; guards may still refuse.

        Parameters
        ----------
        uses, one_use_answers, names, memo : as in `Match`.
        """
        answers = {} if one_use_answers is None else one_use_answers
        opcodes = [operand.opcode for operand in instr.operands]
        for candidate, pattern in self.candidates(instr.opcode, *opcodes):
            bindings: Bindings = {}
            if pattern.mismatch(instr, bindings) is None:
                yield candidate, Match(instr, bindings, uses, answers, names, memo), pattern


def _may_match(pattern: Application, opcodes: tuple[str, ...]) -> bool:
    """Whether operands of these opcodes can fit a pattern's operands."""
    sides = pattern.operands
    if pattern.rest:
        sides += sides[-1:] * (len(opcodes) - len(sides))
    elif len(opcodes) != len(sides):
        return False
    return all(map(_may_be, sides, opcodes))


def _may_be(side: Term, opcode: str) -> bool:
    if isinstance(side, Application):
        return opcode in side.opcodes
    if isinstance(side, Rest):
        return side.opcode in ("", opcode)
    return opcode in CONSTANT_OPCODES or not isinstance(side, ConstantVariable | Exactly)


def explain(pattern: Application, instr: Instruction) -> str:
    """The reason why a pattern does not match an instruction; "it matches" if it does.

    Of the orders of commutative operands, the one that comes furthest gives the reason.

    >>> from optimizer.rewriting.pattern import add, x
    >>> from optimizer.rewriting.make import constant, make
    >>> import numpy as np
    >>> one = constant(np.float32(1))
    >>> explain(add(x, 0), make("add", one, one))
    '%constant, a constant, is not 0 everywhere'
    """
    reasons: list[tuple[int, str]] = []
    for order in orders(pattern):
        bindings: Bindings = {}
        failed = order.mismatch(instr, bindings)
        if failed is None:
            return "it matches"
        side, met = failed
        reasons.append((len(bindings), side.reason(met, bindings)))
    return max(reasons, key=lambda reason: reason[0])[1]


def why_not(rule: Rule, instr: Instruction, uses: Mapping[Instruction, int]) -> str:
    """The reason why a rule does not rewrite an instruction; "it applies" if it does."""
    reason = explain(rule.left, instr)
    for _, match, _ in RuleSet([rule]).matches(instr, uses):
        if rule.where is not None and not rule.where.holds(match):
            reason = f"it matches, but not: {rule.where}"
        elif rule.replacement(match) is None:
            reason = f"it matches, but {rule.name} declines"
        else:
            return "it applies"
    return reason


def touches_floats(pattern: Term, instr: Instruction) -> bool:
    """Whether any instruction that a pattern looks at computes with floating-point numbers."""
    if any(leaf.element_type.kind in ("float", "complex") for _, leaf in instr.shape.leaves()):
        return True
    if not isinstance(pattern, Application):
        return False
    # A pattern of all operands that are left looks at each of them.
    left = len(instr.operands) - len(pattern.operands)
    inner = [*pattern.operands, *pattern.operands[-1:] * left]
    return any(map(touches_floats, inner, instr.operands))
