"""What is told of memory: the report, the picture, and why there is a copy."""

from itertools import combinations
from random import Random
from xml.etree import ElementTree as ET

import pytest
from strategies.loops import busy_module

import hlo
from hlo.errors.error import HloError
from hlo_tools.drawing.pictures.families import COLOURS
from hlo_tools.drawing.pictures.picture import picture
from hlo_tools.reasons.memory import why_copied
from optimizer import Log
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.copy_insertion import CopyInsertion
from optimizer.memory.report import report
from optimizer.scheduling.memory_scheduler import HloMemoryScheduler

LOOP = """HloModule m
body {
  s = (f32[4], f32[4,4]) parameter(0)
  x = f32[4] get-tuple-element(s), index=0
  w = f32[4,4] get-tuple-element(s), index=1
  y = f32[4] dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[4], f32[4,4]) tuple(y, w)
}
condition {
  s = (f32[4], f32[4,4]) parameter(0)
  x = f32[4] get-tuple-element(s), index=0
  first = f32[1] slice(x), slice={[0:1]}
  f = f32[] reshape(first)
  ROOT c = pred[] compare(f, f), direction=NE
}
ENTRY main {
  x = f32[4] parameter(0)
  w = f32[4,4] parameter(1)
  n = f32[4] negate(x)
  t = (f32[4], f32[4,4]) tuple(n, w)
  l = (f32[4], f32[4,4]) while(t), condition=condition, body=body
  r = f32[4] get-tuple-element(l), index=0
  ROOT e = f32[4] reverse(r), dimensions={0}
}"""


def loop():
    return CopyInsertion().run(hlo.parse(LOOP), Log())


def test_report_lists_every_value_and_sums_them_up():
    found = assign(loop())
    text = report(found)
    assert text.startswith("BufferAssignment:\nallocation 0: size 16, parameter 0, shape |f32[4]|")
    for value in found.buffers.flow.values:
        assert value.kind == "output" or f" {value.name} @" in text
    assert f"preallocated temp allocation: {found.temporary_bytes}B" in text
    assert "Peak of temporaries: 17B, at %" in text  # the state and a pred; y lies in the result


def test_why_a_loop_copies_its_state():
    decision = why_copied(loop(), "copy")
    assert (decision.copied, decision.rule) == (True, "loop-state")
    (reason,) = decision.text
    assert "%y (line 6) and the state of the loop %l{0} want the same 16 bytes" in reason
    assert reason.endswith("while %y (line 6) is there (in every iteration of a loop)")
    assert str(why_copied(hlo.parse(LOOP), "y")).startswith("copied (loop-state): %y")
    assert str(why_copied(hlo.parse(LOOP), "%n")).startswith("not copied (no-clash): ")


def test_why_a_parameter_is_copied():
    module = hlo.parse("HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}")
    decision = why_copied(module, "x")
    assert decision.rule == "live-out"
    assert "the caller's, who has not donated it" in str(decision)


def test_unknown_instructions_are_refused():
    with pytest.raises(HloError, match="HLO158"):
        why_copied(loop(), "nobody")


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("seed", range(5))
def test_bars_of_a_picture_do_not_overlap(seed):
    module = HloMemoryScheduler().run(busy_module(Random(seed)), Log())
    found = assign(CopyInsertion().run(module, Log()))
    root = ET.fromstring(picture(found))
    bars = [
        tuple(float(bar.get(key)) for key in ("x", "y", "width", "height"))
        for bar in root.iter(f"{SVG}rect")
        if bar.get("class") == "bar"
    ]
    assert bars
    slack = 0.2  # coordinates are rounded
    for (x, y, w, h), (p, q, v, k) in combinations(bars, 2):
        apart = x + w <= p + slack or p + v <= x + slack or y + h <= q + slack or q + k <= y + slack
        assert apart or (y, h) == (q, k)  # a result in its operand's place, at the same moment


def test_colours_tell_what_makes_a_value():
    module = hlo.parse(
        "HloModule m\nENTRY e {\n  x = f32[8,8] parameter(0)\n"
        "  d = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "  t = f32[8,8] transpose(d), dimensions={1,0}\n  ROOT n = f32[8,8] negate(t)\n}"
    )
    drawn = ET.fromstring(picture(assign(module)))
    fill = {
        bar[0].text.split()[0]: bar.get("fill")
        for bar in drawn.iter(f"{SVG}rect")
        if bar.get("class") == "bar"
    }
    assert fill == {
        "%d": COLOURS["matrix products"],
        "%t": COLOURS["moved or copied"],
        "%n": COLOURS["elementwise"],
    }
    words = {told.text for told in drawn.iter(f"{SVG}text")}
    assert words >= {*COLOURS, "temporaries", "results, and what lies in their memory before"}


def test_names_are_escaped():
    module = hlo.parse(
        "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT n = f32[4] negate(x)\n}"
    )
    named = module.entry.root.with_(name='</title><script>"\x01')
    renamed = type(module)(
        "<&>\x00", (), type(module.entry)("e", (*module.entry.parameters, named), named)
    )
    text = picture(assign(renamed))
    ET.fromstring(text)
    assert "<script>" not in text


def test_a_module_without_memory_has_a_picture():
    module = hlo.parse("HloModule m\nENTRY e {\n  ROOT t = () tuple()\n}")
    assert "no memory" in picture(assign(module))
    assert "total allocation: 0B" in report(assign(module))
