"""Guards: conditions on the bindings of the variables of a rule's left side.

    Rule(add(x, c), ..., where=is_finite(c) & ~has_one_use(x))

`guard` makes a guard of a function of bindings; `optimizer.rewriting.guards` has those that many
rules use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optimizer.rewriting.application import AttributeVariable, Rest
from optimizer.rewriting.term import Bindings, ConstantVariable, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hlo.instruction import Instruction
    from hlo.names import NameSupply

# A tuple, since `isinstance` makes a union anew for each call, and guards call it often.
VARIABLES = (Variable, ConstantVariable, AttributeVariable, Rest)


# Made for every rule that fits; frozen, it would take three times as long.
@dataclass(slots=True)
class Match:
    """An instruction that the left side of a rule fits.

    Attributes
    ----------
    bindings : the bindings of variables, by name.
    uses : how many instructions use each instruction; being the root counts as a use.
    one_use_answers : the answers of `has_one_use`, by the instruction's name: a match depends on
        them, and they may change while the part of the graph that it looks at stays the same.
    names : a supply of names, for computations that a right side makes.
    memo : a table in which right sides keep what they found, as long as one walk.
    """

    root: Instruction
    bindings: Bindings
    uses: Mapping[Instruction, int]
    one_use_answers: dict[str, bool]
    names: NameSupply | None = None
    memo: dict[str, Any] | None = None

    def __getitem__(self, variable: Any) -> Any:
        """The instruction for which a variable stands; anything else stands for itself."""
        if isinstance(variable, VARIABLES):
            return self.root if variable.name == "root" else self.bindings[variable.name]
        return variable

    def has_one_use(self, instr: Instruction) -> bool:
        """Whether just one instruction uses another."""
        once = self.one_use_answers[instr.name] = self.uses.get(instr, 1) == 1
        return once


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on the bindings of a rule's variables; `&`, `|` and `~` combine conditions.

    Attributes
    ----------
    holds : whether the condition holds of a match.
    far : whether it looks beyond the operands of the instructions that variables are bound to.
    name : of the function that decides; "and", "or" or "not" where parts are combined.
    given : the variables whose bindings are the function's arguments.
    parts : the conditions that are combined.
    function : that decides, to be shown to a reader; None where parts are combined.
    """

    text: str
    holds: Callable[[Match], bool]
    far: bool = False
    name: str = ""
    variables: tuple[Any, ...] = ()
    parts: tuple[Guard, ...] = ()
    function: Callable[..., bool] | None = None

    def __and__(self, other: Guard) -> Guard:
        """Both."""
        text, parts = f"{self} and {other}", (self, other)
        return self._combined(text, lambda m: self.holds(m) and other.holds(m), "and", parts)

    def __or__(self, other: Guard) -> Guard:
        """Either."""
        text, parts = f"({self} or {other})", (self, other)
        return self._combined(text, lambda m: self.holds(m) or other.holds(m), "or", parts)

    def __invert__(self) -> Guard:
        """Not."""
        return self._combined(f"not {self}", lambda m: not self.holds(m), "not", (self,))

    @staticmethod
    def _combined(
        text: str, holds: Callable[[Match], bool], name: str, parts: tuple[Guard, ...]
    ) -> Guard:
        far = any(part.far for part in parts)
        return Guard(text, holds, far, name, parts=parts)

    def __str__(self) -> str:
        """As it is written."""
        return self.text


def guard(function: Callable[..., bool], *, far: bool = False) -> Callable[..., Guard]:
    """Turn a function of bindings into one of variables, which makes a guard.

    Parameters
    ----------
    far : as in `Guard`.
    """
    name = function.__name__

    def make_guard(*variables: Any) -> Guard:
        text = f"{name}({', '.join(map(str, variables))})"
        return Guard(
            text,
            lambda match: function(*[match[v] for v in variables]),
            far,
            name,
            variables,
            function=function,
        )

    make_guard.__doc__ = function.__doc__
    return make_guard
