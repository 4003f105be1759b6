"""The graph: instructions in computations in a module, all immutable.

An instruction is an opcode applied to earlier instructions of the same computation. A computation
is an ordered list of instructions with a root; a module an ordered list of computations with an
entry. Nothing is ever changed: a pass builds new instructions where it must, and shares the rest.
So every older version of a module stays alive at no cost, and `new is not old` tells whether a pass
changed anything.

Instructions are compared by identity: two adds of the same operands are two adds, and it is for
CSE to say that one will do. Analyses of the graph (users, order, liveness) are computed when they
are needed, in `hlo.walk` and `optimizer`, and never stored here.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, dataclass_transform

from hlo.attributes import NO_ATTRS, Attrs
from hlo.attributes.annotations import NO_ANNOTATIONS, Annotations
from hlo.notebook import shown_in_notebooks
from hlo.opcode import OPCODES, Opcode
from hlo.operators import Operators
from hlo.types.values import FrontendAttributes
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hlo.errors.error import Span
    from hlo.types.shape import Shape
    from hlo.types.values import BufferDonor, ComputationLayout, InputOutputAlias

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def _frozen_after_init(defined: type[Class]) -> type[Class]:
    """A dataclass compared by identity; frozen to type checkers, and by its `__post_init__`."""
    return dataclass(eq=False, slots=True)(defined)


@_frozen_after_init
class Instruction(Operators):
    """One HLO instruction: an opcode applied to earlier instructions of the same computation.

    Attributes
    ----------
    name : unique in its module, without "%".
    opcode : a row of `hlo.opcode.OPCODES`.
    shape : of its value.
    operands : instructions of the same computation.
    attrs : of the class that the opcode's row names.
    called : the computations it calls, in the order of the row's `called` keys.
    control_predecessors : instructions that must run before it, though it does not use them.
    annotations : sharding, metadata and the like, which do not change its value.
    span : the part of the text that it was read from.
    """

    name: str
    opcode: str
    shape: Shape
    operands: tuple[Instruction, ...] = ()
    attrs: Attrs = NO_ATTRS
    called: tuple[Computation, ...] = ()
    control_predecessors: tuple[Instruction, ...] = ()
    annotations: Annotations = NO_ANNOTATIONS
    span: Span | None = None

    def __post_init__(self) -> None:
        """Freeze the instruction: its fields can no longer be set.

        Passes make thousands of instructions, and `dataclass(frozen=True)`, which sets each field
        by `object.__setattr__`, takes three times as long to make one.
        """
        self.__class__ = _Frozen  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def row(self) -> Opcode:
        """The row of the opcode table."""
        return OPCODES[self.opcode]

    def with_(
        self,
        *,
        name: str | None = None,
        opcode: str | None = None,
        shape: Shape | None = None,
        operands: tuple[Instruction, ...] | None = None,
        attrs: Attrs | None = None,
        called: tuple[Computation, ...] | None = None,
        control_predecessors: tuple[Instruction, ...] | None = None,
        annotations: Annotations | None = None,
        span: Span | None = None,
    ) -> Instruction:
        """A copy with some fields changed; it keeps its name unless told otherwise.

        Parameters
        ----------
        name, opcode, shape, operands, attrs, called, control_predecessors, annotations, span :
            None for those of this instruction.
        """
        return Instruction(
            self.name if name is None else name,
            self.opcode if opcode is None else opcode,
            self.shape if shape is None else shape,
            self.operands if operands is None else operands,
            self.attrs if attrs is None else attrs,
            self.called if called is None else called,
            self.control_predecessors if control_predecessors is None else control_predecessors,
            self.annotations if annotations is None else annotations,
            self.span if span is None else span,
        )

    def rewired(
        self,
        operands: tuple[Instruction, ...],
        control_predecessors: tuple[Instruction, ...],
        called: tuple[Computation, ...],
    ) -> Instruction:
        """A copy with other instructions and computations, as when a computation is rebuilt.

        Parameters
        ----------
        operands, control_predecessors : of the computation that the copy is for.
        called : the computations that it calls.
        """
        return Instruction(
            self.name,
            self.opcode,
            self.shape,
            operands,
            self.attrs,
            called,
            control_predecessors,
            self.annotations,
            self.span,
        )

    def __repr__(self) -> str:
        """The text in one line, without metadata and long constants."""
        return _instruction_writers[-1](self)

    def __copy__(self) -> Self:
        """The same object, for it is immutable."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        """The same object, for it is immutable."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise TypeError("an instruction is a part of its module: pickle the module")


class _Frozen(Instruction):
    """An instruction whose fields can no longer be set."""

    __slots__ = ()

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """A new instruction: `dataclasses.replace` calls the class of the one that it copies."""
        return Instruction(*arguments, **named)  # pyright: ignore[reportReturnType]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        """Do nothing: `__new__` has set the fields."""

    def __setattr__(self, name: str, value: object) -> None:
        """Raise an error: instructions are immutable."""
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        """Raise an error: instructions are immutable."""
        raise FrozenInstanceError(f"cannot delete field {name!r}")


# Python's own messages call a class by this name.
_Frozen.__name__ = Instruction.__name__


def called_keys(row: Opcode, operands: Sequence[Instruction]) -> tuple[str, ...]:
    """The attribute keys of the computations that an instruction calls, as in its opcode's row.

    A conditional has two named branches if its first operand is a pred, else a list of branches.
    """
    if row.name != "conditional":
        return row.called
    index = operands[0].shape if operands else None
    is_pred = index is not None and index.is_array and index.element_type.kind == "pred"
    return row.called[:2] if is_pred else row.called[2:]


@dataclass(frozen=True, eq=False)
class Computation:
    """An ordered list of instructions, each after its operands, with a root.

    Attributes
    ----------
    name : unique among the module's computations, without "%".
    root : the instruction whose value is the computation's.
    execution_thread : "main" unless it runs elsewhere.
    """

    name: str
    instructions: tuple[Instruction, ...]
    root: Instruction
    execution_thread: str = "main"
    span: Span | None = None

    # Kept once they are computed, since nearly every pass asks for them.
    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters by number."""
        parameters = [i for i in self.instructions if i.opcode == "parameter"]
        parameters.sort(key=lambda i: i.attrs.number)  # type: ignore[attr-defined]
        return tuple(parameters)

    @cached_property
    def callees(self) -> tuple[Computation, ...]:
        """The computations that its instructions call, each once."""
        return tuple(dict.fromkeys([c for i in self.instructions if i.called for c in i.called]))

    @cached_property
    def opcodes(self) -> frozenset[str]:
        """The opcodes in it, by which a pass sees at once whether it has anything to do."""
        return frozenset([i.opcode for i in self.instructions])

    def __copy__(self) -> Self:
        """The same object, for it is immutable."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        """The same object, for it is immutable."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled."""
        raise TypeError("a computation is a part of its module: pickle the module")

    def __repr__(self) -> str:
        """Name and size."""
        return f"<computation %{self.name}, {counted(len(self.instructions), 'instruction')}>"


@dataclass(frozen=True, slots=True)
class StackFrames:
    """The tables that metadata's `stack_frame_id` points into, rows as XLA prints them."""

    file_names: tuple[str, ...] = ()
    function_names: tuple[str, ...] = ()
    file_locations: tuple[str, ...] = ()
    stack_frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """The `HloModule` line, without the name.

    Attributes
    ----------
    is_scheduled : the order of instructions is the order in which they run.
    replica_count, num_partitions : devices that run the module.
    others : attributes that are kept as written: (key, value text).
    """

    is_scheduled: bool = False
    entry_computation_layout: ComputationLayout | None = None
    input_output_alias: tuple[InputOutputAlias, ...] = ()
    buffer_donor: tuple[BufferDonor, ...] = ()
    alias_passthrough_params: bool = False
    allow_spmd_sharding_propagation_to_parameters: tuple[bool, ...] = ()
    allow_spmd_sharding_propagation_to_output: tuple[bool, ...] = ()
    replica_count: int = 1
    num_partitions: int = 1
    frontend_attributes: FrontendAttributes = field(default_factory=FrontendAttributes)
    others: tuple[tuple[str, str], ...] = ()


@shown_in_notebooks
@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Module:
    """A whole program: computations, each after those that it calls, and an entry.

    `str(module)` is XLA's canonical text.

    Attributes
    ----------
    computations : the entry among them.
    entry : the computation that a run of the module evaluates.
    header : layouts, aliases and numbers of devices, as the text's first line has them.
    stack_frames : the lines of the user's program that metadata refer to.
    span : the part of the text that it was read from.
    """

    name: str
    computations: tuple[Computation, ...]
    entry: Computation
    header: Header = field(default_factory=Header)
    stack_frames: StackFrames = field(default_factory=StackFrames)
    span: Span | None = None

    def instructions(self) -> Iterator[Instruction]:
        """All instructions of all computations, in order."""
        for computation in self.computations:
            yield from computation.instructions

    def __copy__(self) -> Self:
        """The same object, for it is immutable."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        """The same object, for it is immutable."""
        return self

    def __reduce__(self) -> tuple[Callable[..., Module], tuple[Any, ...]]:
        """The tables of `hlo.pickling`."""
        return _picklers[-1](self)

    def to_string(self, **options: Any) -> str:
        """The module as text; see `hlo.Options` for the options, named as XLA names them."""
        return _writers[-1](self, **options)

    def __str__(self) -> str:
        """XLA's canonical text."""
        return self.to_string()

    def __repr__(self) -> str:
        """Name and size."""
        count = sum(1 for _ in self.instructions())
        return f"<module {self.name}, {counted(count, 'instruction')}>"


def module_of(source: object) -> Module:
    """The object itself, if it is a module.

    Raises
    ------
    TypeError
        if it is something else, such as a text.
    """
    if isinstance(source, Module):
        return source
    message = f"a module is needed, not {type(source).__name__}"
    if isinstance(source, str):
        message += "; hlo.parse(text) makes one, hlo.load(path) makes one of a file"
    raise TypeError(message)


# The printers import this file, so it cannot import them: they register themselves.
_writers: list[Callable[..., str]] = []
_instruction_writers: list[Callable[[Instruction], str]] = []
_picklers: list[Callable[[Module], tuple[Callable[..., Module], tuple[Any, ...]]]] = []


def register_pickler(
    pickler: Callable[[Module], tuple[Callable[..., Module], tuple[Any, ...]]],
) -> Callable[[Module], tuple[Callable[..., Module], tuple[Any, ...]]]:
    """Register the function that takes a module apart for pickle."""
    _picklers.append(pickler)
    return pickler


def register_instruction_writer(
    write: Callable[[Instruction], str],
) -> Callable[[Instruction], str]:
    """Register the function that prints an instruction."""
    _instruction_writers.append(write)
    return write


def register_writer(write: Callable[..., str]) -> Callable[..., str]:
    """Register the function `write(module, **options)` that prints a module."""
    _writers.append(write)
    return write
