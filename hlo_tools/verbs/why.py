"""Tell why the optimizer decides as it does.

    hlo why fuse FILE A B     why A is computed in the kernel of B, or not
    hlo why layout FILE A     why A has its layout, and what others would cost
    hlo why library FILE A    why a library would compute A, or a kernel
    hlo why copy FILE A       why A is copied; or why A is, if it is a copy
    hlo why remat FILE A      why A could be computed again, or not
    hlo why shard FILE A      who decided how devices cut A, and the bytes sent

The answer names the rule and its numbers; below it is where the instructions come from. The
file is taken as it is; `hlo opt` shows what the passes before that one make of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.read.stack_frames import source_location
from hlo.wording import counted
from hlo_tools.options.files import add_file, read_sound_module
from hlo_tools.reasons.fusion import why_fused
from hlo_tools.reasons.layout import why_layout
from hlo_tools.reasons.memory import why_copied, why_recomputed
from hlo_tools.reasons.partitioning import why_sharded
from optimizer.libraries.library import why_library

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser

# Who answers each kind of question, and how many instructions it is about.
QUESTIONS: dict[str, tuple[Callable[..., object], int]] = {
    "copy": (why_copied, 1),
    "fuse": (why_fused, 2),
    "layout": (why_layout, 1),
    "library": (why_library, 1),
    "remat": (why_recomputed, 1),
    "shard": (why_sharded, 1),
}


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("question", choices=tuple(QUESTIONS), help="the kind of decision")
    add_file(parser)
    parser.add_argument("names", metavar="A", nargs="*", help="names of instructions")
    parser.add_argument(
        "--target",
        choices=("cpu", "gpu"),
        default="cpu",
        help="the machine for which is decided (default cpu)",
    )
    # Copies are inserted, values computed again and arrays cut by the same rules for all.
    parser.only_with(("--target",), "question fuse", "question layout", "question library")


def run(arguments: Namespace) -> int:
    """Print the decision, the rule and the numbers.

    Raises
    ------
    HloError
        HLO158 if the question is about more or fewer instructions, or about one twice.
    """
    answer, count = QUESTIONS[arguments.question]
    if len(arguments.names) != count:
        asked_names = f"{len(arguments.names)} given"
        wanted = counted(count, "instruction")
        names = " ".join("AB"[:count])
        notes = [f"usage: hlo why {arguments.question} FILE {names}"]
        raise HloError(
            "HLO158", f"why {arguments.question} asks about {wanted}, {asked_names}", None, notes
        )
    module = read_sound_module(arguments.file, arguments.entry)
    text = answer(module, *arguments.names, target=arguments.target)
    if len({name.removeprefix("%") for name in arguments.names}) < count:
        raise HloError("HLO158", f"why {arguments.question} asks about two instructions, not one")
    print(text)
    for name in arguments.names:
        print(f"  {runs_in(module, name.removeprefix('%'))}")
    return 0


def runs_in(module: Module, name: str) -> str:
    """An instruction, where it is in the text, and where the user wrote it."""
    instr = next(i for i in module.instructions() if i.name == name)
    where = f"{instr.span.source.name}:{instr.span.line}: " if instr.span else ""
    user = source_location(module, instr)
    return f"{where}{instr!r}{f' from {user}' if user else ''}"
