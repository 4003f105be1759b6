"""The state of a kernel in the making: its open blocks, and what is known in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.statements import Call, Statement, Try

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codegen.elements.constants import Constants
    from codegen.elements.names import Names
    from codegen.elements.table import Entry
    from codegen.elements.trace import AccessTrace
    from codegen.expressions import Expr, Name
    from codegen.functions import Function
    from codegen.kinds import Kind
    from hlo.instruction import Instruction
    from hlo.table import OpTable
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index

    Values = tuple[Expr, ...]
    ElementKey = tuple["Environment", Instruction, Index]


class Environment:
    """The values to which the instructions of one computation are bound.

    Attributes
    ----------
    pointers : those in memory: names of C pointers, nested as the shape is.
    scalars : those that are C variables, by index into the tuple; the elements of arrays of rank 0.
    aliases : parameters that stand for an instruction of the computation that this one is
        inlined into.
    """

    def __init__(self) -> None:
        self.pointers: Mapping[Instruction, object] = {}
        self.scalars: dict[Instruction, Values] = {}
        self.aliases: dict[Instruction, tuple[Environment, Instruction]] = {}


class Writer:
    """Blocks of statements with the values known in each; shared by all bodies of a kernel.

    Attributes
    ----------
    table : how each opcode is emitted.
    known : elements that variables hold, in this block or around it.
    fresh : for each open block, what of that was computed in it, and is forgotten after it.
    computed : the instructions whose elements were computed, in order.
    own_bytes : memory that each thread needs for itself.
    functions : those that the kernel calls besides the prelude, by name.
    raw : what is stored for wide values, by name, where that needs no conversion, or one only.
    trace : where it is noted what is written, if anybody wants to know.
    poll : the statement with which loops ask whether they have to stop; None if they never do.
    fails : whether a function that is called may fail, so that the kernel ends with its status.
    wraps : signed integers wrap around in the language.
    has_extremes : the machine takes the maximum of two f32 in one instruction, with NaN beyond all.
    flushes : subnormal numbers count as zeros.
    argument : gives the name in the kernel of a pointer that its caller has, of a C type, to so
        many elements.
    """

    argument: Callable[[Kind, str, str, int], Name]

    def __init__(self, table: OpTable[Entry], names: Names, constants: Constants) -> None:
        self.table = table
        self.names = names
        self.constants = constants
        self.blocks: list[list[Statement]] = [[]]
        self.known: dict[ElementKey, Values] = {}
        self.fresh: list[list[ElementKey]] = [[]]
        self.computed: dict[Instruction, None] = {}
        self.own_bytes = 0
        self.functions: dict[str, Function] = {}
        self.raw: dict[Expr, tuple[ElementType, Expr]] = {}
        self.trace: AccessTrace | None = None
        self.poll: Try | Call | None = None
        self.fails = False
        self.wraps, self.has_extremes, self.flushes = True, False, False

    @property
    def has_status(self) -> bool:
        """Whether the kernel gives a status, because it may end before its work is done."""
        return isinstance(self.poll, Try) or self.fails
