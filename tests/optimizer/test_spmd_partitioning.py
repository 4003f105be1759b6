"""Programs divided among devices: the value of the whole is what the devices make of the parts."""

import re

import numpy as np
import pytest

import hlo
import interpreter
from interpreter.numbers.compare import BITS
from optimizer.log import Event, Log, Silent
from optimizer.observers import Verify
from optimizer.partitioning.sharding_propagation import ShardingPropagation
from optimizer.partitioning.spmd_partitioning import SpmdPartitioning
from tests.sharded import SHARDED, X, check, part, values

# The dot is computed whole; the sum needs only the parts that each device is given.
ENTRY = """HloModule m
body { p = f32[4,2] parameter(0)
  ROOT s = f32[4,2] add(p, p) }
ENTRY e {
  x = f32[8,8] parameter(0), sharding={devices=[2,4]<=[8]}
  t = (f32[8], s32[]) parameter(1), sharding={{devices=[8]<=[8]}, {replicated}}
  v = f32[8] get-tuple-element(t), index=0
  local = f32[4,2] custom-call(x), custom_call_target="SPMDFullToShardShape", sharding={manual}
  c = f32[4,2] call(local), to_apply=body
  twice = f32[8,8] custom-call(c), custom_call_target="SPMDShardToFullShape", sharding=SPLIT
  d = f32[8] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  n = s32[] get-tuple-element(t), index=1
  ROOT r = (f32[8,8], f32[8], s32[]) tuple(twice, d, n),
    sharding={SPLIT, {devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}, {replicated}}
}""".replace("SPLIT", "{devices=[2,4]<=[8]}")


class Events(Silent):
    """The events of a run."""

    def __init__(self) -> None:
        self.found: list[Event] = []

    def event(self, event: Event, log: Log) -> None:
        assert log
        self.found.append(event)


def divided(text: str, *, entry: bool) -> hlo.Module:
    """The module of each device; a second run changes nothing."""
    made = Log(observers=[Verify()]).run(SpmdPartitioning(entry=entry), hlo.parse(text))
    assert SpmdPartitioning(entry=entry).run(made, Log()) is made
    assert str(hlo.parse(str(made))) == str(made)
    assert "xla.sdy" not in str(made)
    return made


@pytest.mark.parametrize("name", SHARDED)
def test_each_device_is_given_whole_arrays(name: str) -> None:
    module = divided(SHARDED[name].text, entry=False)
    assert module.header.num_partitions == 8
    for value in interpreter.evaluate(module, per_device=[(X,)] * 8):
        np.testing.assert_equal(value, SHARDED[name].value(X))


def test_each_device_is_given_its_parts() -> None:
    before = hlo.parse(ENTRY)
    module = divided(ENTRY, entry=True)
    v, n = np.arange(8, dtype=np.float32), np.int32(3)
    rows, halves = before.entry.parameters[0], before.entry.root.annotations.sharding.elements[1]
    given = [(part(X, rows.annotations.sharding, d), (v[d : d + 1], n)) for d in range(8)]
    for device, (twice, dot, number) in enumerate(interpreter.evaluate(module, per_device=given)):
        np.testing.assert_array_equal(twice, part(2 * X, rows.annotations.sharding, device))
        np.testing.assert_array_equal(dot, part(X @ v, halves, device))
        assert number == n


def test_a_part_that_is_cut_again_as_it_was_is_not_gathered() -> None:
    text = ENTRY.replace("tuple(twice, d, n)", "tuple(twice, v, n)")
    text = re.sub(r"  d = .*\n", "", text)
    text = text.replace(
        "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "{devices=[8]<=[8]}"
    )
    module = divided(text, entry=True)
    opcodes = [instr.opcode for instr in module.entry.instructions]
    assert not {"all-gather", "dynamic-slice", "custom-call"} & {*opcodes}


def test_a_program_of_one_device_stays() -> None:
    for text in (
        "HloModule m\nENTRY e {\n  ROOT x = f32[2] parameter(0), sharding={replicated}\n}",
        ENTRY.split("ENTRY", maxsplit=1)[0] + "ENTRY e {\n  ROOT x = f32[2] parameter(0)\n}",
    ):
        module = hlo.parse(text)
        assert SpmdPartitioning(entry=True).run(module, Log()) is module


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("f32[8,8] parameter(0), sharding={devices=[2,4]<=[8]}",
         "f32[8,8] parameter(0), sharding={devices=[4,2]<=[8]}",
         "does not cut f32[8,8] into f32[4,2]"),
    ],
)  # fmt: skip
def test_a_sharding_that_does_not_fit_is_refused(old: str, new: str, told: str) -> None:
    with pytest.raises(hlo.HloError) as caught:
        divided(ENTRY.replace(old, new), entry=True)
    assert told in str(caught.value)
    assert caught.value.span


def test_donated_arguments_stay_donated() -> None:
    """A result may take the place of an argument, where their parts have one shape."""
    text = """HloModule m, num_partitions=2, input_output_alias={ {0}: (0, {}), {1}: (1, {}) }
ENTRY e {
  x = f32[8] parameter(0), sharding={devices=[2]<=[2]}
  y = f32[8] parameter(1), sharding={devices=[2]<=[2]}
  ROOT r = (f32[8], f32[8]) tuple(x, y), sharding={{devices=[2]<=[2]}, {replicated}}
}"""
    (alias,) = divided(text, entry=True).header.input_output_alias
    assert (alias.output_index, alias.parameter) == ((0,), 0)


def test_devices_that_there_are_not_are_refused() -> None:
    text = """HloModule m, num_partitions=4
ENTRY e {
  x = f32[8] parameter(0), sharding={devices=[4]0,1,4,5}
  ROOT y = f32[8] negate(x)
}"""
    with pytest.raises(hlo.HloError, match=r"devices {0,1,4,5}, not {0,1,2,3}") as caught:
        SpmdPartitioning(entry=True).run(hlo.parse(text), Log())
    assert caught.value.span


def test_the_log_tells_of_each_collective() -> None:
    """A stepper shows which instruction needs one, before the module is divided as a whole."""
    events = Events()
    SpmdPartitioning(entry=True).run(hlo.parse(ENTRY), Log(observers=[events]))
    told = [(event.rule, event.old.name) for event in events.found]
    exchanges = [("all-gather", "d"), ("all-reduce", "d"), ("collective-permute", "r")]
    assert told == [*exchanges, ("divide", "r")]


def test_devices_may_have_other_numbers() -> None:
    """Where the header says no number of partitions, they are the devices of the shardings."""
    text = """HloModule m
ENTRY e {
  x = f32[8] parameter(0), sharding={devices=[2,2]0,1,4,5 last_tile_dim_replicate}
  y = f32[8] negate(x)
  ROOT z = f32[8] copy(y), sharding={devices=[4]0,4,1,5}
}"""
    module = divided(text, entry=True)
    assert module.header.num_partitions == 4
    x, halves = np.arange(8, dtype=np.float32), [(0, 4), (0, 4), (4, 8), (4, 8)]
    got = interpreter.evaluate(module, per_device=[(x[a:b],) for a, b in halves])
    # Device 1 is the second of the four, and holds the third part.
    for value, start in zip(got, (0, 4, 2, 6), strict=True):
        np.testing.assert_array_equal(value, -x[start : start + 2])


def test_a_region_without_a_sharding_takes_blocks_in_order() -> None:
    text = """HloModule m
ENTRY e {
  x = f32[8,3] parameter(0)
  local = f32[2,3] custom-call(x), custom_call_target="SPMDFullToShardShape", sharding={manual}
  ROOT whole = f32[8,3] custom-call(local), custom_call_target="SPMDShardToFullShape",
    sharding={devices=[4,1]<=[4]}
}"""
    x = np.arange(24, dtype=np.float32).reshape(8, 3)
    results = interpreter.evaluate(divided(text, entry=True), per_device=[(x,)] * 4)
    np.testing.assert_array_equal(np.concatenate(results), x)


def unreduced(axes: str) -> hlo.Module:
    """Four devices have summands of x along some axes; all of them want the sum."""
    return hlo.parse(f"""HloModule m, num_partitions=4
ENTRY e {{
  x = f32[] parameter(0), sharding={{mesh["x"=4], [], unreduced={{{axes}}}}}
  ROOT r = f32[] custom-call(x), custom_call_target="Sharding", sharding={{replicated}}
}}""")


@pytest.mark.parametrize(
    ("axes", "summands", "total"),
    [
        ('"x"', [1, 2, 3, 4], 10),
        ('"x":(1)2, "x":(2)2', [1, 2, 3, 4], 10),
        ('"x":(1)2', [1, 1, 5, 5], 6),
        ('"x":(2)2', [1, 5, 1, 5], 6),
    ],
)
def test_summands_lie_along_parts_of_an_axis(axes: str, summands: list[int], total: int) -> None:
    """Devices along the rest of an axis hold copies, which are no summands."""
    made = SpmdPartitioning(entry=True).run(unreduced(axes), Log())
    assert (
        interpreter.evaluate(made, per_device=[(np.float32(x),) for x in summands]) == [total] * 4
    )


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ('"y"', 'the mesh has no axis "y"'),
        ('"x":(1)3', 'axis "x" of size 4 has no such part'),
        ('"x":(0)2', "a part begins from 1 on"),
        ('"x":(0)0', "a part begins from 1 on"),  # not the whole axis
        ('"x":(1)1', "has 2 or more"),
        ('"x":(1)2, "x"', 'axis "x" is used twice'),
    ],
)
def test_axes_that_a_mesh_has_not_are_refused(axes: str, told: str) -> None:
    with pytest.raises(hlo.HloError, match=re.escape(told)) as caught:
        unreduced(axes)
    assert caught.value.span


@pytest.mark.parametrize(
    "value",
    [
        "parameter(0), sharding={devices=[2]<=[2]}",
        # A value that each device could make by itself.
        "broadcast(one), dimensions={}",
    ],
)
def test_blocks_that_become_summands_stay_in_their_places(value: str) -> None:
    """Each device has its block where it belongs, and zeros elsewhere."""
    module = hlo.parse(f"""HloModule m, num_partitions=2
ENTRY e {{
  one = f32[] constant(1)
  x = f32[4] {value}
  c = f32[4] custom-call(x), custom_call_target="Sharding", sharding={{devices=[2]<=[2]}}
  ROOT s = f32[4] custom-call(c), custom_call_target="Sharding", sharding={{unreduced}}
}}""")
    made = Log(observers=[Verify()]).run(SpmdPartitioning(entry=True), module)
    ones = np.ones(2, np.float32)
    given = [(ones,) if "parameter" in value else ()] * 2
    first, second = interpreter.evaluate(made, per_device=given)
    np.testing.assert_array_equal(first, [1, 1, 0, 0])
    np.testing.assert_array_equal(second, [0, 0, 1, 1])


@pytest.mark.parametrize(
    "group",
    [
        """g = () custom-call(x), custom_call_target="xla.sdy.ShardingGroup",
    custom_call_has_side_effect=true, frontend_attributes={xla.sdy.sharding_group_id="0 : i64"}
  h = () custom-call(i), custom_call_target="xla.sdy.ShardingGroup",
    custom_call_has_side_effect=true, frontend_attributes={xla.sdy.sharding_group_id="0 : i64"}""",
        """g = s32[8] custom-call(x), custom_call_target="Sharding", sharding={unknown shard_as 0}
  h = s32[8] custom-call(i), custom_call_target="Sharding", sharding={unknown shard_as 0}""",
    ],
    ids=["Shardy", "GSPMD"],
)
def test_arrays_of_a_group_are_cut_alike(group: str) -> None:
    """Even numbers that each device could make by itself."""
    module = hlo.parse(f"""HloModule m, num_partitions=2,
  allow_spmd_sharding_propagation_to_output={{true}}
ENTRY e {{
  x = s32[8] parameter(0), sharding={{devices=[2]<=[2]}}
  i = s32[8] iota(), iota_dimension=0
  {group}
  ROOT y = s32[8] negate({"i" if "sdy" in group else "h"})
}}""")
    made = Log(observers=[Verify()]).run(SpmdPartitioning(entry=True), module)
    assert made.entry.root.shape.dims == (4,)
    each = interpreter.evaluate(made, per_device=[(np.zeros(4, np.int32),)] * 2)
    np.testing.assert_array_equal(np.concatenate(each), -np.arange(8))


def test_free_elements_of_a_tuple_are_told() -> None:
    module = hlo.parse("""HloModule m, num_partitions=2,
  allow_spmd_sharding_propagation_to_parameters={true,false}
ENTRY e {
  t = (f32[8], f32[8]) parameter(0), sharding={{replicated}, {replicated}}
  a = f32[8] get-tuple-element(t), index=0
  b = f32[8] get-tuple-element(t), index=1
  s = f32[8] add(a, b)
  ROOT c = f32[8] custom-call(s), custom_call_target="Sharding", sharding={devices=[2]<=[2]}
}""")
    made = Log(observers=[Verify()]).run(ShardingPropagation(), module)
    sharding = made.entry.parameters[0].annotations.sharding
    assert sharding
    assert [s.kind for s in sharding.elements] == ["tiled", "replicated"]


POOLING = """HloModule m, num_partitions=4
select {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT p = pred[] compare(a, b), direction={direction} }}
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }}
ENTRY e {{
  x = f32[{rows},64] parameter(0), sharding={{devices=[4,1]<=[4]}}
  g = f32[{windows},64] parameter(1), sharding={source}
  begin = f32[] constant(1.5)
  ROOT r = f32[{rows},64] select-and-scatter(x, g, begin), select=select, scatter=add,
    window={{size={size}x1 stride={stride}x1 pad={low}_{high}x0_0}}, sharding={{devices=[4,1]<=[4]}}
}}"""


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 4])
@pytest.mark.parametrize("direction", ["GE", "LT"])
def test_windows_of_a_gradient_may_overlap(size: int, stride: int, direction: str) -> None:
    """Or leave rows out, reach past the ends, and be as many as no number of devices divides."""
    rows, low, high = 17 + stride, size - 1, size // 2
    text = POOLING.format(
        direction=direction, size=size, stride=stride, low=low, high=high, rows=rows,
        windows=(rows + low + high - size) // stride + 1,
        source="{replicated}" if size == 3 else "{devices=[4,1]<=[4]}",
    )  # fmt: skip
    made = check(hlo.parse(text), values(hlo.parse(text)), BITS)
    assert "all-gather(%x" not in str(made)
