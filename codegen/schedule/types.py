"""The types of the names in a kernel, in one table."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from codegen.kinds import base_of, element_of, number_of
from codegen.statements import For, Let, LocalVariable, nested
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codegen.elements.kernel import Argument
    from codegen.kinds import Kind
    from codegen.statements import Statement
    from hlo.types.element_type import ElementType


class KernelTypes:
    """The type of each name in a kernel. A name has one type, wherever it is declared.

    Parameters
    ----------
    arguments : the types of the kernel's arguments, by their names.
    statements : of the kernel; those that are changed later declare other names.
    """

    def __init__(self, arguments: Mapping[str, Kind], statements: Sequence[Statement] = ()) -> None:
        self.arguments = arguments
        self._statements = statements

    @classmethod
    def of_kernel(
        cls, arguments: Iterable[Argument], statements: Sequence[Statement]
    ) -> KernelTypes:
        """The types of the names in a kernel that has such arguments and statements."""
        return cls({argument.name: argument.kind for argument in arguments}, statements)

    def of(self, name: str) -> Kind:
        """The type of a variable or an argument, of an array that of its elements.

        Empty for a name that is not in the kernel, as that of a constant of the file.
        """
        kind = self.arguments.get(name)
        known = self._declared.get(name)
        return element_of(kind or (known.kind if known else ""))

    def element_type(self, name: str) -> ElementType | None:
        """The element type of a number, or of those in an array; None for other types."""
        return ELEMENT_TYPES.get(base_of(self.of(name)))

    def of_number(self, name: str) -> str:
        """The type of a variable that is a number; empty for arrays and arguments."""
        known = self._declared.get(name)
        is_array = isinstance(known, LocalVariable) and known.size is not None
        return "" if known is None or is_array else number_of(known.kind)

    def of_argument(self, name: str) -> ElementType | None:
        """The element type of an array that the kernel is given; None for other names."""
        return self.element_type(name) if name in self.arguments else None

    @cached_property
    def _declared(self) -> dict[str, Let | LocalVariable | For]:
        return {
            s.name: s for s in nested(self._statements) if isinstance(s, Let | LocalVariable | For)
        }
