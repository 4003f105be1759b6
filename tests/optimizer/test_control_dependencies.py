"""What waits for what goes on waiting for it, whatever a pass does to the two."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import hlo
from hlo.walk import rebuild_module
from optimizer import PASSES, parse_pipeline

CASES = Path(__file__).parents[1] / "cases"
# One round finds each of the faults that were mended; `make slow` tries more.
ROUNDS = 3

# Those that compute something else, as a derivative, have other results.
KEEPING = sorted(name for name, made in PASSES.items() if not hasattr(made, "transforms"))


def with_dependencies(module, random):
    """A module in which many instructions wait for earlier ones; not those of fusions."""
    fused = {c.name for i in module.instructions() if i.opcode == "fusion" for c in i.called}

    def change(computation):
        if computation.name in fused:
            return computation
        made = {}
        for number, instr in enumerate(computation.instructions):
            before = [i for i in computation.instructions[:number] if i.opcode != "parameter"]
            awaited = list(instr.control_predecessors)
            if before and instr.opcode != "parameter" and random.random() < 0.3:
                awaited.append(random.choice(before))
            made[instr] = instr.with_(
                operands=tuple(made[o] for o in instr.operands),
                control_predecessors=tuple(made[p] for p in dict.fromkeys(awaited)),
            )
        instructions = tuple(made.values())
        return replace(computation, instructions=instructions, root=made[computation.root])

    return rebuild_module(module, change)


def needed(computation):
    """The names of all that an instruction uses or waits for, for each name."""
    found = {}
    for instr in computation.instructions:
        before = {i.name for i in (*instr.operands, *instr.control_predecessors)}
        found[instr.name] = before.union(*(found[name] for name in before))
    return found


@pytest.mark.parametrize("name", KEEPING)
def test_order_is_kept(name):
    run = parse_pipeline(name)
    for path in sorted((CASES / name).glob("*.hlo")):
        plain = hlo.parse(path.read_text().partition("// EXPECT\n")[0])
        for seed in range(ROUNDS):
            before = with_dependencies(plain, Random(f"{path.stem}/{seed}"))
            hlo.verify(before)
            after = run.run(before)
            hlo.verify(after)
            there = {c.name: needed(c) for c in after.computations}
            for computation in before.computations:
                now = there.get(computation.name, {})
                for instr in computation.instructions:
                    for awaited in instr.control_predecessors:
                        if instr.name in now and awaited.name in now:
                            assert awaited.name in now[instr.name], f"{before}\n{after}"
