"""The `hlo` command: finds the verb, runs it, and prints any error as one message.

Verbs are imported when they are used, and this file imports nothing of the project but a parser
that imports nothing, so that `hlo --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from hlo_tools.arguments import Parser

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import TextIOWrapper

# One line a verb, by purpose; `hlo_tools.verbs.<verb>` does the work, with `_` for `-`.
VERBS_BY_PURPOSE: Final = {
    "run a module and look at it": {
        "run": "run a module, and compare it with a reference",
        "print": "print a module as XLA prints it",
        "verify": "check that modules are well formed",
        "stats": "count opcodes, bytes and operations of a module",
        "graph": "draw a module as a graph",
        "diff": "compare two modules instruction by instruction",
        "ops": "list the opcodes, and which functions define each",
    },
    "optimize it, and see how": {
        "opt": "optimize a module, by a standard pipeline or by chosen passes",
        "step": "step through the optimizer's rewrites, forwards and backwards",
        "view": "write a page that shows every pass and rewrite, for a browser",
        "why": "explain why instructions are fused, copied or laid out so",
        "passes": "list the optimizer's passes and their options",
        "rules": "list the optimizer's rewrite rules, each with its promise",
        "timeline": "draw when each instruction would run on a GPU",
    },
    "transform it": {
        "grad": "differentiate a module: value and gradients",
        "vmap": "batch a module: one run for many examples",
    },
    "test a compiler, and find a mistake": {
        "check": "test a pass or a rule of your own on generated modules",
        "bisect": "find the rewrite that makes the optimizer's result wrong",
        "minimize": "make a failing module as small as it can be",
        "accuracy": "measure how far results are from those in f64",
        "report-bug": "pack a run that goes wrong into a zip, as a report",
        "replay": "run a packed report again",
    },
    "from and to other programs": {
        "jax": "run a script that uses JAX, and watch its modules",
        "tf": "run a script that uses TensorFlow, with its parts compiled",
        "torch": "run a script that uses PyTorch, with its models compiled",
        "pjrt": "write PyHLO as a PJRT library, for other languages to load",
        "aot": "write a module as C files that build without Python",
        "cuda-host": "run a kernel of CUDA C on the processor, and find its mistakes",
    },
    "learn and teach": {
        "exercise": "check an exercise of the course",
        "assignment": "make and grade assignments with planted bugs",
        "explain": "tell what an error code means",
        "explore": "serve a page: an editor, and beside it what the compiler does",
        "lsp": "start a language server, for an editor",
        "doctor": "look at the installation, and say what is missing",
    },
}
VERBS: Final = {verb: line for verbs in VERBS_BY_PURPOSE.values() for verb, line in verbs.items()}

FINE: Final = 0
BAD_INPUT: Final = 2
# The status that a shell reports for a program ended by a signal: 128 + SIGINT, 128 + SIGPIPE.
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; it never shows a traceback by itself."""
    words = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    # HLO may carry bytes that are no UTF-8; they were read as surrogates and go out as bytes.
    cast("TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8", errors="surrogateescape")
    cast("TextIOWrapper", sys.stderr).reconfigure(errors="backslashreplace")
    try:
        status = dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("hlo: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        leave_standard_output()
        return PIPE_CLOSED
    except OSError as error:
        if error.filename is not None:
            return report(of_file(error))
        leave_standard_output()
        print(f"hlo: cannot write: {error.strerror}", file=sys.stderr)
        return BAD_INPUT
    except Exception as error:
        return report(error)
    return status


def open_streams() -> None:
    """Let each standard stream that was closed by the caller be an empty one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  it stays open


def leave_standard_output() -> None:
    """Drop unwritten output: Python flushes at its end, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def dispatch(words: list[str]) -> int:
    """Run the verb that the first word names on the words after it."""
    if words[:1] == ["help"]:
        return of_help(words[1:])
    if not words or words[0] not in VERBS:
        return without_verb(words)
    verb = import_module(f"hlo_tools.verbs.{words[0].replace('-', '_')}")
    parser = Parser(prog=f"hlo {words[0]}", description=verb.__doc__)
    verb.add_arguments(parser)
    return verb.run(parser.parse(words[1:]))


def of_help(words: list[str]) -> int:
    """Answer `hlo help` and `hlo help VERB`."""
    if not words:
        without_verb([])
        return FINE
    return dispatch([words[0], "--help"])


def without_verb(words: list[str]) -> int:
    """Answer a command line that names no verb: with help, the version, or a refusal."""
    width = max(map(len, VERBS))
    verbs = "\n".join(
        "\n".join([f"\n{purpose}:", *(f"  {v:{width}}  {summary}" for v, summary in of_it.items())])
        for purpose, of_it in VERBS_BY_PURPOSE.items()
    )
    parser = Parser(
        prog="hlo",
        usage="hlo VERB [OPTION ...] [FILE ...]",
        description=f"PyHLO: tools that print, check, run, optimize and compile HLO.\n{verbs}",
        epilog="`hlo help VERB` tells more. A FILE `-` is standard input.\n"
        "Exit status: 0 fine, 1 a comparison failed, 2 bad input or usage.",
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    if words and not words[0].startswith("-"):
        near = get_close_matches(words[0], list(VERBS), n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(VERBS)}"
        parser.error(f"there is no verb `{words[0]}`; {hint}")
    if parser.parse(words).version:
        from importlib.metadata import version  # noqa: PLC0415  it imports a lot

        print("hlo", version("pyhlo"))
        return FINE
    parser.print_help()
    return BAD_INPUT


def of_file(error: OSError) -> Exception:
    """The error of a file that the system refuses, such as one with too long a name."""
    from hlo.errors.error import HloError  # noqa: PLC0415

    return HloError("HLO200", f"cannot use {error.filename}: {error.strerror}")


def report(error: Exception) -> int:
    """Print the error on standard error, in one message."""
    if isinstance(error, ImportError):
        from hlo_tools.rooms import explain_files, in_the_way  # noqa: PLC0415

        if in_the_way_files := in_the_way():
            print(f"hlo: {explain_files(in_the_way_files)}", file=sys.stderr)
            return BAD_INPUT
    from hlo.errors.error import HloError  # noqa: PLC0415

    if os.environ.get("HLO_DEBUG"):
        raise error
    if isinstance(error, HloError):
        print(error, file=sys.stderr)
    elif isinstance(error, MemoryError):
        print(f"hlo: not enough memory: {error}", file=sys.stderr)
    else:
        report_line = f"hlo: internal error: {type(error).__name__}: {error}".replace("\n", " ")
        print(f"{report_line}; please report it (HLO_DEBUG=1 shows where)", file=sys.stderr)
    return BAD_INPUT
