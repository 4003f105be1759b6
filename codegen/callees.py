"""The functions that expressions apply, as rows: what each computes, and for which type.

    Apply(FUNCTIONS["exp", F32], (x,))      Apply(BUILTINS["sqrt", F64], (x,))

Passes ask for the row's stem and type, and never look into its name. There is one row a function,
made when it is asked for first, so that rows are compared by identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from codegen.prelude import SHARED

if TYPE_CHECKING:
    from codegen.kinds import Kind
    from codegen.prelude.paragraph import Prototype
    from hlo.types.element_type import ElementType

    # What a function computes; and for which type, if it is one of several.
    Key = str | tuple[str, ElementType]


class Named(Protocol):
    """A function as data, which knows its name in C.

    It is a `Callee`, one that an emitter writes, or the `Name` of one in the same file.
    """

    @property
    def name(self) -> str:
        """The name in C."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Callee:
    """A function that an expression applies: of a prelude, a compiler, or another library.

    One that is emitted is a `codegen.functions.Function`.

    Attributes
    ----------
    stem : what it computes: "exp".
    type : the element type for which it does; None if there is one function of the stem.
    name : C's name for it: "exp_f32".
    builtin : the name by which the compiler knows it, without C's `__builtin_`; empty for others.
    """

    stem: str
    type: ElementType | None
    name: str
    builtin: str = ""

    def __repr__(self) -> str:
        """The expression that gives the row: `FUNCTIONS['exp', f32]`."""
        key = repr(self.stem) if self.type is None else f"{self.stem!r}, {self.type}"
        return f"{'BUILTINS' if self.builtin else 'FUNCTIONS'}[{key}]"

    def of(self, element_type: ElementType) -> Callee:
        """The row of the same stem for another type."""
        return (BUILTINS if self.builtin else FUNCTIONS)[self.stem, element_type]

    @property
    def parameters(self) -> tuple[Kind, ...]:
        """The types of the parameters, of a function in the prelude that all emitters share.

        Raises
        ------
        LookupError
            if the function is a compiler's, another library's, or one emitter's own.
        """
        return self._prototype.parameters

    @property
    def result(self) -> Kind:
        """The type of the value, of a function in the prelude that all emitters share.

        Raises
        ------
        LookupError
            as of `parameters`.
        """
        return self._prototype.result

    @property
    def _prototype(self) -> Prototype:
        prototype = SHARED.prototype(self.name)
        if prototype is None:
            raise LookupError(f"the prelude does not define {self.name}")
        return prototype


class _Functions(dict["Key", Callee]):
    """Rows by stem and type; a missing one is made."""

    def __missing__(self, key: Key) -> Callee:
        stem, element_type = (key, None) if isinstance(key, str) else key
        function = self[key] = self._row(stem, element_type)
        return function

    def _row(self, stem: str, element_type: ElementType | None) -> Callee:
        name = stem if element_type is None else f"{stem}_{element_type}"
        return Callee(stem, element_type, name)


class _Builtins(_Functions):
    """The functions that compilers know: those of C's mathematics, and some more."""

    def _row(self, stem: str, element_type: ElementType | None) -> Callee:
        if element_type is None:
            return Callee(stem, None, f"__builtin_{stem}", stem)
        suffix = "f" if element_type.real.name == "f32" else ""
        builtin = f"{'c' if element_type.is_complex else ''}{stem}{suffix}"
        return Callee(stem, element_type, f"__builtin_{builtin}", builtin)


FUNCTIONS = _Functions()
BUILTINS = _Builtins()
