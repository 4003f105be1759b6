"""Rules that no text can break, because the parser refuses it before: broken by hand here."""

from dataclasses import replace

import numpy as np
import pytest

import hlo
from hlo.build import Builder, instruction, module
from hlo.instruction import Computation, Module
from hlo.types.element_type import BF16, F32, PRED, S32
from hlo.types.literal import literal
from hlo.types.shape import Layout, array
from hlo.types.sharding import Mesh, ReplicaGroups, SubAxis, TileAssignment

VECTOR = array(F32, (4,))


def caught(broken: Module) -> tuple[str, str]:
    with pytest.raises(hlo.HloError) as error:
        hlo.verify(broken)
    return error.value.code, error.value.message


def with_instructions(*instructions: hlo.Instruction) -> Module:
    return module(Computation("main", instructions, instructions[-1]))


def test_a_well_formed_module_passes() -> None:
    b = Builder()
    x = b.parameter(VECTOR)
    hlo.verify(module(b.build(b.add("add", x, x))))


def test_an_operand_must_come_before_its_user() -> None:
    x = instruction("parameter", name="x", shape=VECTOR, number=0)
    n = instruction("negate", [x], name="n")
    assert caught(with_instructions(n, x))[0] == "HLO050"


def test_an_operand_of_another_computation_is_refused() -> None:
    x = instruction("parameter", name="x", shape=VECTOR, number=0)
    assert caught(with_instructions(instruction("negate", [x], name="n"))) == (
        "HLO050",
        "negate: its operand x is not defined before it in this computation",
    )


def test_instruction_names_are_unique() -> None:
    x = instruction("parameter", name="x", shape=VECTOR, number=0)
    assert caught(with_instructions(x, instruction("negate", [x], name="x")))[0] == "HLO051"


def test_computation_names_are_unique() -> None:
    inner = Builder("main")
    inner.parameter(VECTOR)
    computation = inner.build()
    outer = Builder("main", inner.names)
    x = outer.parameter(VECTOR)
    outer.add("call", x, called=(computation,))
    assert caught(module(outer.build()))[0] == "HLO051"


def test_a_module_has_a_name() -> None:
    b = Builder()
    b.parameter(VECTOR)
    assert caught(module(b.build(), name=""))[0] == "HLO051"


def test_the_root_is_in_its_computation() -> None:
    x = instruction("parameter", name="x", shape=VECTOR, number=0)
    y = instruction("negate", [x], name="y")
    assert caught(module(Computation("main", (x,), y)))[0] == "HLO052"
    with pytest.raises(hlo.HloError, match="root"):
        Builder("empty").build()


@pytest.mark.parametrize("numbers", [(0, 0), (0, 2), (1,), (-1, 0)])
def test_parameters_are_numbered_without_gaps(numbers: tuple[int, ...]) -> None:
    parameters = [
        instruction("parameter", name=f"p{i}", shape=VECTOR, number=n)
        for i, n in enumerate(numbers)
    ]
    assert caught(with_instructions(*parameters))[0] == "HLO053"


def test_a_control_predecessor_comes_before() -> None:
    x = instruction("parameter", name="x", shape=VECTOR, number=0)
    n = instruction("negate", [x], name="n")
    y = instruction("sine", [x], name="y", control_predecessors=[n])
    hlo.verify(with_instructions(x, n, y))
    assert caught(with_instructions(x, y))[0] == "HLO055"


def test_a_called_computation_is_in_the_module() -> None:
    inner = Builder("inner")
    inner.parameter(VECTOR)
    outer = Builder("outer", inner.names)
    outer.add("call", outer.parameter(VECTOR), called=(inner.build(),))
    whole = module(outer.build())
    hlo.verify(whole)
    assert caught(replace(whole, computations=whole.computations[1:]))[0] == "HLO056"
    assert caught(replace(whole, computations=whole.computations[::-1]))[0] == "HLO056"
    assert caught(replace(whole, computations=whole.computations[:1]))[0] == "HLO056"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_conditional_on_a_pred_has_two_branches(count: int) -> None:
    inner = Builder("inner")
    inner.parameter(VECTOR)
    outer = Builder("outer", inner.names)
    pred, x = outer.parameter(array(PRED, ())), outer.parameter(VECTOR)
    branches = (inner.build(),) * count
    outer.add("conditional", pred, *[x] * count, called=branches, shape=VECTOR)
    assert caught(module(outer.build()))[0] == "HLO044"


def test_a_layout_orders_every_dimension() -> None:
    shape = array(F32, (2, 3)).with_layout(Layout((1, 1)))
    x = instruction("parameter", name="x", shape=shape, number=0)
    assert caught(with_instructions(x))[0] == "HLO060"


def test_a_layout_of_another_rank_is_refused() -> None:
    shape = array(F32, (2, 3)).with_layout(Layout((0,)))
    x = instruction("parameter", name="x", shape=shape, number=0)
    assert caught(with_instructions(x))[0] == "HLO060"


@pytest.mark.parametrize(
    "groups",
    [
        ReplicaGroups(tiles=TileAssignment((1, 1 << 40), None, (1 << 40,))),
        ReplicaGroups(tiles=TileAssignment((2, 4), None, (7,))),
        ReplicaGroups(mesh=Mesh((("a", 2),)), axes=(SubAxis("b"),)),
    ],
)
def test_compressed_groups_must_come_out_even(groups: ReplicaGroups) -> None:
    add = Builder("add_f32")
    x, y = add.parameter(array(F32)), add.parameter(array(F32))
    called = (add.build(add.add("add", x, y)),)
    b = Builder("main", add.names)
    b.add("all-reduce", b.parameter(VECTOR), replica_groups=groups, called=called)
    assert caught(module(b.build()))[0] == "HLO065"


def test_a_deep_chain_is_no_problem() -> None:
    b = Builder()
    x = b.parameter(VECTOR)
    for _ in range(20_000):
        x = b.add("negate", x)
    hlo.verify(module(b.build(x)))


def test_a_dot_may_yield_a_chosen_type_but_a_negate_may_not() -> None:
    b = Builder()
    x = b.parameter(array(S32, (4,)))
    c = b.constant(literal(np.arange(4, dtype=np.int32)))
    dims = {"lhs_contracting_dims": (0,), "rhs_contracting_dims": (0,)}
    hlo.verify(module(b.build(b.add("dot", x, c, shape=array(F32), **dims))))
    b.add("negate", x, shape=array(F32, (4,)))
    assert caught(module(b.build()))[0] == "HLO030"


def test_floating_point_results_may_be_narrower_unless_only_handed_on() -> None:
    b = Builder()
    x = b.parameter(VECTOR)
    hlo.verify(module(b.build(b.add("negate", x, shape=array(BF16, (4,))))))
    t = b.add("tuple", x)
    b.add("get-tuple-element", t, index=0, shape=array(BF16, (4,)))
    assert caught(module(b.build()))[0] == "HLO030"
