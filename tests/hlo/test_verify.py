"""What the verifier accepts and refuses, beyond the one example a code in tests/errors."""

import pytest

import hlo

CALLED = """
add_f32 { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT r = f32[] add(x, y) }
negated { x = f32[4] parameter(0)  ROOT r = f32[4] negate(x) }
pair { x = f32[4] parameter(0)  y = f32[4] parameter(1)  ROOT r = (f32[4]) tuple(x) }
waits { x = f32[] parameter(0)  ROOT r = pred[] constant(false) }
halves { x = f32[] parameter(0), sharding={maximal device=1}  ROOT r = f32[] negate(x) }
"""

# What the module line says, and the body of an entry computation.
ACCEPTED = {
    "async start, update and done": (
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), f32[4], u32[]) async-start(p), calls=negated
            u = ((f32[4]), f32[4], u32[]) async-update(s)
            ROOT d = f32[4] async-done(u)
        """,
    ),
    "an operand that is bound by an update": (
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), (), u32[]) async-start(p), calls=pair
            u = ((f32[4], f32[4]), (f32[4]), u32[]) async-update(s, p)
            ROOT d = (f32[4]) async-done(u)
        """,
    ),
    "copy-start and copy-done": (
        "",
        """
            p = f32[4] parameter(0)
            s = (f32[4]{0:S(1)}, f32[4], u32[]) copy-start(p)
            ROOT d = f32[4]{0:S(1)} copy-done(s)
        """,
    ),
    "send and recv": (
        "",
        """
            t = token[] after-all()
            r = (f32[4], u32[], token[]) recv(t), channel_id=1
            rd = (f32[4], token[]) recv-done(r), channel_id=1
            x = f32[4] get-tuple-element(rd), index=0
            s = (f32[4], u32[], token[]) send(x, t), channel_id=2
            ROOT sd = token[] send-done(s), channel_id=2
        """,
    ),
    "groups of the whole grid": (
        "replica_count=2, num_partitions=2",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0,3},{1,2}}, channel_id=1,
                use_global_device_ids=true, to_apply=add_f32
        """,
    ),
    "groups of different sizes in an all-reduce": (
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0},{1,2}}, to_apply=add_f32
        """,
    ),
    "all partitions of each replica group": (
        "replica_count=2, num_partitions=4",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[32] all-gather(p), replica_groups={{0,1}}, channel_id=1, dimensions={0}
        """,
    ),
    "all of an unknown number of partitions": (
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[32] all-gather(p), replica_groups={{0,1}}, channel_id=1, dimensions={0}
        """,
    ),
    "groups as an iota": (
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[8] all-gather(p), replica_groups=[4,2]<=[8], dimensions={0}
        """,
    ),
    "a bounded dimension where an exact one is inferred": (
        "",
        """
            p = f32[<=4] parameter(0)
            q = f32[4] parameter(1)
            ROOT r = f32[4] add(p, q)
        """,
    ),
    "another layout than the operand's": (
        "",
        """
            p = f32[2,3]{1,0} parameter(0)
            ROOT r = f32[2,3]{0,1} negate(p)
        """,
    ),
    "mixed precision where values are computed": (
        "",
        """
            p = bf16[4] parameter(0)
            q = f32[4] parameter(1)
            ROOT r = bf16[4] add(p, q)
        """,
    ),
    "an exact product of small integers": (
        "",
        """
            p = s8[4] parameter(0)
            ROOT r = s32[] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}
        """,
    ),
    "an alias and a donor": (
        "input_output_alias={ {0}: (0, {}, must-alias) }, buffer_donor={ (1, {}) }",
        """
            p = f32[4] parameter(0)
            q = f32[4] parameter(1)
            ROOT r = (f32[4], f32[4]) tuple(p, q)
        """,
    ),
    "a sharding with copies in the last dimension": (
        "num_partitions=4",
        """
            ROOT p = f32[4,8] parameter(0),
                sharding={devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}
        """,
    ),
    "a sharding of each element": (
        "num_partitions=2",
        """
            ROOT p = (f32[4], f32[]) parameter(0), sharding={{devices=[2]0,1}, {replicated}}
        """,
    ),
    "a buffer that is written once": (
        "",
        """
            p = f32[4] parameter(0)
            b = b(f32[4]) custom-call(p), custom_call_target="Pin",
                output_to_operand_aliasing={{}: (0, {})}
            c = b(f32[4]) custom-call(b), custom_call_target="f",
                output_to_operand_aliasing={{}: (0, {})}
            ROOT r = f32[4] custom-call(c), custom_call_target="Unpin",
                output_to_operand_aliasing={{}: (0, {})}
        """,
    ),
}
# The same, with the code of the error in front.
REFUSED = {
    "async-done of another value": (
        "HLO070",
        "",
        """
            p = f32[4] parameter(0)
            t = (f32[4]) tuple(p)
            s = ((f32[4]), f32[4]) tuple(t, p)
            ROOT d = f32[4] async-done(s)
        """,
    ),
    "a start that nobody ends": (
        "HLO070",
        "",
        """
            p = f32[4] parameter(0)
            ROOT s = (f32[4], f32[4], u32[]) copy-start(p)
        """,
    ),
    "a start whose value is used": (
        "HLO070",
        "",
        """
            p = f32[4] parameter(0)
            s = (f32[4], f32[4], u32[]) copy-start(p)
            ROOT d = f32[4] get-tuple-element(s), index=0
        """,
    ),
    "async-done before all operands are bound": (
        "HLO071",
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), (f32[4]), u32[]) async-start(p), calls=pair
            ROOT d = (f32[4]) async-done(s)
        """,
    ),
    "one async computation for two starts": (
        "HLO083",
        "",
        """
            p = f32[4] parameter(0)
            s = ((f32[4]), f32[4], u32[]) async-start(p), calls=negated
            d = f32[4] async-done(s)
            t = ((f32[4]), f32[4], u32[]) async-start(d), calls=negated
            ROOT e = f32[4] async-done(t)
        """,
    ),
    "global ids without a channel": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, use_global_device_ids=true,
                to_apply=add_f32
        """,
    ),
    "global ids without groups": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={}, channel_id=1,
                use_global_device_ids=true, to_apply=add_f32
        """,
    ),
    "groups of different sizes in an all-gather": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[8] all-gather(p), replica_groups={{0,1},{2}}, dimensions={0}
        """,
    ),
    "an empty group": (
        "HLO065",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0},{}}, to_apply=add_f32
        """,
    ),
    "groups that leave out replicas": (
        "HLO066",
        "replica_count=4",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add_f32
        """,
    ),
    "parts that are no multiple of a group": (
        "HLO066",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[12] all-gather(p), replica_groups={{0,1}}, channel_id=1, dimensions={0}
        """,
    ),
    "a device that there is not": (
        "HLO067",
        "replica_count=2",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] collective-permute(p), source_target_pairs={{0,2}}
        """,
    ),
    "a channel number that is not positive": (
        "HLO068",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] all-reduce(p), replica_groups={}, channel_id=0, to_apply=add_f32
        """,
    ),
    "an end on the host of a start on a device": (
        "HLO068",
        "",
        """
            p = f32[4] parameter(0)
            t = token[] after-all()
            s = (f32[4], u32[], token[]) send(p, t), channel_id=1
            ROOT d = token[] send-done(s), channel_id=1, is_host_transfer=true
        """,
    ),
    "two aliases of one parameter": (
        "HLO075",
        "input_output_alias={ {0}: (0, {}), {1}: (0, {}) }",
        """
            p = f32[4] parameter(0)
            ROOT r = (f32[4], f32[4]) tuple(p, p)
        """,
    ),
    "a must-alias of different layouts": (
        "HLO075",
        "input_output_alias={ {}: (0, {}, must-alias) }",
        """
            p = f32[2,3]{1,0} parameter(0)
            ROOT r = f32[2,3]{0,1} copy(p)
        """,
    ),
    "a donor with an alias": (
        "HLO076",
        "input_output_alias={ {}: (0, {}) }, buffer_donor={ (0, {}) }",
        """
            ROOT p = f32[4] parameter(0)
        """,
    ),
    "a layout line with too few parameters": (
        "HLO077",
        "entry_computation_layout={()->f32[4]{0}}",
        """
            ROOT p = f32[4] parameter(0)
        """,
    ),
    "a layout line with another result": (
        "HLO077",
        "entry_computation_layout={(f32[4]{0})->s32[4]{0}}",
        """
            ROOT p = f32[4] parameter(0)
        """,
    ),
    "one sharding for two elements": (
        "HLO079",
        "",
        """
            ROOT p = (f32[4], f32[4]) parameter(0), sharding={{replicated}}
        """,
    ),
    "a tile on two devices": (
        "HLO079",
        "",
        """
            ROOT p = f32[4] parameter(0), sharding={devices=[2]1,1}
        """,
    ),
    "a loop that changes its sharding": (
        "HLO079",
        "num_partitions=2",
        """
            p = f32[] parameter(0)
            ROOT w = f32[] while(p), condition=waits, body=halves, sharding={replicated}
        """,
    ),
    "an alias of an operand that there is not": (
        "HLO080",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] custom-call(p), custom_call_target="f",
                output_to_operand_aliasing={{}: (1, {})}
        """,
    ),
    "a buffer among the parameters": (
        "HLO081",
        "",
        """
            ROOT p = b(f32[4]) parameter(0)
        """,
    ),
    "a sum of buffers": (
        "HLO025",
        "",
        """
            b = b(f32[4]) custom-call(), custom_call_target="CreateBuffer"
            ROOT r = f32[4] add(b, b)
        """,
    ),
    "a negative composite version": (
        "HLO084",
        "",
        """
            p = f32[4] parameter(0)
            ROOT r = f32[4] call(p), to_apply=negated, is_composite=true,
                frontend_attributes={composite.name="n",composite.version="-1"}
        """,
    ),
    "replication of more arrays than there are": (
        "HLO043",
        "",
        """
            ROOT p = f32[4] parameter(0), parameter_replication={true,false}
        """,
    ),
}


def parsed(header: str, body: str) -> hlo.Module:
    line = f"HloModule m, {header}" if header else "HloModule m"
    return hlo.parse(f"{line}\n{CALLED}\nENTRY main {{{body}}}")


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepts(what: str) -> None:
    hlo.verify(parsed(*ACCEPTED[what]))


@pytest.mark.parametrize("what", REFUSED)
def test_refuses(what: str) -> None:
    code, *text = REFUSED[what]
    with pytest.raises(hlo.HloError) as error:
        hlo.verify(parsed(*text))
    assert error.value.code == code
    assert error.value.span is not None


def test_an_error_says_where() -> None:
    with pytest.raises(hlo.HloError) as error:
        hlo.verify(
            hlo.parse("ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT n = f32[5] negate(p)\n}")
        )
    assert str(error.value).splitlines() == [
        "<string>:3:19: error[HLO030]: negate: declared as f32[5], but is f32[4]",
        "   3 |   ROOT n = f32[5] negate(p)",
        "     |                   ^^^^^^",
    ]


def test_an_implied_parameter_is_refused_at_the_module() -> None:
    with pytest.raises(hlo.HloError) as error:
        hlo.verify(hlo.parse("n = f32[4611686018427387904] negate(f32[4611686018427387904] p)"))
    assert error.value.code == "HLO020"
    assert error.value.span is not None
