"""A whole program, translated: functions become computations, one of them the entry."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hlo.build import module
from hlo.errors.error import HloError, Source, Span, did_you_mean
from hlo.frontends.stablehlo.scope import UNKNOWN_SIZES, RegionScope
from hlo.frontends.stablehlo.shardings import (
    frontend_attributes,
    meshes_text,
    several_devices,
)
from hlo.frontends.stablehlo.table import translation_of
from hlo.instruction import Header
from hlo.names import NameSupply, sanitize
from hlo.sharded import MESHES
from hlo.types.shape import UNBOUNDED
from hlo.types.values import BufferDonor, ComputationLayout, FrontendAttributes, InputOutputAlias

if TYPE_CHECKING:
    from hlo.frontends.stablehlo.operation import FuncOp, MlirModule, Operation
    from hlo.frontends.stablehlo.table import Translate
    from hlo.instruction import Computation, Module

# Functions that call each other in a circle have no end in HLO, which has no recursion.
_MOST_CALLS = 200
_MOST_LISTED = 8


class Translation:
    """Makes a module of a program.

    Parameters
    ----------
    entry : the name of the function that becomes the entry; "" for `main`, or the only public one.

    Attributes
    ----------
    names, computation_names : supplies of names, for instructions and for computations.
    """

    def __init__(self, program: MlirModule, source: Source, entry: str = "") -> None:
        self.program, self.source, self._wanted = program, source, entry
        self.names, self.computation_names = NameSupply(), NameSupply()
        self._functions = {function.name: function for function in program.functions}
        self.made_up = 0
        self._made: dict[str, Computation] = {}
        self._open: list[str] = []

    def module(self) -> Module:
        """The module whose entry is the function that was asked for."""
        entry = self._entry
        computation = self.computation(entry.name, entry.span)
        return module(computation, sanitize(self.program.name), self._header(entry, computation))

    @cached_property
    def _entry(self) -> FuncOp:
        """The entry: the function that was asked for, `main`, or the only (public) one."""
        some = self.program.functions
        public = [f for f in some if not f.is_private]
        only = next((some[0] for some in (public, some) if len(some) == 1), None)
        function = self._functions.get(self._wanted or "main") or (None if self._wanted else only)
        if function is not None:
            return function
        names = [f.name for f in public]
        listed = ", ".join(f"`{name}`" for name in names[:_MOST_LISTED])
        others = f" and {len(names) - _MOST_LISTED} more" if names[_MOST_LISTED:] else ""
        notes = [f"`--entry NAME`, or `entry=` in Python, takes another: {listed}{others}"]
        notes = did_you_mean(self._wanted, names) or notes
        message = f"there is no function `{self._wanted or 'main'}`"
        raise HloError("HLO012", message, Span(self.source, 0, 1), notes if names else [])

    def computation(self, name: str, span: Span) -> Computation:
        """The computation of a function.

        Raises
        ------
        HloError
            HLO012 if there is no such function, HLO013 if it calls itself.
        """
        function = self._functions.get(name)
        if function is None:
            raise HloError("HLO012", f"there is no function `@{name}`", span)
        if name in self._open or len(self._open) >= _MOST_CALLS:
            raise HloError("HLO013", f"`@{name}` calls itself", span)
        if name not in self._made:
            body = function.body
            if body is None:
                raise HloError("HLO013", f"function @{name} has no body", function.span)
            _refuse_unknown_sizes(function)
            self._open.append(name)
            scope = RegionScope(self, name)
            scope.parameters(function.arguments)
            try:
                results = function.results if self._entry is function else ()
                self._made[name] = scope.closed(body, divided=results)
            except HloError as error:
                raise error.at(function.span) from None
            self._open.pop()
        return self._made[name]

    def translation_of(self, op: Operation) -> Translate:
        """The translation of an operation."""
        return translation_of(op)

    def _header(self, entry: FuncOp, new: Computation) -> Header:
        layout = ComputationLayout(tuple(p.shape for p in new.parameters), new.root.shape)
        single = not new.root.shape.is_tuple
        aliases: list[InputOutputAlias] = []
        donors: list[BufferDonor] = []
        for number, argument in enumerate(entry.arguments):
            output = argument.attributes.get("tf.aliasing_output")
            if isinstance(output, int):
                aliases.append(InputOutputAlias(() if single else (output,), number, ()))
            if argument.attributes.get("jax.buffer_donor") is True:
                donors.append(BufferDonor(number, ()))
        return Header(
            entry_computation_layout=layout,
            input_output_alias=tuple(aliases),
            buffer_donor=tuple(donors),
            replica_count=self._devices("mhlo.num_replicas"),
            num_partitions=self._devices("mhlo.num_partitions"),
            frontend_attributes=self._frontend_attributes(),
        )

    def _frontend_attributes(self) -> FrontendAttributes:
        """The strings that the module carries along, the meshes of Shardy among them."""
        entries = {**self.program.attributes.get("mhlo.frontend_attributes", {})}
        if several_devices(self.program.meshes):
            entries[MESHES] = meshes_text(self.program.meshes)
        return (
            frontend_attributes({"mhlo.frontend_attributes": entries}, {}) or FrontendAttributes()
        )

    def _devices(self, name: str) -> int:
        """A number of devices among the module's attributes; 1 if it has none."""
        count = self.program.attributes.get(name, 1)
        if not isinstance(count, int) or count < 1:
            span = Span(self.source, 0, 1)
            raise HloError("HLO012", f"`{name}` is a positive number, not {count!r}", span)
        return count


def _refuse_unknown_sizes(function: FuncOp) -> None:
    """Refuse arguments of sizes that only a run would tell, as HLO has none."""
    for argument in function.arguments:
        if any(UNBOUNDED in leaf.dims for _, leaf in argument.shape.leaves()):
            message = f"`{argument.name}` has a size that nobody knows: `?`"
            raise HloError("HLO013", message, argument.span or function.span, UNKNOWN_SIZES)
