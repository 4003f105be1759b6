"""The loops of kernels, after each pass over them, as the C that they would be, or CUDA C."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from hlo.errors.error import HloError, did_you_mean
from hlo_tools.trace.kernels import kernel_states, pass_names

if TYPE_CHECKING:
    from collections.abc import Collection

    from emit_c.kernels.passes import KernelPass
    from hlo.instruction import Module
    from hlo_tools.trace.kernels import KernelState

_STEPS = 500_000
"""Chosen: statements of a kernel that are run to compare its memory, some seconds."""


def loops(
    module: Module,
    kernel: str | None = None,
    until: str | None = None,
    target: str = "cpu",
    *,
    steps: bool = False,
    prove: bool = False,
    schedule: KernelPass | None = None,
) -> str:
    """The loops of a module's kernels as they are written, and after each pass that changes them.

    Parameters
    ----------
    kernel : the instruction whose kernel is shown, with the register tiles that it calls; all
        kernels are, if none is named.
    until : the last pass that is shown.
    target : "cpu" for kernels of C, "gpu" for those of CUDA.
    steps : before the loops after a pass, show each loop transformation that the pass has applied.
    prove : show these, prove what each takes for granted, and run the loops before and after each
        pass to compare the memory that they leave.
    schedule : as of `kernel_states`.

    Raises
    ------
    HloError
        HLO204 if there is no such kernel or pass.
    IllegalError
        if a proof fails, or if a pass leaves other memory.
    """
    names = [*([schedule.name] if schedule else []), *pass_names(target)]
    if until is not None and until not in names:
        notes = did_you_mean(until, names) or (f"there are {', '.join(names)}",)
        raise HloError("HLO204", f"there is no pass over kernels `{until}`", notes=notes)
    shown = {"", *(names if until is None else names[: names.index(until) + 1])}
    states = kernel_states(module, target, schedule)
    expect_kernel(kernel, dict.fromkeys(state.kernel for state in states))
    chosen = [state for state in states if kernel in (None, state.kernel)]
    wanted = {name for state in chosen for name in (state.kernel, *state.tiles)}
    texts: list[str] = []
    last: dict[str, KernelState] = {}
    for state in states:
        if state.kernel in wanted and state.pass_ in shown and state.lines:
            title = f"after {state.pass_}" if state.pass_ else "as it is written"
            why = [f"//   {line}" for line in (*state.computes, *wrap(state.why, 95))]
            if steps or prove:
                texts += (_step(state, n, prove=prove) for n in range(len(state.steps)))
            if prove and state.pass_ and state.statements:
                why.append(f"//   {compared(last[state.kernel], state)}")
            last[state.kernel] = state
            texts.append("\n".join([f"// {state.kernel}: {title}", *why, *state.lines, ""]))
    return "\n".join(texts)


def expect_kernel(kernel: str | None, seen: Collection[str]) -> None:
    """Raise if an instruction is named, and none of the kernels is its kernel.

    Raises
    ------
    HloError
        HLO204.
    """
    if kernel is not None and kernel not in seen:
        note = f"there are those of {', '.join(seen)}" if seen else "there is none"
        raise HloError("HLO204", f"no kernel is that of `{kernel}`", notes=[note])


def _step(state: KernelState, number: int, *, prove: bool) -> str:
    """A loop transformation: its name and its reason, the loop, and the statements in its place."""
    from codegen.printer import text  # noqa: PLC0415 - a second of imports

    step = state.steps[number]
    head = f"// {state.kernel}: in {state.pass_}, step {number + 1} of {len(state.steps)}"
    lines = [f"{head}: {step.primitive}", f"//   legal, as {step.reason}"]
    if prove:
        # The solver is loaded only here.
        from hlo_tools.proofs.obligations import prove_obligations  # noqa: PLC0415

        lines += [f"//   {obligation}" for obligation in prove_obligations(step.obligations)]
    return "\n".join([*lines, text([step.before]).rstrip(), "// becomes", text(step.after)])


def compared(before: KernelState, after: KernelState) -> str:
    """Whether loops leave the same memory after a pass; numbers are integers, as sums may move.

    Raises
    ------
    IllegalError
        if they do not.
    """
    from codegen.interpret import UnsupportedError, final_memory  # noqa: PLC0415 - as above
    from codegen.schedule.legality import IllegalError  # noqa: PLC0415
    from codegen.statements import callees_in  # noqa: PLC0415

    if callees_in(before.statements) != callees_in(after.statements):
        return "not run: it calls other functions for the same values"
    try:
        want, got = (
            final_memory(kernel.statements, steps=_STEPS, functions=kernel.functions)
            for kernel in (before, after)
        )
    except UnsupportedError as error:
        return f"not run: {error}"
    if want != got:
        raise IllegalError(f"{after.pass_} changes what the kernel of {after.kernel} leaves")
    return "run: it leaves the same memory as before"
