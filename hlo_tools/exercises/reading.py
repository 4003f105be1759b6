"""Exercises of chapters 1 to 3: count, read and walk."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

import hlo
from hlo.build import Builder, module
from hlo.errors.error import HloError
from hlo.read.value_text import read
from hlo.types.element_type import ELEMENT_TYPES, F32
from hlo.types.shape import array
from hlo.walk import post_order, users
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls, same_truth
from hlo_tools.exercises.exercise import Exercise, course_folder
from hlo_tools.exercises.finding import Mistake
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.random_shapes import random_shape
from hlo_tools.generate.values import tame
from hlo_tools.stats import stats
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import compare
from optimizer.rewriting.guard import Match
from optimizer.rewriting.guards import reciprocal_is_exact
from optimizer.rewriting.make import constant
from optimizer.rewriting.pattern import c

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Computation, Instruction, Module
    from hlo_tools.exercises.exercise import SearchEffort, Submission

# A chain of so many instructions is deeper than Python's recursion goes.
DEEP = 3400


def random_modules(count: int) -> Iterator[Module]:
    """Modules to try a function on, always the same, small ones first."""
    for seed in range(count):
        yield random_module(Random(f"course/{seed}"), 1 + 8 * seed // count)


def deep_module() -> Module:
    """A chain of negations, deeper than Python may recurse."""
    builder = Builder()
    last = builder.parameter(array(F32, (2,)))
    for _ in range(DEEP):
        last = builder.add("negate", last)
    return module(builder.build())


def own_opcode_counts(program: Module) -> dict[str, int]:
    """The number of instructions of each opcode, as `hlo stats` counts."""
    return stats(program).opcodes


# The smallest module of two computations that is good to read.
SUM = """HloModule small
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[8] parameter(0)
  zero = f32[] constant(0)
  ROOT total = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
}"""


def check_opcode_counts(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Compare the counts on random modules."""
    modules = [hlo.parse(SUM), *random_modules(min(effort.examples, 40))]
    calls = [ShownCall((m,), str(m).rstrip()) for m in modules]
    return compare_calls(answer, "opcode_counts", own_opcode_counts, calls, same=same_counts)


def same_counts(want: Any, got: Any) -> bool:
    """Equal dictionaries; a Counter may hold zeros besides."""
    return dict(want) == {k: n for k, n in got.items() if n}


def own_exact(number: np.float32) -> bool:
    """The guard of the rule `x / c => x * (1 / c)`."""
    number_node = constant(np.asarray(number))
    match = Match(number_node, {"c": number_node}, {}, {})
    return reciprocal_is_exact(c).holds(match)


def check_exact(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Ask about powers of two, numbers beside them, and the special ones."""
    random = Random(1)
    powers = [2.0**n for n in range(-149, 128)]
    beside = [x * f for x in powers[20:250:9] for f in (1.5, 1.25, 3.0, 1 - 2**-24)]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 3.0, 10.0, 0.1, 1 / 3]
    drawn = [random.uniform(-100, 100) for _ in range(effort.examples)]
    signed = [sign * x for x in powers + beside for sign in (1, -1)]
    with np.errstate(all="ignore"):
        numbers = [np.float32(x) for x in special + signed + drawn]
    calls = [ShownCall((x,), f"reciprocal_is_exact({x!r})") for x in numbers]
    return compare_calls(answer, "reciprocal_is_exact", own_exact, calls, same=same_truth)


def own_shape_text(name: str, dims: tuple[int, ...], order: tuple[int, ...] | None) -> str:
    """A shape as HLO spells it."""
    shape = array(ELEMENT_TYPES[name], dims)
    layout = type(shape.layout)(order) if shape.layout and order is not None else None
    return (shape.with_layout(layout) if layout else shape.without_layout).text


def check_shape_text(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Spell random shapes."""
    calls: list[ShownCall] = []
    for seed in range(effort.examples):
        random = Random(seed)
        shape = random_shape(random, tuple(ELEMENT_TYPES[n] for n in ("f32", "bf16", "s8", "pred")))
        order = random.sample(range(shape.rank), shape.rank)
        arguments = (shape.element_type.name, shape.dims, random.choice((tuple(order), None)))
        calls.append(ShownCall(arguments, f"shape_text{arguments!r}"))
    return compare_calls(answer, "shape_text", own_shape_text, calls, show=repr)


def own_read_slice(text: str) -> list[tuple[int, int, int]]:
    """The limits and strides that the grammar reads in `{[0:4:2], [1:3]}`."""
    return [(s.start, s.limit, s.stride) for s in read("slice_ranges", text, None)]


SLICES = (
    "{}", "{[0:4]}", "{[0:4:2]}", "{[0:4], [1:3]}", "{[0:4],[1:3:1]}", "{ [ 0 : 8 : 3 ] }",
    "{[10:12]}", "[0:4]", "{[0:4}", "{[0-4]}", "{[:4]}", "{[0:]}", "{[0:4:]}", "{[0:4:2:1]}",
    "{[0:4] [1:3]}", "{[0:4],}", "{[0:4]} ", "{[a:b]}", "{[0:4]}}", "{0:4}", "", "{,}",
)  # fmt: skip


def check_read_slice(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Read right and wrong texts."""
    random = Random(2)
    texts: list[str] = list(SLICES)
    for _ in range(effort.examples // 4):
        parts = [
            ":".join(str(random.randint(0, 99)) for _ in range(random.choice((2, 3, 3))))
            for _ in range(random.randint(1, 3))
        ]
        texts.append("{" + ", ".join(f"[{part}]" for part in parts) + "}")
    calls = [ShownCall((text,), f"read_slice({text!r})") for text in texts]
    return compare_calls(
        answer, "read_slice", own_read_slice, calls, same=same_slices, show=repr, may_refuse=True
    )


def same_slices(want: Any, got: Any) -> bool:
    """Equal triples in order."""
    return [tuple(x) for x in want] == [tuple(x) for x in got]


def own_softmax() -> str:
    """The model itself, in which nothing is wrong."""
    return (course_folder() / "models" / "softmax.hlo").read_text()


def check_mended(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """The text must be well formed, and give the same as the model."""
    name = answer.path.name if answer.path else "softmax.hlo"
    text = answer["softmax"]
    if UNMENDED.search(text):
        return Mistake("unwritten", "softmax is not written yet: no mistake in it is fixed")
    try:
        got = hlo.parse(text, name)
        hlo.verify(got)
    except HloError as error:
        return Mistake("wrong", "there is still a mistake in it", str(error))
    want = hlo.parse(own_softmax())
    if [p.shape.dims for p in got.entry.parameters] != [
        p.shape.dims for p in want.entry.parameters
    ]:
        return Mistake("wrong", "it takes other arguments than softmax.hlo")
    random = Random(3)
    for _ in range(min(effort.examples, 5)):
        inputs = [tame(p.shape, random) for p in want.entry.parameters]
        differs = compare(evaluate(got, *inputs), evaluate(want, *inputs))
        if differs:
            return Mistake("wrong", f"it is well formed, but no softmax: {differs}")
    return None


UNMENDED = re.compile(r"ENTRY main \(scores: f32\[4,8\]\) -> f32\[4,9\]")


@inside
def users_by_name(answer: Submission, name: str, program: Module) -> dict[str, list[str]]:
    """The users of every instruction of the entry computation, by name."""
    return {i.name: [u.name for u in listed] for i, listed in answer[name](program.entry).items()}


def check_users(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Compare users on random computations."""

    def show(names: dict[str, list[str]]) -> str:
        return "; ".join(
            f"%{i}: {', '.join(f'%{n}' for n in u) or 'none'}" for i, u in names.items()
        )

    calls = [ShownCall((m,), str(m).rstrip()) for m in random_modules(min(effort.examples, 60))]
    return compare_calls(answer, "users", users, calls, via=users_by_name, show=show)


def shuffled(program: Module, random: Random) -> Computation:
    """The entry computation with its instructions in a wild order."""
    entry = program.entry
    return type(entry)(
        entry.name, tuple(random.sample(entry.instructions, len(entry.instructions))), entry.root
    )


@inside
def names_in_order(answer: Submission, name: str, program: Module) -> list[str]:
    """The order of what the entry computation's root needs, by name."""
    return [i.name for i in answer[name](program.entry.root)]


def in_order(answer: Submission, name: str, program: Module) -> list[Instruction | str]:
    """The instructions of that order; a name where there is none of it."""
    named: dict[str, Any] = {i.name: i for i in program.entry.instructions}
    return [named.get(name, name) for name in names_in_order(answer, name, program)]


def check_post_order(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Compare orders, of a chain too that is deeper than Python recurses."""
    calls = [ShownCall((m,), f"{m}".rstrip()) for m in random_modules(min(effort.examples, 60))]
    deep = ShownCall((deep_module(),), f"// the root of a chain of {DEEP} negations")
    for part in (calls, [deep]):
        wrong = compare_calls(
            answer, "post_order", post_order, part, via=in_order, same=is_order, show=show_order
        )
        if wrong:
            return wrong
    return None


def show_order(order: Any) -> str:
    """The first names of an order."""
    some = [f"%{getattr(node, 'name', node)}" for node in list(order)[:12]]
    return ", ".join(some) + (" ..." if len(order) > len(some) else "")


def is_order(want: Any, got: Any) -> bool:
    """Whether an order has the same instructions, each once, after its operands."""
    seen: set[Any] = set()
    for instr in got:
        if instr in seen or not all(o in seen for o in instr.operands):
            return False
        seen.add(instr)
    return seen == set(want) and got[-1] is want[-1]


def own_depth(computation: Computation) -> int:
    """The longest chain, as `hlo stats` counts."""
    return stats(module(computation)).depth


@inside
def of_entry(answer: Submission, name: str, program: Module) -> Any:
    """The result of a function of the entry computation."""
    return answer[name](program.entry)


def check_depth(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Compare depths, of a long chain too."""
    modules = random_modules(min(effort.examples, 60))
    # An earlier root leaves something that it does not need.
    calls = [
        ShownCall((module(part),), f"{module(part)}".rstrip())
        for m in modules
        for part in (m.entry, replace(m.entry, root=m.entry.instructions[0]))
    ]
    calls.append(ShownCall((deep_module(),), f"// a chain of {DEEP} negations"))
    return compare_calls(answer, "depth", own_depth, calls, via=of_entry, show=repr)


EXERCISES = (
    Exercise(
        5, "count the opcodes of a module", 1, "easy",
        {"opcode_counts": lambda: own_opcode_counts},
        "hlo_tools/stats.py:stats", check_opcode_counts,
    ),
    Exercise(
        6, "say for which c a division becomes a multiplication", 1, "medium",
        {"reciprocal_is_exact": lambda: own_exact},
        "optimizer/rewriting/guards.py:reciprocal_is_exact", check_exact,
    ),
    Exercise(
        7, "spell a shape", 2, "easy",
        {"shape_text": lambda: own_shape_text}, "hlo/types/shape.py:Shape.text", check_shape_text,
    ),
    Exercise(
        8, "read a slice", 2, "medium",
        {"read_slice": lambda: own_read_slice}, "hlo/read/hlo.lark:slice_ranges", check_read_slice,
    ),
    Exercise(
        9, "fix eight mistakes", 2, "easy",
        {"softmax": own_softmax}, "tutorials/models/softmax.hlo", check_mended, ".hlo",
    ),
    Exercise(
        10, "find the users of every instruction", 3, "easy",
        {"users": lambda: users}, "hlo/walk.py:users", check_users,
    ),
    Exercise(
        11, "put operands first, without recursion", 3, "medium",
        {"post_order": lambda: post_order}, "hlo/walk.py:post_order", check_post_order,
    ),
    Exercise(
        12, "measure the longest chain", 3, "easy",
        {"depth": lambda: own_depth}, "hlo_tools/stats.py:depth", check_depth,
    ),
)  # fmt: skip
