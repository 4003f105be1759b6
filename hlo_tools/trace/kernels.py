"""The loops of each kernel after each pass over them, in C or in CUDA."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hlo.errors.error import HloError
from hlo_tools.trace.linked import CodeLine, linked
from optimizer.log import SourceLine, location_of
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codegen.functions import Function
    from codegen.schedule.trace import AppliedPrimitive
    from codegen.statements import Statement
    from emit_c.kernels.kernel import CKernel
    from emit_c.kernels.passes import KernelPass
    from emit_c.program.emit import Program
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Module


@dataclass(frozen=True)
class KernelStop:
    """A pass over one kernel that changed its loops.

    Attributes
    ----------
    kernel : the instruction whose value it computes.
    pass_ : the name of the pass.
    why : what the pass is for.
    location : where the pass is written.
    before, after : the loops as C, a line each.
    """

    kernel: str
    pass_: str
    why: str
    location: SourceLine
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class KernelState:
    """The loops of a kernel after a pass; as one thread would do them, for the pass "".

    The register tiles of contractions, which kernels call, are shown as kernels are.

    Attributes
    ----------
    computes : for the pass "", the HLO that the kernel computes, a line an instruction.
    steps : the primitives of `codegen.schedule` that the pass has applied, in their order.
    statements, functions : of C, the loops, and the functions that they call, by name.
    tiles : the names of the register tiles that the loops call.
    """

    kernel: str
    pass_: str
    why: str
    location: SourceLine | None
    code: tuple[CodeLine, ...]
    computes: tuple[str, ...] = ()
    steps: tuple[AppliedPrimitive, ...] = ()
    statements: tuple[Statement, ...] = ()
    functions: Mapping[str, Function] = field(default_factory=dict["str", "Function"])
    tiles: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The loops as C, a line each."""
        return tuple(line.text for line in self.code)


def kernel_stops(module: Module, target: str = "cpu") -> list[KernelStop]:
    """The changes of each pass over kernels, kernel by kernel.

    Parameters
    ----------
    target : "cpu" for kernels of C, "gpu" for those of CUDA.

    Raises
    ------
    HloError
        HLO181 if the module can't be emitted.
    """
    stops: list[KernelStop] = []
    last: dict[str, tuple[str, ...]] = {}
    for state in kernel_states(module, target):
        if state.location is not None:
            before = last.get(state.kernel, ())
            stop = KernelStop(
                state.kernel, state.pass_, state.why, state.location, before, state.lines
            )
            stops.append(stop)
        last[state.kernel] = state.lines
    return stops


def kernel_states(
    module: Module, target: str = "cpu", schedule: KernelPass | None = None
) -> list[KernelState]:
    """The loops of each kernel as they are written, and after each pass that changes them.

    Parameters
    ----------
    target : as of `kernel_stops`.
    schedule : a pass over plain loops, in place of the passes that are there.

    Raises
    ------
    HloError
        HLO181 if the module can't be emitted.
    """
    if target == "gpu":
        return _states_in_cuda(prepare(module, "gpu"), schedule)
    if schedule is None:
        return list(c_emission(module).states)
    return _written_in_c(prepare(module), schedule, plain=True)[0]


class CEmission(NamedTuple):
    """A module's C, and the loops on the way to it.

    Attributes
    ----------
    module : that is written, which has the copies that C needs.
    """

    module: Module
    states: tuple[KernelState, ...]
    program: Program


# Three parts of a trace ask for the same.
@lru_cache(maxsize=1)
def c_emission(module: Module) -> CEmission:
    """The C of a module with the loops of each kernel.

    Raises
    ------
    HloError
        HLO181 if the module can't be emitted.
    """
    prepared = prepare(module)
    states, program = _written_in_c(prepared)
    return CEmission(prepared, tuple(states), program)


def pass_names(target: str) -> list[str]:
    """The names of the passes over kernels, in their order."""
    if target == "gpu":
        from emit_cuda.kernels.writers import WHY  # noqa: PLC0415

        return list(WHY)
    from emit_c.kernels.passes import PASSES  # noqa: PLC0415

    return [kernel_pass.name for kernel_pass in PASSES]


def _written_in_c(
    module: Module, schedule: KernelPass | None = None, *, plain: bool = False
) -> tuple[list[KernelState], Program]:
    # It takes as long to import as all the rest.
    import emit_c  # noqa: PLC0415
    from codegen.printer import definition, text  # noqa: PLC0415
    from codegen.program.about import about  # noqa: PLC0415
    from codegen.schedule.trace import listening  # noqa: PLC0415
    from emit_c.contraction.tiles import tile_function, tiles_in  # noqa: PLC0415
    from emit_c.kernels.passes import PASSES  # noqa: PLC0415

    passes = {
        kernel_pass.name: kernel_pass
        for kernel_pass in (*PASSES, *((schedule,) if schedule else ()))
    }
    known = {instr.name: instr for instr in module.instructions()}
    names = set(known)
    states: list[KernelState] = []
    last: dict[str, tuple[Sequence[Statement], str]] = {}
    seen = set[str]()

    def watch(name: str, pass_: str, statements: Sequence[Statement], kernel: CKernel) -> None:
        # Most passes change nothing: to compare takes less time than to print.
        before, printed = last[name] if pass_ else ((), "")
        now = printed if pass_ and statements == before else text(statements)
        if not pass_ or now != printed:
            why, location = "", None
            if pass_:
                why, location = passes[pass_].why, location_of(passes[pass_].run)
            # A pass may move a part of the loops into a function, which is shown above them.
            own = {**kernel.writer.functions}
            whole = "".join(f"{definition(function)}\n" for function in own.values()) + now
            code = tuple(linked(whole, kernel.names.hlo_names, names)) if whole else ()
            is_first = not pass_ and name in known
            computes = tuple(each.text for each in about(kernel, known[name])) if is_first else ()
            tiles = {} if pass_ else {tile.name: tile for tile in tiles_in(statements)}
            shown = tuple(heard), tuple(statements), own, tuple(tiles)
            states.append(KernelState(name, pass_, why, location, code, computes, *shown))
            for tile in (tile for name, tile in tiles.items() if name not in seen):
                function = tile_function(tile)
                code = tuple(linked(definition(function), {}, names))
                states.append(KernelState(tile.name, "", "", None, code, statements=function.body))
            seen.update(tiles)
        heard.clear()
        last[name] = statements, now

    with listening() as heard:
        program = emit_c.emit(module, watch=watch, plain=plain, schedule=schedule)
    return states, program


def _states_in_cuda(module: Module, schedule: KernelPass | None = None) -> list[KernelState]:
    """Loops as one thread would do them, the code of each thread of a grid, and CUDA C."""
    import emit_cuda  # noqa: PLC0415
    from codegen.schedule.trace import listening  # noqa: PLC0415
    from emit_cuda.kernels import writers  # noqa: PLC0415
    from emit_cuda.kernels.file import KernelFile  # noqa: PLC0415

    # A kernel is about the root of a fusion, but people look for the fusion.
    fusions = {
        inner.name: instr.name
        for instr in module.instructions()
        if instr.opcode == "fusion"
        for inner in instr.called[0].instructions
    }
    scheduled: set[str] = set()

    def own(kernel: Any, name: str, statements: Sequence[Statement]) -> Sequence[Statement]:
        assert schedule is not None
        scheduled.add(fusions.get(name, name))
        return schedule.run(kernel, name, statements)

    launches: dict[str, list[tuple[Stage, str]]] = {}
    applied: dict[str, list[AppliedPrimitive]] = {}

    def watch(about: str, stage: Stage, kernel: str) -> None:
        name = fusions.get(about, about)
        launches.setdefault(name, []).append((stage, kernel))
        applied.setdefault(name, []).extend(heard)
        heard.clear()

    kernels = KernelFile(watch)
    with listening() as heard:
        emit_cuda.emit(module, kernels, schedule=own if schedule else None)
    try:
        plain, _ = _written_in_c(module, plain=True)
    except HloError:  # C refuses some that CUDA does not
        plain = []
    code = {state.kernel: state.code for state in plain}
    computes = {state.kernel: state.computes for state in plain if not state.pass_}
    known = {instr.name for instr in module.instructions()}
    states: list[KernelState] = []
    for about, watched in launches.items():
        # A kernel that does a whole loop takes the place of the loop's own.
        stages = [(stage, name) for stage, name in watched if name in kernels.texts]
        if not stages:
            continue
        mapped = [
            line
            for stage, name in stages
            for line in linked(writers.launch_text(stage), kernels.hlo_names[name], known)
        ]
        spelled = [
            line
            for name in dict.fromkeys(name for _, name in stages)
            for line in linked(kernels.texts[name], kernels.hlo_names[name], known)
            if not line.text.startswith("//")
        ]
        locations = location_of(writers.writer_of(stages[0][0])), location_of(writers.all_in_cuda)
        passes = dict(writers.WHY)
        if schedule and about in scheduled:
            _, *others = passes.items()
            passes = {schedule.name: schedule.why, **dict(others)}
        states.append(
            KernelState(about, "", "", None, code.get(about, ()), computes.get(about, ()))
        )
        states += [
            KernelState(about, name, why, location, tuple(code), (), tuple(steps))
            for (name, why), location, code, steps in zip(
                passes.items(), locations, (mapped, spelled), (applied[about], ()), strict=True
            )
        ]
    return states
