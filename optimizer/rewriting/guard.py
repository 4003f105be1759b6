"""Guards: conditions on what the variables of a rule's left side stand for.

    Rule(add(x, c), ..., where=is_finite(c) & ~has_one_use(x))

`guard` makes one of a function of what variables stand for; `optimizer.rewriting.guards` has those
that many rules use.
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

# A tuple, since guards ask often, and a union would be made anew each time.
VARIABLES = (Variable, ConstantVariable, AttributeVariable, Rest)


# Made for every rule that fits; frozen, it would take three times as long.
@dataclass(slots=True)
class Match:
    """A place where the left side of a rule fits.

    Attributes
    ----------
    found : what the variables stand for, by name.
    uses : how many instructions use each instruction; being the root counts as a use.
    asked : of which instructions, by name, it was asked whether they have one use, with the answer:
        all that a match depends on and that may change while what it looks at stays.
    names : for computations that a right side makes.
    """

    root: Instruction
    found: Bindings
    uses: Mapping[Instruction, int]
    asked: dict[str, bool]
    names: NameSupply | None = None

    def __getitem__(self, variable: Any) -> Any:
        """The instruction for which a variable stands; anything else stands for itself."""
        if isinstance(variable, VARIABLES):
            return self.root if variable.name == "root" else self.found[variable.name]
        return variable

    def has_one_use(self, instr: Instruction) -> bool:
        """Whether just one instruction uses another."""
        once = self.asked[instr.name] = self.uses.get(instr, 1) == 1
        return once


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on the bindings of a rule's variables; `&`, `|` and `~` combine conditions.

    Attributes
    ----------
    far : whether it looks further than at the operands of what variables stand for.
    name : of the function that decides; "and", "or" or "not" of the parts; "" for neither.
    given : what the function is called on.
    parts : the conditions that are combined.
    function : that decides, for who wants to read it; None where parts are combined.
    """

    text: str
    holds: Callable[[Match], bool]
    far: bool = False
    name: str = ""
    given: tuple[Any, ...] = ()
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
