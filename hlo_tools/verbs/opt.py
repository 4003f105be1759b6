"""Optimize a module: by the standard pipeline of a target, or by chosen passes.

    hlo opt m.hlo --log-diff
    hlo opt m.hlo --passes cse,dce -o smaller.hlo
    hlo opt m.hlo -o optimized.mlir
    hlo opt m.hlo --passes my_pass.py:MyPass
    hlo opt m.hlo --stage c
    hlo opt m.hlo --stage asm --kernel add_fusion
    hlo opt m.hlo --stage loops --kernel add_fusion
    hlo opt m.hlo --stage loops --schedule my_schedule.py:tiled
    hlo opt m.hlo --stage loops --target gpu --schedule my_schedule.py:grid
    hlo opt m.hlo --dump-to dumps
    hlo opt m.hlo --prove
    hlo opt m.hlo --stage loops --prove

The verifier looks at the module after every pass that changed it.

--prove tells on standard error, after each pass that changed something, whether the module computes
the same for all arguments at these shapes: "proved"; "proved but for N of its rewrites", which are
named with the reason and sampled, for example since a rule promises only ROUNDING; or "refuted",
with arguments for which the interpreter gives something else. Then the exit status is 1 and nothing
is written. A rewrite is proved if both sides have the same elements, if the SMT solver finds no
difference whatever its operands are, or if a rule made it that `hlo rules` records as proved. Of
loops it is proved what they give when they end, and of sums that they add the same in an order that
is XLA's to choose. With --stage loops it also shows the loop transformations of each kernel, as
--steps does, and proves what each takes for granted: that all iterations are done, once, in order;
at which distances, in iterations, two accesses meet; that a condition never changes; that numbers
may be folded in any order. What the author of a loop has promised, and no solver can tell, is said
to be "promised". The loops before and after each pass are run on one input as well.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegen.schedule.legality import IllegalError
from emit_c.program.assigned import assigned
from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.drawing.pictures.picture import picture
from hlo_tools.options.files import (
    BETWEEN,
    add_file,
    add_output_option,
    add_split_option,
    chosen_modules,
    write_text,
)
from hlo_tools.options.inputs import INPUT_OPTIONS, add_input_options, input_maker, make_inputs
from hlo_tools.options.pipelines import add_pipeline_options, chosen_pipeline, pass_in
from hlo_tools.options.written import ENDS, is_text, write_module
from hlo_tools.proofs.watching import ProvePasses, add_proof_options, chosen_limits
from hlo_tools.stages import OF_CODE, OF_CUDA, STAGES, code_files, stage_text
from hlo_tools.trace.changes import Tell
from hlo_tools.trace.values import Values
from hlo_tools.trace.write import MOST_EVALUATED, is_small, trace_data, trace_text
from optimizer.log import Log, Observer, Silent
from optimizer.observers import Advise, CheckValues, Dump, Print, Timer, Verify
from optimizer.pipelines import code_passes

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from optimizer.log import Pass


class Reached(BaseException):
    """The pass after which to stop has run; it is no error, and nobody else may catch it."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module


class PassRefuted(Exception):  # noqa: N818 - it is an answer
    """A pass was refuted."""


class Until(Silent):
    """Stops after the first run of a pass."""

    def __init__(self, name: str) -> None:
        self.name = name

    def after(self, pass_: Pass, before: Module, after: Module, log: Log) -> None:  # noqa: ARG002
        """Stop, if it was this one."""
        if pass_.name == self.name:
            raise Reached(after)


FINE, WRONG = 0, 1
# The stages that an option is about.
_STAGES_OF = {
    "--kernel": ("loops", "asm"),
    "--steps": ("loops",),
    "--schedule": ("loops", "c", "asm", *OF_CUDA),
    "--plain": ("c", "asm"),
    "--arch": ("ptx", "sass"),
    "--explain-launch": ("cuda",),
}


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    add_pipeline_options(parser)
    parser.add_argument("--until", metavar="PASS", help="stop after the first run of this pass")
    parser.add_argument("--fuel", type=at_least(0), metavar="N", help="stop after N rewrites")
    parser.add_argument(
        "--skip",
        metavar="N",
        type=at_least(1),
        action="append",
        default=[],
        help="leave out rewrite number N, as --log counts them",
    )
    parser.add_argument("--log", action="store_true", help="show every rewrite on standard error")
    parser.add_argument(
        "--log-diff",
        action="store_true",
        help="show every rewrite with the instructions before and after",
    )
    parser.add_argument(
        "--time", action="store_true", help="show each pass's CPU seconds on standard error"
    )
    parser.add_argument(
        "--print-after",
        metavar="PASS",
        action="append",
        help="print the module on standard error after each run of this pass that changed it; "
        "`all` is every pass",
    )
    parser.add_argument(
        "--dump-to",
        metavar="DIR",
        help="write the modules between passes, the memory and the code, under XLA's names",
    )
    parser.add_argument(
        "--check-values",
        action="store_true",
        help="interpret the module before and after each pass, and compare the results",
    )
    add_input_options(parser)
    parser.only_with(INPUT_OPTIONS, "--check-values", "--trace")
    parser.add_argument(
        "--prove",
        action="store_true",
        help="prove after each pass that the module computes the same, or find arguments for which "
        "it does not",
    )
    add_proof_options(parser)
    parser.add_argument(
        "--stage",
        choices=STAGES,
        default="hlo",
        help="print the module (hlo, the default), its buffer assignment, its kernels' loops after "
        "each kernel pass (--until one of these), its C, the assembly below each line of that, "
        "its CUDA C, the PTX or SASS of that, or its graph as `hlo graph` draws it (dot, svg)",
    )
    parser.add_argument(
        "--kernel",
        metavar="NAME",
        help="print the loops or the assembly of this instruction's kernel only",
    )
    parser.add_argument(
        "--steps",
        action="store_true",
        help="with --stage loops: show each loop transformation of a kernel pass, and its reason",
    )
    parser.add_argument(
        "--schedule",
        metavar="FILE.py:NAME",
        help="with --stage loops, c, asm, cuda, ptx or sass: transform plain loops as this "
        "function of yours says, which is given `body` and a loop, and returns statements "
        "(docs/howto/schedule-loops.md); --kernel chooses one kernel's",
    )
    parser.add_argument("--svg", metavar="FILE", help="draw when and where arrays lie")
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write passes, rewrites, rules, values, loops, C and memory as JSON (docs/trace.md)",
    )
    add_split_option(parser)
    parser.not_with("--split-input", "--trace", "--svg", "--dump-to", "--stage dot", "--stage svg")
    parser.not_with("--trace", "--fuel", "--skip", "--until")
    parser.not_with("--log", "--log-diff")
    parser.not_with("--target=cpu", *(f"--stage {stage}" for stage in OF_CUDA))
    parser.add_argument(
        "--plain",
        action="store_true",
        help="with --stage c or asm: scalar loops as one would write them by hand, without "
        "kernel passes",
    )
    parser.add_argument(
        "--arch",
        metavar="SM",
        help="with --stage ptx or sass: a GPU, such as sm_80 (default sm_90)",
    )
    parser.add_argument(
        "--explain-launch",
        metavar="GPU",
        help="with --stage cuda: print for each launch the occupancy of this GPU (H100, sm_90), "
        "the memory transactions, and the least time",
    )
    add_output_option(parser, f"write to a file: {ENDS}, else text")


def run(arguments: Namespace) -> int:
    """Print each module optimized."""
    modules = chosen_modules(arguments)
    _refuse_other_stages(arguments)
    if arguments.stage in OF_CUDA:
        arguments.target = "gpu"
    timer = Timer()
    try:
        results = [optimized(module, arguments, timer) for module in modules]
    except PassRefuted:
        return WRONG
    try:
        write_results(results, arguments)
    except IllegalError as error:
        tell(f"a loop transformation is refuted: {error}")
        return WRONG
    if arguments.time:
        print(timer.report(), file=sys.stderr)
    return FINE


def write_results(results: Sequence[tuple[Module, str | None]], arguments: Namespace) -> None:
    """Write each module at the stage that is asked for."""
    if is_text(arguments.output) or arguments.stage != "hlo":
        texts = [
            stage_text(
                module,
                arguments.stage,
                target=arguments.target,
                plain=arguments.plain,
                kernel=arguments.kernel,
                until=last,
                steps=arguments.steps,
                prove=arguments.prove,
                schedule=arguments.schedule,
                architecture=arguments.arch,
                explain_launch=arguments.explain_launch,
            )
            for module, last in results
        ]
        write_text(arguments.output, f"{BETWEEN}\n".join(texts))
    elif len(results) > 1:
        message = f"{arguments.output} holds one module, not {len(results)}"
        raise HloError("HLO204", message)
    else:
        write_module(arguments.output, results[0][0])


def _refuse_other_stages(arguments: Namespace) -> None:
    """Refuse an option that is about another stage than the one that is shown."""
    for option, stages in _STAGES_OF.items():
        of_a_schedule = option == "--kernel" and arguments.schedule and arguments.stage == "c"
        value: object = getattr(arguments, option[2:].replace("-", "_"))
        if value and arguments.stage not in stages and not of_a_schedule:
            raise HloError("HLO204", f"{option} asks for --stage {' or '.join(stages)}")


def optimized(module: Module, arguments: Namespace, timer: Timer) -> tuple[Module, str | None]:
    """A module after the passes, and the kernel pass up to which its loops are to be shown."""
    until, last = arguments.until, None
    if arguments.stage == "loops":
        until, last = None, arguments.until  # it is a pass over kernels, not one over the module
    passes = chosen_pipeline(arguments)
    if arguments.trace:
        write_text(arguments.trace, trace_text(traced(module, passes, arguments)))
    if arguments.stage in OF_CODE:
        passes = replace(passes, passes=(*passes.passes, code_passes(arguments.target)))
    watching = [Verify(), timer, Advise(tell), *observers(module, passes, arguments, until)]
    log = Log(watching, fuel=arguments.fuel, skip=frozenset(arguments.skip))
    try:
        module = log.run(passes, module)
    except Reached as reached:
        module = reached.module
    tell_proofs(watching)
    beyond = [number for number in arguments.skip if number > log.numbers]
    if beyond:
        message = f"there is no rewrite {beyond[0]} to skip"
        raise HloError("HLO204", message, notes=[f"there are {log.numbers}; --log shows them"])
    for dump in watching:
        if isinstance(dump, Dump) and not until:
            dump_code(module, dump)
    if arguments.svg:
        write_text(arguments.svg, picture(assigned(module).assignment))
    return module, last


def tell_proofs(watching: Sequence[Observer]) -> None:
    """Tell how much of all passes is proved.

    Raises
    ------
    PassRefuted
        if one of them is refuted.
    """
    for observer in watching:
        if isinstance(observer, ProvePasses):
            tell(observer.total())
            if observer.refuted:
                raise PassRefuted


def tell(line: str) -> None:
    """Write a line beside the output."""
    print(line, file=sys.stderr)


def dump_code(module: Module, dump: Dump) -> None:
    """Write the memory and the code of an optimized module; say which files cannot be made."""
    for end, write in code_files(module, dump.target):
        try:
            text = write()
        except HloError as error:
            why = "; ".join([error.message, *error.notes])
            print(f"--dump-to writes no .{end} file: {why}", file=sys.stderr)
        else:
            dump.write(end, text)


def traced(module: Module, passes: Pass, arguments: Namespace) -> dict[str, Any]:
    """The trace of a module, with values if it is small; with all up to a pass that fails."""
    inputs = input_maker(module, arguments)
    values = Values(inputs, MOST_EVALUATED) if is_small(module) else None
    return trace_data(module, passes, values, target=arguments.target)


def observers(
    module: Module, passes: Pass, arguments: Namespace, until: str | None
) -> list[Observer]:
    """The observers that options ask for; the one that stops comes last."""
    watching: list[Observer] = []
    if arguments.log or arguments.log_diff:
        watching.append(Tell(whole=arguments.log_diff))
    if arguments.print_after:
        chosen = [pass_in(passes, name) for name in arguments.print_after if name != "all"]
        only = () if "all" in arguments.print_after else chosen
        watching.append(Print(sys.stderr.write, only))
    if arguments.dump_to:
        target = "" if arguments.passes else arguments.target
        watching.append(Dump(Path(arguments.dump_to), target))
    if arguments.check_values:
        watching.append(CheckValues([tuple(wanted) for wanted in make_inputs(module, arguments)]))
    if arguments.prove:
        watching.append(ProvePasses(tell, chosen_limits(arguments)))
    if until:
        watching.append(Until(pass_in(passes, until)))
    return watching
