"""The examples on the pages of opcodes: which module, run on which numbers, and what came out.

A module for several devices runs on as many, each with numbers of its own, and the host sends what
the module takes from it.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.files import load
from hlo.opcode import OPCODES
from hlo.types.element_type import F32, PRED, S32
from hlo_tools.drawing.influence import is_telling
from hlo_tools.exercises.cases import one_instruction
from hlo_tools.generate.seeds import all_seeds
from hlo_tools.values.arrays import tree
from interpreter.engine.device import Device
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Evaluation

# An example with so many elements shows something, and fits into a line or two.
WANTED, MOST_LINES = 6, 24
# Of the examples that are good to read, so many are tried for a picture that says something.
TRIED = 10
# Where no generator makes a good one.
FOLDER = Path(inspect.getfile(load)).parents[1] / "docs" / "opcodes" / "examples"
# How much larger the numbers of each device are than those of the one before it.
APART = 10


@dataclass(frozen=True)
class Example:
    """A module that was run.

    Attributes
    ----------
    given : the arguments of each device.
    sent : by the host, before the run: with the name of the instruction that takes it.
    results : the value of each device.
    steps : the instructions of the entry computation in the order in which the first device ran
        them, with their values.
    taken : by the host, after the run.
    """

    module: Module
    arguments: list[list[Any]]
    sent: list[tuple[str, Any]]
    results: list[Any]
    steps: list[tuple[Instruction, Any]]
    taken: list[Any]

    @property
    def first(self) -> list[Any]:
        """The arguments of the first device."""
        return self.arguments[0]


def example_of(name: str) -> Example:
    """The example on the page of an opcode, which was run."""
    return run_example(module_with(name))


def module_with(name: str) -> Module:
    """A small module with an opcode; of several the one of which a picture says most."""
    # An opcode that ends or updates an operation is where that begins.
    for written in (name, re.sub("-(done|update)$", "-start", name)):
        if (path := FOLDER / f"{written}.hlo").exists():
            return load(path)
    examples = own_examples(name)
    if not examples:
        return found_example(name)
    telling = (m for m in examples[:TRIED] if is_telling(m, numbers_for(m)))
    return examples[0] if OPCODES[name].elementwise else next(telling, examples[0])


def run_example(module: Module) -> Example:
    """A module, run on numbers that are easy to read."""
    count = module.header.replica_count * module.header.num_partitions
    arguments = [numbers_for(module, number * APART) for number in range(count)]
    devices = [Device() for _ in range(count)]
    steps: list[tuple[Instruction, Any]] = []

    def observe(event: Evaluation) -> None:
        if event.device is devices[0] and len(event.path) == 1:
            steps.append((event.instr, event.value))

    sent = Host(module, devices).send()
    results: Any = evaluate(module, per_device=arguments, devices=devices, observe=observe)
    taken = [v for d in devices for v in (*d.outfeed, *(x for q in d.to_host.values() for x in q))]
    return Example(module, arguments, sent, results, steps, taken)


@dataclass
class Host:
    """The host outside of the devices, which sends them the inputs of a module."""

    module: Module
    devices: Sequence[Device]
    sent: list[tuple[str, Any]] = field(default_factory=list[Any])

    def send(self) -> list[tuple[str, Any]]:
        """Fill the queues of all devices; gives the values sent to the first one."""
        for instr in self.module.instructions():
            attrs: Any = instr.attrs
            if instr.opcode == "infeed":
                value = plain(instr.shape.elements[0])
                for device in self.devices:
                    device.infeed.append(value)
            elif instr.opcode == "recv" and attrs.is_host_transfer:
                value = plain(instr.shape.elements[0])
                for device in self.devices:
                    device.from_host.setdefault(attrs.channel_id, type(device.infeed)()).append(
                        value
                    )
            else:
                continue
            self.sent.append((instr.name, value))
        return self.sent


def numbers_for(module: Module, above: int = 0) -> list[Any]:
    """Numbers that are easy to read, for the parameters of a module.

    Parameters
    ----------
    above : which number to begin after.
    """
    root = module.entry.root
    # Of two equal operands, the difference says nothing.
    shifted = OPCODES[root.opcode].elementwise and len(set(root.operands)) > 1
    numbers = enumerate(module.entry.parameters)
    return [plain(p.shape, above, shifted=shifted and n % 2 == 1) for n, p in numbers]


def plain(shape: Shape, above: int = 0, *, shifted: bool = False) -> Any:
    """Numbers that are easy to read: 1, 2, 3, ..., halves and quarters of them for floats."""

    def numbers(leaf: Shape) -> Any:
        count = np.roll(np.arange(1, leaf.size + 1), leaf.size // 2 if shifted else 0)
        if leaf.element_type is PRED:
            count = count % 2
        else:
            count = above + (count if leaf.element_type.is_integer else count / 4)
        return count.astype(leaf.element_type.dtype).reshape(leaf.dims)

    return tree(shape, numbers)


def own_examples(name: str) -> list[Module]:
    """One instruction on parameters, made to fit; the best to read first."""
    try:
        cases = list(one_instruction(name, 30, (F32, S32, PRED), plain=True))
    except KeyError:
        return []
    modules = [case.module for case in cases if case.module.entry.root.opcode == name]
    return sorted(modules, key=oddness)


def oddness(module: Module) -> tuple[int, int]:
    """The distance of a module from one that is good to read."""
    sizes = [s.size for i in module.instructions() for _, s in i.shape.leaves()]
    odd = sum(
        not i.shape.is_array or not i.shape.dims or i.shape.element_type is PRED
        for i in module.entry.instructions
    )
    return sum(abs(size - WANTED) for size in sizes) + 2 * odd, len(str(module))


def found_example(name: str) -> Module:
    """The shortest of the modules that come with the project.

    Raises
    ------
    LookupError
        if none is short: one belongs into the folder of examples.
    """
    seeds = [s for s in all_seeds() if name in s.opcodes and s.module is not None]
    best = min((s.module for s in seeds), key=lambda m: len(str(m)), default=None)
    if best is None or str(best).count("\n") > MOST_LINES:
        raise LookupError(f"{name} has no example of at most {MOST_LINES} lines: write one")
    return best
