"""The kernels of a file of CUDA C; of equal ones, one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codegen.file_text import FileText, Section, comment_of
from codegen.functions import Function, Parameter, mentions
from codegen.kinds import is_const, unrestricted
from codegen.printer import declared, text
from codegen.sharing import key_of
from codegen.statements import names_in
from emit_cuda.code.names import CudaNames
from emit_cuda.code.prelude import prelude
from emit_cuda.grids.stages import GRID_COUNTER
from emit_cuda.kernels.spelling import all_in_cuda
from emit_cuda.loops.pairs import in_pairs
from emit_cuda.loops.retries import with_retries
from emit_cuda.nvrtc.occupancy import MOST_SHARED_BYTES
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from codegen.elements.kernel import Argument
    from codegen.file_text import HloLine
    from codegen.statements import Statement
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage

    # Is shown the instruction that a launch is about, the launch, and the name of its kernel.
    Watch = Callable[[str, Stage, str], None]


# Shared memory is not constructed: complex numbers lie in it as their parts.
_PARTS = {"c64": "f32", "c128": "f64"}


def _shared(stage: Stage) -> str:
    """The declarations of a block's shared arrays, and of the counter of a grid's barriers."""
    aligned = f"__align__({stage.aligned}) " if stage.aligned else ""
    counter = f"  static u32 {GRID_COUNTER};\n" if stage.cooperative else ""
    if stage.extern_bytes:
        lines, begin = [f"  extern __shared__ {aligned}u8 shared_memory[];\n"], 0
        for kind, name, size in stage.shared:
            at = f"(shared_memory + {begin})" if begin else "shared_memory"
            lines.append(f"  {kind} *const {name} = ({kind} *){at};\n")
            begin += ELEMENT_TYPES[kind].bytes * size
        return counter + "".join(lines)
    return counter + "".join(_declared(array, aligned) for array in stage.shared)


def _declared(array: tuple[str, str, int], aligned: str) -> str:
    """The declaration of an array: its type, name, elements."""
    kind, name, size = array
    if kind not in _PARTS:
        return f"  __shared__ {aligned}{kind} {name}[{size}];\n"
    parts = f"  __shared__ {_PARTS[kind]} {name}_parts[{2 * size}];\n"
    return f"{parts}  {kind} *const {name} = ({kind} *){name}_parts;\n"


@dataclass(frozen=True, slots=True)
class Written:
    """A finished kernel, in CUDA's words.

    Attributes
    ----------
    stage : the launch, with its grid, block and shared arrays.
    statements : the kernel's code.
    arguments : the kernel's parameters.
    """

    stage: Stage
    statements: tuple[Statement, ...]
    arguments: tuple[Argument, ...]


class KernelFile:
    """The kernels of a module, in the order in which they are first needed.

    Parameters
    ----------
    watch : is shown each launch before it is spelled in CUDA's words.
    most_shared : bytes of shared memory that a block may ask for.

    Attributes
    ----------
    texts : by name.
    written : by name, as data.
    hlo_names : by name, the HLO name that each identifier of the kernel stands for.
    about : by name, the HLO that each computes.
    words : the functions and types that they use, for the prelude.
    """

    def __init__(self, watch: Watch | None = None, most_shared: int = MOST_SHARED_BYTES) -> None:
        self.names, self.watch, self.most_shared = CudaNames(), watch, most_shared
        self.texts: dict[str, str] = {}
        self.written: dict[str, Written] = {}
        self.hlo_names: dict[str, Mapping[str, str]] = {}
        self.about: dict[str, tuple[HloLine, ...]] = {}
        self.words: dict[str, None] = {}
        # Kernels whose work another one does, and may be in the file for nothing.
        self.replaced: dict[str, None] = {}
        self._launched: set[str] = set()
        self._names: dict[Any, str] = {}

    def add(
        self, kernel: CudaKernel, wanted: str, about: tuple[HloLine, ...], stage: Stage
    ) -> tuple[str, list[str]]:
        """Add a kernel that does a launch's statements, unless there is an equal one.

        Returns
        -------
        tuple
            the kernel's name, and the pointers that it takes.
        """
        threads = with_retries(in_pairs(stage.statements, kernel.names), kernel.names)
        stage, statements = replace(stage, statements=threads), all_in_cuda(threads)
        read = set(names_in(statements))
        used = {p: a for p, a in kernel.arguments.items() if a.name in read}
        written = [a for a in used.values() if not is_const(a.kind) and a.name not in kernel.rooms]
        parameters = list(used.values())
        if len(written) > 1:
            # Several results may lie where operands do.
            parameters = [replace(a, kind=unrestricted(a.kind)) for a in parameters]
        name = self._add(parameters, wanted, about, stage, statements, kernel.names.hlo_names)
        return name, list(used)

    def add_merged(
        self,
        parameters: Sequence[Argument],
        wanted: str,
        about: tuple[HloLine, ...],
        stage: Stage,
        others: Iterable[str],
    ) -> str:
        """Add a kernel that does the work of others; its statements are in CUDA's words."""
        self.replaced |= dict.fromkeys(others)
        hlo_names = {k: v for name in others for k, v in self.hlo_names[name].items()}
        return self._add(parameters, wanted, about, stage, stage.statements, hlo_names)

    def _add(
        self,
        arguments: Sequence[Argument],
        wanted: str,
        about: tuple[HloLine, ...],
        stage: Stage,
        statements: tuple[Statement, ...],
        hlo_names: Mapping[str, str],
    ) -> str:
        parameters = tuple(Parameter(a.kind, a.name) for a in arguments)
        function = Function("", parameters, statements)
        key = key_of(function), stage.block, stage.shared, stage.aligned, stage.resident
        if key not in self._names:
            name = self._names[key] = self.names.unique(wanted, "kernel")
            self.hlo_names[name], self.about[name] = hlo_names, about
            self.written[name] = Written(stage, statements, tuple(arguments))
            listed = ", ".join(declared(p.kind, p.name, "__restrict__") for p in parameters)
            shared = _shared(stage)
            threads = stage.block[0] * stage.block[1] * stage.block[2]
            resident = f", {stage.resident}" if stage.resident > 1 else ""
            bounds = f"__launch_bounds__({threads}{resident}) "
            self.texts[name] = (
                f'{comment_of(about)}extern "C" __global__ void {bounds}{name}({listed}) {{\n'
                f"{shared}{text(statements)}}}\n"
            )
            self.words.update(dict.fromkeys(mentions(function)))
            self.words.update(dict.fromkeys(kind for kind, _, _ in stage.shared))
        if self.watch:
            self.watch(wanted, stage, self._names[key])
        return self._names[key]

    def drop_replaced(self, launched: Iterable[str]) -> None:
        """Leave out the kernels whose work others do, but for those that are launched, too."""
        self._launched.update(launched)
        names = {name: key for key, name in self._names.items()}
        for name in self.replaced.keys() - self._launched:
            del self.texts[name], self.written[name], self.hlo_names[name], self.about[name]
            del self._names[names[name]]
        self.replaced.clear()

    def source(self, head: str) -> FileText:
        """The file, after a comment."""
        kernels = [self._section(name) for name in self.texts] or [Section("\n")]
        return FileText((Section(f"{head}\n{prelude(self.words)}"), *kernels))

    def _section(self, name: str) -> Section:
        """The part of the file that a kernel is."""
        about, kernel = self.about[name], self.written[name]
        before = f"\n{comment_of(about)}\n{_shared(kernel.stage)}"
        return Section(
            f"\n{self.texts[name]}",
            name,
            about,
            kernel.statements,
            before.count("\n") + 1,
            self.hlo_names[name],
        )
