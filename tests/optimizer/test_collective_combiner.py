"""Collectives become one where they are of one kind, and equal ones fall together."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import emit_c
import hlo
import interpreter
from optimizer import Log, optimize, parse_pipeline
from optimizer.observers import Verify
from optimizer.pipelines import Target

COMBINERS = "all-reduce-combiner,all-gather-combiner,reduce-scatter-combiner"
DEVICES = 4
REDUCERS = """
sum { p = s32[] parameter(0)\n q = s32[] parameter(1)\n ROOT r = s32[] add(p, q) }
most { p = s32[] parameter(0)\n q = s32[] parameter(1)\n ROOT r = s32[] maximum(p, q) }
"""
GROUPS = ("{{0,1,2,3}}", "{{0,2},{1,3}}", "[2,2]<=[4]")


def exchanges(random: Random, count: int = 12) -> hlo.Module:
    """Collectives of few kinds, each of a result of an earlier one, with sums between them."""
    lines = ["x = s32[4,4] parameter(0)"]
    values = ["x"]
    for number in range(count):
        of, name = random.choice(values), f"v{number}"
        groups, dim = random.choice(GROUPS), random.randrange(2)
        size = DEVICES if groups == GROUPS[0] else 2
        tail = f"channel_id={number + 1}, replica_groups={groups}, use_global_device_ids=true"
        reducer, shape = random.choice(("sum", "most")), [4, 4]
        kind = random.choice(("all-reduce", "all-gather", "reduce-scatter", "add"))
        if kind == "all-reduce":
            lines.append(f"{name} = s32[4,4] all-reduce({of}), {tail}, to_apply={reducer}")
        elif kind == "all-gather":
            shape[dim] *= size
            dims = ",".join(map(str, shape))
            lines.append(f"g{name} = s32[{dims}] all-gather({of}), {tail}, dimensions={{{dim}}}")
            lines.append(f"{name} = s32[4,4] slice(g{name}), slice={{[0:4], [0:4]}}")
        elif kind == "reduce-scatter":
            shape[dim] //= size
            dims = ",".join(map(str, shape))
            edges = "x".join(f"0_{4 - extent}" for extent in shape)
            lines.append(
                f"s{name} = s32[{dims}] reduce-scatter({of}), {tail}, dimensions={{{dim}}}, "
                f"to_apply={reducer}"
            )
            lines.append(f"z{name} = s32[] constant(3)")
            lines.append(f"{name} = s32[4,4] pad(s{name}, z{name}), padding={edges}")
        else:
            lines.append(f"{name} = s32[4,4] add({of}, {random.choice(values)})")
        values.append(name)
    shapes = ", ".join(["s32[4,4]"] * len(values))
    lines.append(f"ROOT t = ({shapes}) tuple({', '.join(values)})")
    body = "\n".join(lines)
    return hlo.parse(f"HloModule m, num_partitions={DEVICES}\n{REDUCERS}ENTRY e {{\n{body}\n}}")


def met(module: hlo.Module) -> int:
    return sum("collective" in instr.row.traits for instr in module.instructions())


def values_of(module: hlo.Module) -> list[list[np.ndarray]]:
    x = np.arange(DEVICES * 16, dtype=np.int32).reshape(DEVICES, 4, 4) % 11
    return interpreter.evaluate(module, per_device=[(part,) for part in x])


@pytest.mark.parametrize("passes", ["cse", COMBINERS, f"cse,{COMBINERS},cse"])
@given(st.randoms(use_true_random=False))
def test_devices_meet_more_rarely_for_the_same_values(passes: str, random: Random) -> None:
    module = exchanges(random)
    run = parse_pipeline(passes)
    made = Log(observers=[Verify()]).run(run, module)
    hlo.verify(hlo.parse(str(made)))
    assert met(made) <= met(module)
    np.testing.assert_equal(values_of(made), values_of(module))
    assert run.run(made, Log()) is made


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_the_pipeline_keeps_the_values_of_each_device(target: Target) -> None:
    module = exchanges(Random(1))
    made = optimize(module, target)
    assert met(made) < met(module)
    np.testing.assert_equal(values_of(made), values_of(module))


def test_combined_collectives_run_as_c() -> None:
    module = exchanges(Random(2))
    x = np.arange(DEVICES * 16, dtype=np.int32).reshape(DEVICES, 4, 4) % 11
    run = emit_c.compile(module)
    np.testing.assert_equal(run(per_device=[(part,) for part in x]), values_of(module))


def test_members_of_a_set_need_not_be_neighbours() -> None:
    """The second needs the first; the third does not, and is exchanged with the first."""
    module = hlo.parse(f"""HloModule m, replica_count=2
{REDUCERS}
ENTRY e {{
  x = s32[4] parameter(0)
  a = s32[4] all-reduce(x), to_apply=sum
  b = s32[4] all-reduce(a), to_apply=sum
  n = s32[4] negate(x)
  c = s32[4] all-reduce(n), to_apply=sum
  ROOT t = (s32[4], s32[4], s32[4]) tuple(a, b, c)
}}""")
    made = Log(observers=[Verify()]).run(parse_pipeline("all-reduce-combiner"), module)
    found = [i for i in made.instructions() if i.opcode == "all-reduce"]
    assert [[o.name for o in i.operands] for i in found] == [["x", "n"], ["a"]]


@pytest.mark.parametrize(
    "attributes", ["constrain_layout=true", "control-predecessors={x}", "sharding={replicated}"]
)
def test_one_that_is_tied_stays_alone(attributes: str) -> None:
    module = hlo.parse(f"""HloModule m, replica_count=2
{REDUCERS}
ENTRY e {{
  x = s32[4] parameter(0)
  n = s32[4] negate(x)
  a = s32[4] all-reduce(x), to_apply=sum
  b = s32[4] all-reduce(n), to_apply=sum, {attributes}
  ROOT t = (s32[4], s32[4]) tuple(a, b)
}}""")
    assert parse_pipeline("all-reduce-combiner").run(module, Log()) is module
