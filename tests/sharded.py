"""Programs that are not divided yet, for eight devices, and the values that NumPy gives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import hlo
import interpreter
from hlo.sharded import shards_of
from hlo.types.sharding import Sharding
from interpreter.numbers.compare import ROUNDING, Promise, compare
from optimizer.log import Log
from optimizer.observers import Verify
from optimizer.partitioning.sharding_propagation import ShardingPropagation
from optimizer.partitioning.spmd_partitioning import SpmdPartitioning

HEADER = (
    "HloModule m, frontend_attributes={xla.sdy.meshes={"
    'mesh = #sdy.mesh<["x"=2, "y"=4]>, '
    'turned = #sdy.mesh<["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>}}\n'
)
X = np.arange(64, dtype=np.float32).reshape(8, 8)


def call(kind: str, operand: str, shape: str, shardings: str, axes: str) -> str:
    """A custom call of Shardy that cuts (`in`) or joins (`out`)."""
    target = {"in": "GlobalToLocalShape", "out": "LocalToGlobalShape"}[kind]
    listed = f"#sdy.sharding_per_value<[{shardings}]>".replace('"', '\\"')
    manual = f"#sdy<manual_axes{{{axes}}}>".replace('"', '\\"')
    attributes = f'xla.sdy.{kind}_shardings="{listed}",xla.sdy.manual_axes="{manual}"'
    return (
        f'{shape} custom-call({operand}), custom_call_target="xla.sdy.{target}", '
        f"custom_call_has_side_effect=true, frontend_attributes={{{attributes}}}"
    )


class Sharded(NamedTuple):
    """A program of one f32[8,8], and its value."""

    text: str
    value: Callable[[np.ndarray], Any]


X_AND_Y = '"x", "y"'
SUM = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"

sum_over_y = Sharded(
    f"""{HEADER}{SUM}
body {{ p = f32[4,2] parameter(0)
  ROOT s = f32[4,2] all-reduce(p), channel_id=1, replica_groups={{{{0,1,2,3}},{{4,5,6,7}}}},
    use_global_device_ids=true, to_apply=add }}
ENTRY e {{
  x = f32[8,8] parameter(0)
  local = {call("in", "x", "f32[4,2]", '<@mesh, [{"x"}, {"y"}]>', X_AND_Y)}
  c = f32[4,2] call(local), to_apply=body
  whole = {call("out", "c", "f32[8,2]", '<@mesh, [{"x"}, {}]>', X_AND_Y)}
  ROOT n = f32[8,2] negate(whole)
}}""",
    lambda x: -x.reshape(8, 4, 2).sum(1),
)

# Along y, devices hold copies; the number of the row of devices is added to each half.
one_axis = Sharded(
    f"""{HEADER}
body {{ p = f32[4,8] parameter(0)
  d = u32[] partition-id()
  four = u32[] constant(4)
  row = u32[] divide(d, four)
  f = f32[] convert(row)
  b = f32[4,8] broadcast(f), dimensions={{}}
  ROOT s = f32[4,8] add(p, b) }}
ENTRY e {{
  x = f32[8,8] parameter(0)
  local = {call("in", "x", "f32[4,8]", '<@mesh, [{"x", ?}, {?}]>', '"x"')}
  c = f32[4,8] call(local), to_apply=body
  ROOT whole = {call("out", "c", "f32[8,8]", '<@mesh, [{"x", ?}, {?}]>', '"x"')}
}}""",
    lambda x: x + np.repeat(np.float32([0, 1]), 4)[:, None],
)

# Inside of one cut, another one: columns move to the next device of their row.
nested = Sharded(
    f"""{HEADER}
inner {{ p = f32[4,2] parameter(0)
  ROOT s = f32[4,2] collective-permute(p), channel_id=1,
    source_target_pairs={{{{0,1}},{{1,2}},{{2,3}},{{3,0}},{{4,5}},{{5,6}},{{6,7}},{{7,4}}}} }}
outer {{ p = f32[4,8] parameter(0)
  local = {call("in", "p", "f32[4,2]", '<@mesh, [{?}, {"y", ?}]>', '"y"')}
  c = f32[4,2] call(local), to_apply=inner
  whole = {call("out", "c", "f32[4,8]", '<@mesh, [{?}, {"y", ?}]>', '"y"')}
  ROOT s = f32[4,8] add(whole, whole) }}
ENTRY e {{
  x = f32[8,8] parameter(0)
  local = {call("in", "x", "f32[4,8]", '<@mesh, [{"x", ?}, {?}]>', '"x"')}
  c = f32[4,8] call(local), to_apply=outer
  ROOT whole = {call("out", "c", "f32[8,8]", '<@mesh, [{"x", ?}, {?}]>', '"x"')}
}}""",
    lambda x: 2 * np.roll(x, 2, axis=1),
)

# The last device holds the first part; each adds its number.
turned = Sharded(
    f"""{HEADER}
body {{ p = f32[1,8] parameter(0)
  d = u32[] partition-id()
  f = f32[] convert(d)
  b = f32[1,8] broadcast(f), dimensions={{}}
  ROOT s = f32[1,8] add(p, b) }}
ENTRY e {{
  x = f32[8,8] parameter(0)
  local = {call("in", "x", "f32[1,8]", '<@turned, [{"x", "y"}, {}]>', X_AND_Y)}
  c = f32[1,8] call(local), to_apply=body
  ROOT whole = {call("out", "c", "f32[8,8]", '<@turned, [{"x", "y"}, {}]>', X_AND_Y)}
}}""",
    lambda x: x + np.arange(7, -1, -1, dtype=np.float32)[:, None],
)

# Half of an axis cuts the rows, and the other half, after all of x, the columns; two results.
parts_of_an_axis = Sharded(
    f"""{HEADER}
ENTRY e {{
  x = f32[8,8] parameter(0)
  y = f32[8,8] negate(x)
  local = {
        call(
            "in",
            "x, y",
            "(f32[4,2], f32[4,8])",
            '<@mesh, [{"y":(1)2}, {"x", "y":(2)2}]>, <@mesh, [{"y":(2)2}, {}]>',
            X_AND_Y,
        )
    }
  a = f32[4,2] get-tuple-element(local), index=0
  b = f32[4,8] get-tuple-element(local), index=1
  ROOT whole = {
        call(
            "out",
            "a, b",
            "(f32[8,8], f32[8,8])",
            '<@mesh, [{"y":(1)2}, {"y":(2)2, "x"}]>, <@mesh, [{"y":(2)2}, {}]>',
            X_AND_Y,
        )
    }
}}""",
    lambda x: (x.reshape(8, 2, 2, 2).transpose(0, 2, 1, 3).reshape(8, 8), -x),
)

# As before Shardy: the sharding of the whole is on what cuts and joins it.
before_shardy = Sharded(
    """HloModule m, num_partitions=8
ENTRY e {
  x = f32[8,8] parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
  s = f32[8,8] custom-call(x), custom_call_target="Sharding", sharding={devices=[2,4]<=[8]}
  local = f32[4,2] custom-call(s), custom_call_target="SPMDFullToShardShape", sharding={manual}
  t = f32[2,4] transpose(local), dimensions={1,0}
  m = f32[2,4] custom-call(t), custom_call_target="Sharding", sharding={manual}
  ROOT whole = f32[8,8] custom-call(m), custom_call_target="SPMDShardToFullShape",
    sharding={devices=[4,2]<=[2,4]T(1,0)}
}""",
    lambda x: x.T,
)

SHARDED = {
    "sum_over_y": sum_over_y,
    "one_axis": one_axis,
    "nested": nested,
    "turned": turned,
    "parts_of_an_axis": parts_of_an_axis,
    "before_shardy": before_shardy,
}


def part(value: Any, sharding: Sharding | None, device: int) -> Any:
    """The part of a value that a device holds; all of it without a sharding.

    It may reach past the end of the value, and then has something there that must not matter.
    """
    if isinstance(value, tuple):
        return tuple(
            part(v, s, device) for v, s in zip(value, _each(sharding, len(value)), strict=True)
        )
    shards = shards_of(sharding, np.ndim(value)) if sharding else None
    if shards is None or shards.is_whole:
        return value
    for dim, (count, place) in enumerate(zip(shards.counts, shards.places[device], strict=True)):
        block = -(-value.shape[dim] // count)
        missing = [*value.shape]
        missing[dim] = block * count - value.shape[dim]
        value = np.concatenate([value, np.full(missing, 77).astype(value.dtype)], dim)
        value = np.take(value, range(place * block, (place + 1) * block), dim)
    return value


def _each(sharding: Sharding | None, count: int) -> tuple[Sharding | None, ...]:
    """The shardings of a tuple's elements."""
    several = sharding is not None and sharding.kind == "tuple"
    return sharding.elements if sharding and several else (sharding,) * count


def divided(module: hlo.Module) -> hlo.Module:
    """The module of each device, verified; of equal text if it is read again."""
    made = Log(observers=[Verify()]).run(SpmdPartitioning(entry=True), module)
    hlo.verify(hlo.parse(str(made)))
    return made


def check(module: hlo.Module, arguments: list[Any], promise: Promise = ROUNDING) -> hlo.Module:
    """Each device has its part of the value of all; gives its module."""
    propagated = Log(observers=[Verify()]).run(ShardingPropagation(), module)
    assert ShardingPropagation().run(propagated, Log()) is propagated
    made = divided(propagated)
    assert SpmdPartitioning(entry=True).run(made, Log()) is made
    expect_parts(module, made, arguments, promise)
    return made


def expect_parts(
    module: hlo.Module, made: hlo.Module, arguments: list[Any], promise: Promise = ROUNDING
) -> None:
    """The results of the devices that run a divided module are parts of the module's."""
    devices = made.header.num_partitions
    entry = ShardingPropagation().run(module, Log()).entry
    pairs = zip(arguments, entry.parameters, strict=True)
    sharded = [(a, p.annotations.sharding) for a, p in pairs]
    given = [[part(a, s, device) for a, s in sharded] for device in range(devices)]
    whole = interpreter.evaluate(module, per_device=[arguments] * devices)[0]
    for device, got in enumerate(interpreter.evaluate(made, per_device=given)):
        problem = _difference(got, whole, entry.root.annotations.sharding, device, promise)
        assert problem is None, f"device {device}: {problem}\n{module}\n{made}"


def _difference(
    got: Any, whole: Any, sharding: Sharding | None, device: int, promise: Promise
) -> object:
    """The first difference of a part from that of a whole; elements past its end do not count."""
    if isinstance(whole, tuple):
        each = zip(got, whole, _each(sharding, len(whole)), strict=True)
        return next(filter(None, (_difference(*one, device, promise) for one in each)), None)
    want = part(whole, sharding, device)
    if np.shape(got) != np.shape(want):
        return f"{np.shape(got)} instead of {np.shape(want)}"
    exists = part(np.ones(np.shape(whole)), sharding, device) == 1
    return compare(np.where(exists, got, want).astype(want.dtype), want, promise)


def values(module: hlo.Module) -> list[Any]:
    """Small arguments."""
    numbers = np.random.default_rng(0)
    shapes = [p.shape for p in module.entry.parameters]
    return [numbers.integers(0, 5, s.dims).astype(s.element_type.dtype) for s in shapes]
