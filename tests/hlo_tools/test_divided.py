"""`hlo why shard` and `hlo stats --devices`: what devices hold, who decided it, what they send."""

import pytest

import hlo as language
from hlo_tools.reasons.partitioning import why_sharded
from tests.sharded import SHARDED

LAYER = b"""HloModule m, num_partitions=8

ENTRY e {
  x = f32[64,256] parameter(0), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}
  w1 = f32[256,1024] parameter(1), sharding={devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}
  w2 = f32[1024,256] parameter(2), sharding={devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}
  h = f32[64,1024] dot(x, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,1024] tanh(h)
  ROOT y = f32[64,256] dot(t, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def test_the_chain_of_decisions_ends_at_the_program(hlo) -> None:
    result = hlo("why", "shard", "-", "h", stdin=LAYER)
    assert result.status == 0
    first, rows, columns, sent, _ = result.out.splitlines()
    assert first == (
        "%h: f32[64,1024] is {devices=[2,4]<=[8]}: each device has f32[32,256], "
        "32,768 of 262,144 bytes"
    )
    assert rows == (
        "  dimension 0 in 2 blocks: as its operand %x (rule of dot), "
        "so says the program of %x, <stdin>:4"
    )
    assert "as its operand %w1" in columns
    assert sent == "  no collective is needed for it"


def test_collectives_are_told_with_their_reason(hlo) -> None:
    """Four devices share the sum: an all-reduce; the caller wants all rows: an all-gather."""
    result = hlo("why", "shard", "-", "%y", stdin=LAYER)
    assert result.out.splitlines()[2:6] == [
        "  it sums over dimension 1 of %t, 0 of %w2 in 4 blocks: each device sums its own",
        "  as the module's result it is wanted {replicated}",
        "  all-reduce %all-reduce f32[32,256]: 49,152 bytes to each device",
        "  all-gather %all-gather f32[64,256]: 32,768 bytes to each device",
    ]


def test_nothing_is_told_of_a_program_of_one_device(hlo) -> None:
    one = LAYER.replace(b", num_partitions=8", b"").replace(b", sharding=", b" // ")
    result = hlo("why", "shard", "-", "y", stdin=one)
    assert (result.status, "HLO158" in result.err) == (2, True)


def test_each_array_of_all_programs_has_a_reason() -> None:
    for program in SHARDED.values():
        module = language.parse(program.text)
        for instr in module.entry.instructions:
            if instr.opcode == "call":
                with pytest.raises(language.HloError, match="HLO158"):
                    why_sharded(module, instr.name)
                continue
            assert why_sharded(module, instr.name).startswith(f"%{instr.name}")


def test_table_of_devices(hlo) -> None:
    result = hlo("stats", "-", "--devices", stdin=LAYER)
    lines = result.out.splitlines()
    assert lines[1] == "1 replica, 8 partitions"
    cut = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
    rows = [" ".join(line.split()) for line in lines]
    assert f"%y 32.0 KiB 64.0 KiB 80.0 KiB {cut} all-reduce, all-gather" in rows
    assert "parameters 544.0 KiB of 2.1 MiB" in rows
    assert "moved 80.0 KiB by 2 collectives" in rows


def test_the_table_of_a_divided_program_has_the_same_sums(hlo) -> None:
    made = hlo("opt", "-", "--passes", "spmd-partitioning{entry=true}", stdin=LAYER).out
    lines = hlo("stats", "-", "--devices", stdin=made.encode()).out.splitlines()
    assert lines[-1].split() == ["moved", "80.0", "KiB", "by", "2", "collectives"]
