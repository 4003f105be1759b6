"""Hold a pass of your own against the interpreter.

PASS is `my_pass.py:MyPass`, a class or an object with a `name` and `run(module, log)`, or the text
of a pipeline such as `cse,dce`. It runs on random modules, and on the FILEs if any are given. It
must keep values as exactly as its `promise` says (every bit, if it has none), make well-formed
modules, leave nothing for a second run, and do nothing without fuel. The smallest module found on
which it does not is printed, with its arguments, and the exit status is 1.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, did_you_mean
from hlo.types.element_type import ELEMENT_TYPES
from hlo_tools.check import Failure, find_failure, shrink
from hlo_tools.files import read_sound_module
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.operands import TYPES
from hlo_tools.generate.values import nasty, tame
from interpreter.numbers.compare import BITS
from optimizer.log import Log
from optimizer.observers import promise_of
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from optimizer.log import Pass

RIGHT, WRONG = 0, 1
# What every pass keeps exactly, however little it promises for floats.
EXACT = tuple(t for t in TYPES if t.is_integer or t is ELEMENT_TYPES["pred"])


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("pass_", metavar="PASS", help="my_pass.py:MyPass, or names of passes")
    parser.add_argument("files", metavar="FILE", nargs="*", help="also run on these modules")
    parser.add_argument("--examples", type=int, default=200, help="random modules (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the modules (default 0)")


def run(arguments: Namespace) -> int:
    """Look for a module on which the pass is wrong."""
    checked = find_pass(arguments.pass_)
    count = changed = 0
    for module, given in examples(checked, arguments):
        failure = find_failure(checked, module, given)
        if failure is not None:
            print(report(checked, failure, count))
            return WRONG
        count += 1
        changed += checked.run(module, Log()) is not module
    print(f"{checked.name} is right on {count} modules; it changes {changed} of them")
    return RIGHT


def examples(checked: Pass, arguments: Namespace) -> Iterator[tuple[Module, list[Any]]]:
    """The files first, and then random modules, each with arguments."""
    random = Random(arguments.seed)
    for path in arguments.files:
        module = read_sound_module(path)
        yield module, [tame(p.shape, random) for p in module.entry.parameters]
    types = TYPES if promise_of(checked) == BITS else EXACT
    for _ in range(arguments.examples):
        module = random_module(random, types=types)
        yield module, [nasty(p.shape, random) for p in module.entry.parameters]


def report(checked: Pass, failure: Failure, count: int) -> str:
    """What is wrong, on the smallest module on which it is."""
    smallest = shrink(checked, failure)
    return f"{checked.name} is wrong, after {count} modules on which it is right\n\n{smallest}"


def find_pass(text: str) -> Pass:
    """The pass that a text names.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO204 if it has no such pass, HLO150 to HLO152 for a
        pipeline that makes no sense.
    """
    path, colon, name = text.rpartition(":")
    if not colon:
        pipeline = parse_pipeline(text)
        return pipeline.passes[0] if len(pipeline.passes) == 1 else pipeline
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise HloError("HLO200", f"cannot read {path}: it is no Python file")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    found: Any = getattr(loaded, name, None)
    if found is None:
        raise HloError("HLO204", f"{path} has no `{name}`", notes=did_you_mean(name, dir(loaded)))
    return found() if isinstance(found, type) else found
