"""A program: the module that JAX sent, with the facts of its calls that need no run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from hlo.types.shape import Layout, row_major, tuple_of
from hlo.types.values import ComputationLayout
from hlo_jax.abi.numbers import TYPE_NUMBERS
from hlo_jax.mlir import attributes_of_mlir
from hlo_jax.private.programs import hlo_of_mlir
from hlo_jax.programs.constants import module_of
from hlo_jax.programs.divided import divided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from hlo_jax.programs.options import CompileOptions


@dataclass(frozen=True, slots=True)
class ProgramArray:
    """An array that is a parameter or a result.

    Attributes
    ----------
    minor_to_major : the order in which it lies in memory.
    memory_kind : in which it lies; empty for the device's own.
    donor : for a result, the parameter whose memory it takes; -1 for none.
    donated : for a parameter, whether its buffer is gone after a call.
    """

    shape: Shape
    minor_to_major: tuple[int, ...]
    memory_kind: str = ""
    donor: int = -1
    donated: bool = False

    @property
    def dims(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.shape.dims

    @property
    def type_number(self) -> int:
        """Its element type, as PJRT counts them."""
        return TYPE_NUMBERS[self.shape.element_type]

    @property
    def bytes(self) -> int:
        """The bytes that a buffer for it takes: NumPy's, so an s4 has a byte of its own."""
        kind = self.shape.element_type
        return self.shape.size * kind.dtype.itemsize if kind.is_array else 0


@dataclass(frozen=True, slots=True)
class SentProgram:
    """A program as JAX sent it.

    Attributes
    ----------
    code, format : StableHLO ("mlir") or a serialized HloModuleProto ("hlo").
    """

    code: bytes
    format: str


@dataclass(frozen=True, slots=True)
class JaxProgram:
    """A program for one or several devices.

    Attributes
    ----------
    module : what each device runs.
    proto : the serialized HloModuleProto of what JAX sent.
    parameters, results : the arrays that a device is given, and those that it gives.
    """

    source: SentProgram
    options: CompileOptions
    proto: bytes
    module: Module
    parameters: tuple[ProgramArray, ...]
    results: tuple[ProgramArray, ...]

    @property
    def num_devices(self) -> int:
        """The number of devices that run it."""
        return self.options.num_replicas * self.options.num_partitions

    @property
    def conditions(self) -> dict[str, Any]:
        """The options `subnormals` and `threads` of a backend, as the user gave them."""
        given = self.options.overrides
        threads = given.get("pyhlo_threads")
        return {
            "subnormals": given.get("pyhlo_subnormals"),
            "threads": None if threads is None else int(threads),
        }

    @property
    def fingerprint(self) -> str:
        """A number that other programs do not have."""
        return sha256(self.source.code + self.options.serialized).hexdigest()


class FormatError(ValueError):
    """A program in a format that PyHLO does not read, or in one that it is not."""


def read_program(source: SentProgram, options: CompileOptions) -> JaxProgram:
    """Read a program.

    Raises
    ------
    FormatError
        If it is neither StableHLO nor HLO, or StableHLO with mistakes.
    HloError
        HLO001 to HLO099 if PyHLO can't read its HLO.
    """
    if source.format not in ("mlir", "hlo"):
        raise FormatError(f"a program in the format {source.format!r}; PyHLO reads mlir and hlo")
    is_mlir = source.format == "mlir"
    proto = _hlo_of_mlir(source.code) if is_mlir else source.code
    whole = module = module_of(proto)
    if options.num_partitions > 1:
        module, proto = divided(whole, options)
    header = module.header
    donors = {
        alias.output_index[0] if alias.output_index else 0: alias.parameter
        for alias in header.input_output_alias
    }
    donated = {*donors.values(), *(donor.parameter for donor in header.buffer_donor)}
    shapes = _results(module.entry.root)
    # To read MLIR takes milliseconds, so that is done only where there may be something to find.
    said = any(word in source.code for word in (_LAYOUT.encode(), _MEMORY.encode()))
    given, taken = attributes_of_mlir(source.code) if is_mlir and said else _NOTHING_SAID
    if any(one.get(_LAYOUT) == "auto" for one in taken):
        # The partitioner's new instructions have the default layout.
        pairs = zip(shapes, _results(whole.entry.root), strict=True)
        shapes = [replace(own, layout=shape.layout) for own, shape in pairs]
    parameters = tuple(
        _value(p.shape, given[k : k + 1], donated=k in donated)
        for k, p in enumerate(module.entry.parameters)
    )
    results = tuple(
        _value(s, taken[k : k + 1], donor=donors.get(k, -1)) for k, s in enumerate(shapes)
    )
    # A HloModuleProto does not say for how many devices it is: that is one of the options.
    counts = {"replica_count": options.num_replicas, "num_partitions": options.num_partitions}
    module = replace(module, header=replace(module.header, **counts))
    module = _with_layouts(module, parameters, results)
    return JaxProgram(source, options, proto, module, parameters, results)


def _hlo_of_mlir(code: bytes) -> bytes:
    try:
        return hlo_of_mlir(code)
    except Exception as error:  # of jaxlib's, whose own code would be INTERNAL
        raise FormatError(str(error)) from error


# Of no parameter, and of no result.
_NOTHING_SAID: tuple[list[dict[str, str]], list[dict[str, str]]] = ([], [])
_LAYOUT, _MEMORY = "mhlo.layout_mode", "mhlo.memory_kind"


def _results(root: Instruction) -> list[Shape]:
    """The shapes of a module's results, in the layouts in which they are computed."""
    if root.opcode == "tuple":
        return [operand.shape for operand in root.operands]
    return list(root.shape.elements) if root.shape.is_tuple else [root.shape]


def _value(
    shape: Shape, said: list[dict[str, str]], *, donor: int = -1, donated: bool = False
) -> ProgramArray:
    """An array, with the layout that an attribute gives: "{0,1}", "default" or "auto".

    What JAX leaves to the compiler lies as HLO has it, where a transpose only turns the layout.
    """
    attributes = said[0] if said else {}
    mode = attributes.get(_LAYOUT, "default")
    order = row_major(shape.rank).minor_to_major
    if mode == "auto" and shape.layout is not None:
        order = shape.layout.minor_to_major
    if mode.startswith("{"):
        order = tuple(int(n) for n in re.findall(r"\d+", mode.partition(":")[0]))
    return ProgramArray(shape, order, attributes.get(_MEMORY, ""), donor, donated)


def _with_layouts(
    module: Module, parameters: Sequence[ProgramArray], results: Sequence[ProgramArray]
) -> Module:
    """The module whose header has the layouts of its arguments and results."""
    given = tuple(_laid_out(value) for value in parameters)
    taken = tuple(_laid_out(value) for value in results)
    result = tuple_of(*taken) if module.entry.root.shape.is_tuple else taken[0]
    header = replace(module.header, entry_computation_layout=ComputationLayout(given, result))
    return replace(module, header=header)


def _laid_out(value: ProgramArray) -> Shape:
    if not value.shape.is_array:
        return value.shape
    return replace(value.shape, layout=Layout(value.minor_to_major))
