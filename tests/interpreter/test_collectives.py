"""Collectives beside naive loops over devices; deadlocks and mismatches beside what they say."""

import numpy as np
import pytest
from devices import ADD, data, entry, run
from hypothesis import given
from hypothesis import strategies as st

import interpreter
from hlo.errors.error import HloError
from hlo.read.parse import parse

# Six devices: 3 replicas of 2 partitions; device d is replica d // 2, partition d % 2.
MODES = {
    "replicas": ("replica_groups={{0,2},{1}}", [(0, 4), (1, 5), (2,), (3,)]),
    "all replicas": ("replica_groups={}", [(0, 2, 4), (1, 3, 5)]),
    "replicas and partitions": (
        "channel_id=1, replica_groups={{2,0},{1}}",
        [(4, 5, 0, 1), (2, 3)],
    ),
    "flattened": (
        "channel_id=1, replica_groups={{0,5,1},{4,2,3}}, use_global_device_ids=true",
        [(0, 5, 1), (4, 2, 3)],
    ),
    "flattened, as an iota": (
        "channel_id=1, replica_groups=[2,3]<=[3,2]T(1,0), use_global_device_ids=true",
        [(0, 2, 4), (1, 3, 5)],
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_all_reduce_folds_each_group(mode: str) -> None:
    attrs, groups = MODES[mode]
    got = run(entry(f"s32[4] all-reduce(x), {attrs}, to_apply=add"), data(6), 3, 2)
    for group in groups:
        for device in group:
            np.testing.assert_array_equal(got[device], sum(data(6)[d] for d in group))


@pytest.mark.parametrize("mode", ["all replicas", "flattened", "flattened, as an iota"])
def test_all_gather_joins_in_the_order_of_the_group(mode: str) -> None:
    attrs, groups = MODES[mode]
    got = run(entry(f"s32[12] all-gather(x), {attrs}, dimensions={{0}}"), data(6), 3, 2)
    for group in groups:
        for device in group:
            np.testing.assert_array_equal(got[device], np.concatenate([data(6)[d] for d in group]))


def test_reduce_scatter_keeps_the_piece_of_the_place_in_the_group() -> None:
    got = run(
        entry("s32[2] reduce-scatter(x), replica_groups={{1,0}}, dimensions={0}, to_apply=add"),
        data(2),
        replicas=2,
    )
    total = data(2)[0] + data(2)[1]
    np.testing.assert_array_equal(got[1], total[:2])
    np.testing.assert_array_equal(got[0], total[2:])


@pytest.mark.parametrize(
    ("attrs", "grid"), [("", (2, 1)), ("channel_id=1, ", (1, 2))], ids=["replicas", "partitions"]
)
def test_all_to_all_transposes_pieces_and_devices(attrs: str, grid: tuple[int, int]) -> None:
    text = entry(f"s32[4] all-to-all(x), {attrs}replica_groups={{{{0,1}}}}, dimensions={{0}}")
    got = run(text, data(2), *grid)
    np.testing.assert_array_equal(got[0], [0, 1, 10, 11])
    np.testing.assert_array_equal(got[1], [2, 3, 12, 13])


def test_all_to_all_of_tuples() -> None:
    text = """ENTRY main {
  x = s32[4] parameter(0)
  y = s32[4] negate(x)
  t = (s32[4], s32[4]) all-to-all(x, y), replica_groups={{1,0}}
  a = s32[4] get-tuple-element(t), index=0
  b = s32[4] get-tuple-element(t), index=1
  ROOT r = s32[8] concatenate(a, b), dimensions={0}
}"""
    got = run(text, data(2), replicas=2)
    first, second = data(2)
    # Device 1 is the first of its group: it gets everybody's first operand.
    np.testing.assert_array_equal(got[1], np.concatenate([second, first]))
    np.testing.assert_array_equal(got[0], np.concatenate([-second, -first]))


@given(st.permutations(range(4)), st.integers(0, 4))
def test_collective_permute_sends_from_sources_to_targets(order: list[int], count: int) -> None:
    pairs = list(enumerate(order))[:count]
    text = ",".join(f"{{{s},{t}}}" for s, t in pairs)
    got = run(
        entry(f"s32[4] collective-permute(x), source_target_pairs={{{text}}}"), data(4), replicas=4
    )
    sources = {t: s for s, t in pairs}
    for device in range(4):
        wanted = data(4)[sources[device]] if device in sources else np.zeros(4)
        np.testing.assert_array_equal(got[device], wanted)


def test_collective_permute_with_a_channel_numbers_partitions() -> None:
    text = entry("s32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}}")
    got = run(text, data(4), replicas=2, partitions=2)
    for device, source in enumerate([1, 0, 3, 2]):
        np.testing.assert_array_equal(got[device], data(4)[source])


def test_collective_permute_in_place_moves_slices() -> None:
    text = """ENTRY main {
  x = s32[4] parameter(0)
  two = s32[] constant(2)
  one = s32[] constant(1)
  zeros = s32[4] subtract(x, x)
  from = (s32[]) tuple(two)
  to = (s32[]) tuple(one)
  ROOT r = s32[4] collective-permute(x, zeros, from, to),
    source_target_pairs={{0,1}}, slice_sizes={{2}}
}"""
    got = run(text, data(2), replicas=2)
    np.testing.assert_array_equal(got[0], [0, 0, 0, 0])
    np.testing.assert_array_equal(got[1], [0, 2, 3, 0])


@pytest.mark.parametrize(("start", "place"), [(3, 0), (0, 3), (-1, 0), (0, -1)])
def test_slices_that_are_permuted_lie_in_their_arrays(start: int, place: int) -> None:
    text = f"""ENTRY main {{
  x = s32[4] parameter(0)
  a = s32[] constant({start})
  b = s32[] constant({place})
  from = (s32[]) tuple(a)
  to = (s32[]) tuple(b)
  ROOT r = s32[4] collective-permute(x, x, from, to), source_target_pairs={{{{0,0}}}},
    slice_sizes={{{{2}}}}
}}"""
    with pytest.raises(HloError, match="a slice of 2 from") as caught:
        run(text, data(1))
    assert caught.value.code == "HLO123"


def test_collective_broadcast_sends_from_the_first_and_zeros_elsewhere() -> None:
    got = run(entry("s32[4] collective-broadcast(x), replica_groups={{2,0}}"), data(3), replicas=3)
    np.testing.assert_array_equal(got[0], data(3)[2])
    np.testing.assert_array_equal(got[1], np.zeros(4))
    np.testing.assert_array_equal(got[2], data(3)[2])


def test_ragged_all_to_all() -> None:
    # The example of XLA's operation semantics: device 0 keeps 1 and sends 2, 2; and so on.
    text = """ENTRY main {
  p = (s32[3], s32[2], s32[2], s32[2], s32[2]) parameter(0)
  x = s32[3] get-tuple-element(p), index=0
  minus = s32[] constant(-1)
  out = s32[4] broadcast(minus), dimensions={}
  starts = s32[2] get-tuple-element(p), index=1
  sizes = s32[2] get-tuple-element(p), index=2
  targets = s32[2] get-tuple-element(p), index=3
  received = s32[2] get-tuple-element(p), index=4
  ROOT r = s32[4] ragged-all-to-all(x, out, starts, sizes, targets, received),
    replica_groups={{0,1}}
}"""
    got = run(
        text,
        [
            ([1, 2, 2], [0, 1], [1, 2], [0, 0], [1, 1]),
            ([3, 4, 0], [0, 1], [1, 1], [1, 2], [2, 1]),
        ],
        replicas=2,
    )
    np.testing.assert_array_equal(got[0], [1, 3, -1, -1])
    np.testing.assert_array_equal(got[1], [2, 2, 4, -1])


@pytest.mark.parametrize(
    ("opcode", "start", "result", "attrs"),
    [
        ("all-reduce", "s32[4]", "s32[4]", "to_apply=add"),
        ("all-gather", "(s32[4], s32[8])", "s32[8]", "dimensions={0}"),
        (
            "collective-permute",
            "(s32[4], s32[4], u32[], u32[])",
            "s32[4]",
            "source_target_pairs={{0,1},{1,0}}",
        ),
    ],
)
def test_started_collectives_give_what_they_give_at_once(
    opcode: str, start: str, result: str, attrs: str
) -> None:
    at_once = entry(f"{result} {opcode}(x), {attrs}")
    started = f"""ENTRY main {{
  x = s32[4] parameter(0)
  s = {start} {opcode}-start(x), {attrs}
  ROOT r = {result} {opcode}-done(s)
}}"""
    got, wanted = (run(text, data(2), replicas=2) for text in (started, at_once))
    np.testing.assert_array_equal(got, wanted)


def test_a_wrapped_collective_runs_in_an_async_computation() -> None:
    text = """
wrapped { p = s32[4] parameter(0)
  ROOT r = s32[2] reduce-scatter(p), dimensions={0}, to_apply=add }
ENTRY main {
  x = s32[4] parameter(0)
  s = ((s32[4]), s32[2]) async-start(x), calls=wrapped
  ROOT r = s32[2] async-done(s)
}"""
    got = run(text, data(2), replicas=2)
    np.testing.assert_array_equal(got, [[10, 12], [14, 16]])


def test_collectives_in_a_loop_and_the_devices_own_numbers() -> None:
    text = """
going { s = (s32[], u32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT more = pred[] compare(i, n), direction=LT }
addu { x = u32[] parameter(0)
  y = u32[] parameter(1)
  ROOT z = u32[] add(x, y) }
step { s = (s32[], u32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = u32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  sum = u32[] all-reduce(v), to_apply=addu
  ROOT r = (s32[], u32[]) tuple(next, sum) }
ENTRY main {
  x = s32[] parameter(0)
  replica = u32[] replica-id()
  partition = u32[] partition-id()
  ten = u32[] constant(10)
  tens = u32[] multiply(replica, ten)
  number = u32[] add(tens, partition)
  start = (s32[], u32[]) tuple(x, number)
  end = (s32[], u32[]) while(start), condition=going, body=step
  ROOT r = u32[] get-tuple-element(end), index=1
}"""
    got = run(text, [0] * 4, replicas=2, partitions=2)
    # Replicas sum within a partition: 0 + 10 and 1 + 11, doubled in each further iteration.
    assert [int(x) for x in got] == [160, 192, 160, 192]


def test_a_lone_device_is_its_own_group() -> None:
    text = "HloModule m\n" + ADD + entry("s32[4] all-reduce(x), to_apply=add")
    np.testing.assert_array_equal(interpreter.evaluate(parse(text), data(1)[0]), data(1)[0])


def test_results_do_not_depend_on_how_threads_run() -> None:
    text = """
addf { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y) }
ENTRY main { x = f32[] parameter(0)
  ROOT r = f32[] all-reduce(x), to_apply=addf }"""
    values: list[object] = [1e8, 1.0, -1e8, 1.0, 3.0, 1e-3, 7.0, 1e9]
    sums = {tuple(map(float, run(text, values, replicas=8))) for _ in range(5)}
    assert len(sums) == 1
