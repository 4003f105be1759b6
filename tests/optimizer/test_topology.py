"""The time of collectives on links: rings, tori and trees."""

import numpy as np
import pytest

import hlo
from optimizer.topology.fleet import fleet_of
from optimizer.topology.links import Topology, topology_of
from optimizer.topology.rounds import bytes_moved

EIGHT = np.arange(8)

# Each device has 1,000 floats: 4,000 bytes.
COLLECTIVES = """HloModule m, num_partitions=8
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[1000] parameter(0)
  sum = f32[1000] all-reduce(x), channel_id=1, to_apply=add,
    use_global_device_ids=true, replica_groups={{0,1,2,3,4,5,6,7}}
  all = f32[8000] all-gather(x), dimensions={0}, channel_id=2, use_global_device_ids=true,
    replica_groups={{0,1,2,3,4,5,6,7}}
  part = f32[125] reduce-scatter(x), dimensions={0}, channel_id=3, use_global_device_ids=true,
    replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=add
  swap = f32[1000] all-to-all(x), dimensions={0}, channel_id=4,
    replica_groups={{0,1},{2,3},{4,5},{6,7}}
  next = f32[1000] collective-permute(x), channel_id=5, source_target_pairs={{0,1},{1,2}}
  stay = f32[1000] collective-permute(x), channel_id=6, source_target_pairs={{0,0},{1,1}}
  ROOT t = (f32[1000], f32[8000], f32[125], f32[1000], f32[1000], f32[1000])
    tuple(sum, all, part, swap, next, stay)
}"""


@pytest.mark.parametrize(
    ("links", "distance", "busiest", "hops"),
    [
        ("ring", 1, 1, 1),
        ("ring", 3, 3, 3),
        ("ring", 4, 4, 4),
        ("ring", 7, 1, 1),  # the other way around
        ("torus:2x4", 4, 1, 1),  # one step along the first dimension
        ("torus:2x4", 2, 2, 3),  # two along the second; at its end, one along the first
        ("tree:8", 3, 1, 2),  # up to the switch and down
        ("tree", 1, 1, 6),  # device 3's neighbour is below the other half of the root
        ("tree", 4, 4, 6),  # four messages share each of the root's links
    ],
)
def test_messages_share_links(links: str, distance: int, busiest: int, hops: int) -> None:
    """All devices send to the one that is so far away."""
    topology = topology_of(links, 8, 1.0, 1.0)
    assert topology.load(EIGHT, (EIGHT + distance) % 8) == (busiest, hops)


def test_load_is_that_of_a_walk_over_the_links() -> None:
    """Counted link by link, for random messages in a torus of three dimensions."""
    dims = (2, 3, 4)
    topology = Topology("torus", dims, 1.0, 1.0)
    random = np.random.default_rng(0)
    for _ in range(20):
        sources, targets = random.integers(0, 24, (2, 10))
        used: dict[object, int] = {}
        longest = 0
        for source, target in zip(sources, targets, strict=True):
            here, there = (list(map(int, np.unravel_index(d, dims))) for d in (source, target))
            steps = 0
            for dim, size in enumerate(dims):
                forward = (there[dim] - here[dim]) % size
                step = 1 if forward <= size - forward else -1
                while here[dim] != there[dim]:
                    link = (*here, dim, step)
                    used[link] = used.get(link, 0) + 1
                    here[dim] = (here[dim] + step) % size
                    steps += 1
            longest = max(longest, steps)
        assert topology.load(sources, targets) == (max(used.values(), default=0), longest)


def test_bytes_that_a_device_receives() -> None:
    module = hlo.parse(COLLECTIVES)
    moved = {i.name: bytes_moved(i, (1, 8)) for i in module.entry.instructions}
    assert moved == {
        "x": 0, "t": 0,
        "sum": 7000,  # 7/8 of the array to be added up, and 7/8 of the sum
        "all": 28000,  # the arrays of seven others
        "part": 3500,  # 7/8 of the array
        "swap": 2000,  # half of it
        "next": 4000, "stay": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("links", "name", "bandwidth", "algorithm", "seconds"),
    [
        # 14 rounds of 500 bytes; 6 of up to 2,000 bytes would share links.
        ("ring", "sum", 100.0, "ring", 14 * (1 + 5)),
        # Where bytes cost nothing, three rounds are best, the longest way of which has four links.
        ("ring", "sum", 1e12, "doubling", 1 + 2 + 4),
        ("tree:8", "sum", 100.0, "halving and doubling", 6 * 2 + 2 * 35),
        ("ring", "all", 100.0, "ring", 7 * (1 + 40)),
        ("ring", "next", 100.0, "direct", 1 + 40),
        ("ring", "stay", 100.0, "direct", 0),
        ("tree:2x4", "swap", 100.0, "pairwise", 2 + 20),
    ],
)
def test_the_fastest_algorithm_is_taken(
    links: str, name: str, bandwidth: float, algorithm: str, seconds: float
) -> None:
    module = hlo.parse(COLLECTIVES)
    fleet = fleet_of(module, links, bandwidth, 1.0)
    told = fleet.collective(next(i for i in module.entry.instructions if i.name == name))
    assert told
    assert told.algorithm == algorithm
    assert told.seconds == pytest.approx(seconds, rel=1e-6)


def test_a_loop_takes_the_time_of_its_iterations() -> None:
    def module(trips: int) -> hlo.Module:
        return hlo.parse(f"""HloModule m, num_partitions=2
body {{ p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[64] get-tuple-element(p), index=1
  y = f32[64] collective-permute(x), channel_id=1, source_target_pairs={{{{0,1}},{{1,0}}}}
  ROOT t = (s32[], f32[64]) tuple(i, y) }}
condition {{ q = (s32[], f32[64]) parameter(0)
  ROOT c = pred[] constant(false) }}
ENTRY e {{
  x = f32[64] parameter(0)
  n = s32[] constant(0)
  s = (s32[], f32[64]) tuple(n, x)
  ROOT w = (s32[], f32[64]) while(s), condition=condition, body=body,
    backend_config={{"known_trip_count":{{"n":"{trips}"}}}}
}}""")

    fleet = fleet_of(module(3), "ring", 256.0, 1.0)
    assert fleet.total(module(3).entry) == 3 * 2.0
    assert fleet.total(module(30).entry) == 30 * 2.0


@pytest.mark.parametrize(
    "links", ["cube", "ring:3", "torus:3x3", "torus:0x8", "tree:2x2", "ring:2x4"]
)
def test_other_topologies_are_refused(links: str) -> None:
    with pytest.raises(hlo.HloError, match="HLO204"):
        topology_of(links, 8, 1.0, 1.0)


def test_a_collective_of_missing_devices_is_refused() -> None:
    module = hlo.parse(COLLECTIVES.replace("num_partitions=8", "num_partitions=4"))
    with pytest.raises(hlo.HloError, match="HLO119"):
        fleet_of(module)
