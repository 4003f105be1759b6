"""Instructions of two modules are matched by structure, whatever their names."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo
import optimizer
from hlo import Instruction, Module, parse
from hlo.walk import rebuild, rebuild_module
from hlo_tools.comparison.diff import diff
from hlo_tools.comparison.matching import match, renamed
from hlo_tools.generate.modules import random_module

MODELS = Path(__file__).parents[1] / "models"
TEXT = """HloModule m

helper {
  p = f32[4] parameter(0)
  ROOT n = f32[4] negate(p)
}

ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  a = f32[4] add(x, y)
  b = f32[4] multiply(a, x)
  c = f32[4] call(b), to_apply=helper
  ROOT r = f32[4] subtract(c, a)
}
"""


def with_other_names(module: Module, random: Random) -> Module:
    """The same module, its names mixed up."""
    names = [i.name for i in module.instructions()]
    mixed = iter(random.sample([f"{name}.{n}" for n, name in enumerate(names)], len(names)))
    became = {}
    for computation in module.computations:
        now: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            made = instr.rewired(
                tuple(now[o] for o in instr.operands),
                tuple(now[p] for p in instr.control_predecessors),
                tuple(became[c] for c in instr.called),
            )
            now[instr] = made.with_(name=next(mixed))
        became[computation] = replace(
            computation,
            name=f"c{len(became)}",
            instructions=tuple(now.values()),
            root=now[computation.root],
        )
    entry = became[module.entry]
    return replace(module, computations=tuple(became.values()), entry=entry)


def found(before: Module, after: Module) -> list[str]:
    """The changes between two modules, whatever their names."""
    sections = diff(before, renamed(after, match(before, after)))
    return [c.kind for section in sections for c in section.changes]


@given(st.integers(0, 10_000))
def test_other_names_are_no_difference(seed: int) -> None:
    random = Random(seed)
    module = random_module(random, size=30)
    assert found(module, with_other_names(module, random)) == []


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.hlo")), ids=lambda p: p.stem)
def test_models_with_other_names_are_the_same(path: Path) -> None:
    module = hlo.load(path)
    other = with_other_names(module, Random(0))
    matching = match(module, other)
    assert len(matching.instructions) == sum(1 for _ in module.instructions())
    assert matching.renamed > 0
    assert str(renamed(other, matching)) == str(module)


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("multiply(a, x)", "divide(a, x)", ["changed"]),
        ("multiply(a, x)", "multiply(a, y)", ["changed"]),
        ("negate(p)", "abs(p)", ["changed"]),
        # Whoever uses another operand has another line.
        ("subtract(c, a)", "subtract(c, b)", ["changed"]),
        ("ROOT r = f32[4] subtract(c, a)", "s = f32[4] sine(c) ROOT r = f32[4] subtract(s, a)",
         ["changed", "added"]),
        ("b = f32[4] multiply(a, x)\n  c = f32[4] call(b)", "c = f32[4] call(a)",
         ["removed", "changed"]),
    ],
)  # fmt: skip
def test_what_changed_besides_names_is_found(old: str, new: str, kinds: list[str]) -> None:
    assert old in TEXT
    after = with_other_names(parse(TEXT.replace(old, new)), Random(1))
    assert sorted(found(parse(TEXT), after)) == sorted(kinds)


def test_an_opcode_changed_in_a_large_module_is_one_change() -> None:
    before = hlo.load(MODELS / "attention.hlo")
    chosen = next(i for i in before.entry.instructions if i.opcode == "exponential")

    def change(computation: hlo.Computation) -> hlo.Computation:
        if chosen not in computation.instructions:
            return computation
        return rebuild(computation, {chosen: chosen.with_(opcode="tanh")})

    after = with_other_names(rebuild_module(before, change), Random(2))
    assert found(before, after) == ["changed"]


def test_what_the_optimizer_keeps_is_matched() -> None:
    before = hlo.load(MODELS / "mlp_train_step.hlo")
    after = optimizer.parse_pipeline("algebraic-simplifier").run(before)
    other = with_other_names(after, Random(3))
    by_name = sum(len(s.changes) for s in diff(before, after))
    assert len(found(before, other)) <= by_name + 5


def test_what_is_new_gets_a_name_that_nobody_has() -> None:
    before = parse("ENTRY e { x = f32[] parameter(0) ROOT y = f32[] negate(x) }")
    after = parse("ENTRY e { a = f32[] parameter(0) x = f32[] sine(a) ROOT y = f32[] negate(x) }")
    made = renamed(after, match(before, after))
    names = [i.name for i in made.instructions()]
    assert len(set(names)) == 3
    assert {"x", "y"} <= set(names)
    hlo.verify(made)
