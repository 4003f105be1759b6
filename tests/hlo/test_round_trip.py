"""parse(print(m)) is m, for whole modules with everything that a text may say."""

import pytest
from hypothesis import HealthCheck, given, settings
from strategies.equal import assert_same
from strategies.modules import annotated_modules, modules

import hlo
from hlo.instruction import Module
from hlo.write.print import Options, print_module

slow = settings(max_examples=20, suppress_health_check=list(HealthCheck))


@slow
@given(annotated_modules())
def test_modules_read_back(module: Module) -> None:
    again = hlo.parse(str(module))
    assert_same(again, module)
    # XLA prints instructions in an order that it finds by a walk from their order.
    assert str(again) == str(hlo.parse(str(again)))


@slow
@given(annotated_modules())
def test_short_texts_read_back(module: Module) -> None:
    again = hlo.parse(print_module(module, Options.short_parsable()))
    assert_same(again, hlo.parse(module.to_string(print_metadata=False)))


@slow
@given(modules())
def test_comments_change_nothing(module: Module) -> None:
    text = str(module)
    commented = text.replace("\n", " // ROOT \" { ' \n").replace(" = ", " /* = { */ = ")
    assert_same(hlo.parse(commented), hlo.parse(text))


@pytest.mark.parametrize("opcode", ["copy", "negate"])
def test_an_asynchronous_copy_is_not_printed_as_another_opcode(opcode):
    module = hlo.parse(f"""HloModule m
run {{ p = f32[4] parameter(0)  ROOT c = f32[4] {opcode}(p) }}
ENTRY e {{
  x = f32[4] parameter(0)
  s = ((f32[4]), f32[4], u32[]) async-start(x), calls=run,
    output_to_operand_aliasing={{ {{1}}: (0, {{}}) }}
  u = ((f32[4]), f32[4], u32[]) async-update(s)
  ROOT d = f32[4] async-done(u)
}}""")
    text = str(module)
    again = hlo.parse(text)
    hlo.verify(again)
    assert str(again) == text
    assert [i.opcode for i in again.entry.instructions] == [
        i.opcode for i in module.entry.instructions
    ]
