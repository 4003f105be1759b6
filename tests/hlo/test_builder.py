"""What builders say of what makes no sense."""

import pytest

from hlo import HloError
from hlo.build import Builder
from hlo.types.element_type import F32
from hlo.types.shape import array


@pytest.fixture
def builder() -> Builder:
    return Builder("e")


def test_a_shape_is_no_text(builder: Builder) -> None:
    with pytest.raises(TypeError, match=r"a shape is needed, not str 'f32\[2\]'; .*array\(F32"):
        builder.parameter("f32[2]")


def test_an_operand_is_no_number(builder: Builder) -> None:
    x = builder.parameter(array(F32, (2,)))
    with pytest.raises(TypeError, match="an operand of add is int 1, not an instruction"):
        builder.add("add", x, 1)


@pytest.mark.parametrize(
    ("opcode", "attrs", "told"),
    [
        ("addd", {}, "there is no opcode `addd`"),
        ("transpose", {"permutation": (1, 0)}, "transpose has no attribute `permutation`"),
        ("transpose", {}, "transpose needs `dimensions`"),
        ("transpose", {"dimension": (1, 0)}, "did you mean `dimensions`?"),
        ("iota", {"shape": array(F32, (2,))}, "iota needs `iota_dimension`"),
        ("call", {"to_apply": "f"}, "called=(computation, ...) gives the computations"),
        ("compare", {"direction": "EQUAL"}, "`EQUAL` is no direction"),
        ("reshape", {}, "the shape of reshape does not follow from its operands"),
        (None, {}, "there is no opcode `None`"),
    ],
)
def test_opcodes_and_attributes_that_are_not(
    builder: Builder, opcode: str, attrs: dict, told: str
) -> None:
    x = builder.parameter(array(F32, (2, 3)))
    with pytest.raises(HloError) as caught:
        builder.add(opcode, *([] if opcode == "iota" else [x]), **attrs)
    assert told in str(caught.value)
    assert caught.value.code in ("HLO002", "HLO005", "HLO007", "HLO025")


@pytest.mark.parametrize(
    ("opcode", "attrs", "told"),
    [
        ("transpose", {"dimensions": 3}, "dimensions of transpose is int 3, not a tuple of whole"),
        ("transpose", {"dimensions": "10"}, "dimensions of transpose is str '10'"),
        (
            "sort",
            {"dimensions": (0,), "is_stable": "yes"},
            "is_stable of sort is str 'yes', not Tr",
        ),
        ("slice", {"slice": ((0, 1, 1),)}, "slice of slice is tuple .*, not a tuple of SliceDim"),
        ("custom-call", {"custom_call_target": 3}, "custom_call_target of .* int 3, not a string"),
        ("reshape", {"shape": (6,)}, "a shape is needed, not tuple"),
    ],
)
def test_values_of_a_wrong_kind_are_refused(
    builder: Builder, opcode: str, attrs: dict, told: str
) -> None:
    x = builder.parameter(array(F32, (2, 3)))
    with pytest.raises(TypeError, match=told):
        builder.add(opcode, x, **attrs)


def test_a_constant_is_a_literal(builder: Builder) -> None:
    with pytest.raises(TypeError, match=r"a literal is needed, not float 1.0; .*literal\("):
        builder.constant(1.0)


def test_operands_are_of_the_same_builder(builder: Builder) -> None:
    x = Builder("other").parameter(array(F32, (2,)), "x")
    builder.add("negate", x)
    with pytest.raises(HloError, match="%x, an operand of %negate, is of another builder"):
        builder.build()


def test_operators_append_to_the_builder(builder: Builder) -> None:
    x = builder.parameter(array(F32, (2,)), "x")
    y = builder.parameter(array(F32, (2,)), "y")
    with builder:
        least = (1 - x) / y % 3 < abs(-y) ** 2
        assert [i.opcode for i in least.operands] == ["remainder", "power"]
        assert str(least.operands[0].operands[1].operands[0]) == "%constant.1 = f32[] constant(3)"
        both = ~(least & (x >= y)) | (x > y) ^ (x <= 2.5)
        inner = Builder("inner")
        z = inner.parameter(array(F32, ()))
        with inner:
            assert (z * z).operands == (z, z)
        assert (x + y) is builder.build().root
    assert both.shape.element_type.name == "pred"
    assert len(inner.build().instructions) == 2


def test_operators_without_a_builder_or_on_something_else(builder: Builder) -> None:
    x = builder.parameter(array(F32, (2,)))
    with pytest.raises(TypeError, match="`add` of instructions needs a builder: with Builder"):
        x + x
    with builder, pytest.raises(TypeError, match="unsupported operand"):
        x + "1"
    with builder, pytest.raises(TypeError, match="'Instruction' and 'NoneType'"):
        x + None
    with builder, pytest.raises(HloError, match="HLO0"):
        x + builder.parameter(array(F32, (3,)))
    with builder, pytest.raises(HloError, match="has no numbers"):
        builder.add("tuple", x) * 2
