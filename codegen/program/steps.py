"""A program's steps: launches and copies in an order, loops and branches around them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.program.library_calls import LibraryFunction
    from hlo.instruction import Instruction

# Sizes of a grid of blocks, or of a block of threads.
Dim3 = tuple[int, int, int]
MemoryKind = Literal["argument", "result", "arena", "constant"]


@dataclass(frozen=True, slots=True)
class BufferSlice:
    """Bytes of a buffer.

    Attributes
    ----------
    memory : the kind of buffer: an argument or a result of the program, its arena, or a constant.
    number : of the leaf of the arguments or of the result, or of the constant.
    size : bytes, from the offset on, that are the array's.
    name : of the array, for messages.
    """

    memory: MemoryKind
    number: int = 0
    offset: int = 0
    size: int = 0
    name: str = field(default="", compare=False)

    def overlaps(self, other: BufferSlice) -> bool:
        """Whether some bytes belong to both."""
        return (
            (self.memory, self.number) == (other.memory, other.number)
            and self.offset < other.offset + other.size
            and other.offset < self.offset + self.size
        )


# Until buffers are assigned, a slice is known by the name of the pointer to it alone.
BufferRef = BufferSlice | str


@dataclass(frozen=True, slots=True)
class Launch:
    """A step that runs a kernel.

    Attributes
    ----------
    writes : for each argument, whether the kernel may write to it.
    about : the instruction that it computes.
    kind : of kernel: how it shares its work among threads.
    shared_bytes : of `extern __shared__` memory.
    cooperative : its blocks wait for each other, and the grid is the largest that is of use.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    arguments: tuple[BufferRef, ...]
    writes: tuple[bool, ...]
    about: str = ""
    kind: str = "loop"
    shared_bytes: int = 0
    cooperative: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """Bytes are copied."""

    target: BufferRef
    source: BufferRef
    size: int


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A library computes.

    Attributes
    ----------
    writes : for each argument, whether it may be written to.
    about : the instruction that it computes.
    """

    function: LibraryFunction
    arguments: tuple[BufferRef, ...]
    writes: tuple[bool, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class CollectiveStep:
    """Devices exchange arrays, each of its own.

    Attributes
    ----------
    instruction : the collective; what its operands bring, its results get.
    arguments : the arrays that are brought, as many that are got, and of a reduction by kernels as
        many rooms, for what all members bring.
    writes : for each argument, whether it may be written to.
    folds : of such a reduction, by the number of members: a launch for each array, which combines
        what is in its room.
    """

    instruction: Instruction
    arguments: tuple[BufferRef, ...]
    writes: tuple[bool, ...]
    folds: tuple[tuple[int, tuple[Launch, ...]], ...] = ()

    @property
    def about(self) -> str:
        """The name of the instruction."""
        return self.instruction.name


@dataclass(frozen=True, slots=True)
class HostCall:
    """The processor computes something for which there is no kernel.

    Attributes
    ----------
    instruction : a custom call, or a collective that no library knows.
    arguments : where the leaves of its operands are, and those of its result.
    """

    instruction: Instruction
    arguments: tuple[BufferRef, ...]


@dataclass(frozen=True, slots=True)
class While:
    """The body runs as long as the condition makes a predicate true, which is read back.

    Attributes
    ----------
    trips : how often it runs, where that is known: then nothing is read back.
    """

    condition: tuple[Step, ...]
    predicate: BufferRef
    body: tuple[Step, ...]
    trips: int | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A choice between lists of steps by a number; the last one, if the number is out of range.

    Attributes
    ----------
    of_pred : the number is a truth value, of which true means the first list.
    """

    number: BufferRef
    of_pred: bool
    branches: tuple[tuple[Step, ...], ...]


# The steps of a device, which ask the host nothing in between.
Work = Launch | Copy | LibraryCall | CollectiveStep
Step = Work | HostCall | While | Branch


def flat(steps: Sequence[Step]) -> Iterator[Work | HostCall]:
    """All steps, with the contents of loops and branches in their place."""
    for step in steps:
        match step:
            case While(condition, _, body):
                yield from flat((*condition, *body))
            case Branch(_, _, branches):
                for branch in branches:
                    yield from flat(branch)
            case _:
                yield step


def uses(step: Work) -> Iterator[tuple[BufferRef, bool]]:
    """The memory that a step uses, and whether it may write there."""
    if isinstance(step, Copy):
        yield from ((step.target, True), (step.source, False))
    else:
        yield from zip(step.arguments, step.writes, strict=True)
