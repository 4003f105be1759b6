"""What the verifier accepts and refuses, beyond the one example a code in tests/errors."""

import pytest
from verified import check_refused, parsed

import hlo

# What the module line says, and the body of an entry computation.
ACCEPTED = {
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


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepts(what: str) -> None:
    hlo.verify(parsed(*ACCEPTED[what]))


@pytest.mark.parametrize("what", REFUSED)
def test_refuses(what: str) -> None:
    check_refused(*REFUSED[what])


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
