"""`hlo graph`: the boxes and edges of a picture, where they are put, and who draws it."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo as language
import optimizer
from hlo_tools.drawing.graphs.folding import folds
from hlo_tools.drawing.graphs.layers import lay_out, layers
from hlo_tools.drawing.graphs.scene import scene
from hlo_tools.drawing.graphs.svg import place
from hlo_tools.drawing.pictures.families import COLOURS, family_of_opcode
from optimizer.log import Log
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.copy_insertion import CopyInsertion

SVG = "{http://www.w3.org/2000/svg}"
LOOP = """HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

body {
  s = (s32[], f32[256,8]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  x = f32[256,8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  more = s32[] add(n, one)
  y = f32[256,8] tanh(x)
  ROOT t = (s32[], f32[256,8]) tuple(more, y)
}

condition {
  s = (s32[], f32[256,8]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT less = pred[] compare(n, five), direction=LT
}

ENTRY e {
  x = f32[256,8] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], f32[256,8]) tuple(zero, x)
  loop = (s32[], f32[256,8]) while(start), condition=condition, body=body
  y = f32[256,8] get-tuple-element(loop), index=1
  nothing = f32[] constant(0)
  ROOT sum = f32[8] reduce(y, nothing), dimensions={0}, to_apply=add
}
"""


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_picture_has_a_box_an_instruction_and_a_frame_a_computation(hlo) -> None:
    told = texts(hlo("graph", "-", stdin=LOOP.encode()).out)
    assert {"while", "%loop", "condition %condition", "body %body", "tanh", "%y"} <= set(told)
    # The bytes of tensors and numbers are on the edges, small functions in the boxes.
    assert {"8 KiB", "1: 5", "to_apply: add", "f32[256,8]", "direction=LT"} <= set(told)
    assert "%five" not in told
    assert "add %add" not in told


def test_colours_follow_from_traits() -> None:
    assert family_of_opcode("ragged-dot") == "matrix products"
    assert family_of_opcode("reduce-window") == "reductions"
    assert family_of_opcode("gather") == family_of_opcode("transpose") == "moved or copied"
    assert family_of_opcode("all-reduce") == "between devices"
    assert {family_of_opcode(opcode) for opcode in language.opcode.OPCODES} == COLOURS.keys()


def test_a_fusion_has_the_colour_of_the_heaviest_in_it(softmax: Path) -> None:
    module = optimizer.optimize(language.load(softmax))
    fusions = [i for i in module.entry.instructions if i.opcode == "fusion"]
    boxes = {box.instr: box for box in scene(module).boxes}
    assert fusions
    assert all(boxes[f].panels[0].title.startswith("calls %") for f in fusions)
    assert "reductions" in {boxes[f].family for f in fusions}


@given(st.data())
def test_no_boxes_overlap_and_all_edges_go_down(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 25))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = [(a, b) for a, b in data.draw(st.lists(pairs, max_size=40)) if a < b]
    side = st.floats(10, 200)
    sizes = data.draw(st.lists(st.tuples(side, side), min_size=count, max_size=count))
    layout = lay_out(sizes, edges)
    layer = layers(count, edges)
    assert all(layer[a] < layer[b] for a, b in edges)
    boxes = [
        (x - w / 2, x + w / 2, y - h / 2, y + h / 2)
        for (x, y), (w, h) in zip(layout.centres, sizes, strict=True)
    ]
    for n, (left, right, top, bottom) in enumerate(boxes):
        assert left >= -1e-6
        assert right <= layout.width + 1e-6
        assert top >= -1e-6
        assert bottom <= layout.height + 1e-6
        for other in boxes[:n]:
            apart = right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
            assert apart
    ends = {(segment.source, segment.target) for segment in layout.segments}
    assert all(segment.start[1] <= segment.end[1] for segment in layout.segments)
    assert {b for _, b in edges} == {target for _, target in ends if target is not None}


def test_a_chain_is_a_straight_line() -> None:
    layout = lay_out([(50, 20), (90, 20), (30, 20)], [(0, 1), (1, 2)])
    assert len({x for x, _ in layout.centres}) == 1


def test_edges_over_several_layers_are_shared() -> None:
    # 0 is used at the end of the chain 0, 1, 2, 3 by two boxes.
    layout = lay_out([(50, 20)] * 5, [(0, 1), (1, 2), (2, 3), (0, 3), (2, 4), (0, 4)])
    long = [s for s in layout.segments if s.source == 0 and s.target in (3, 4)]
    bends = [s for s in layout.segments if s.source == 0 and s.target is None]
    assert len(long) == 2
    assert len({s.start for s in bends}) == len(bends)


def test_only_neighbours_are_drawn(softmax: Path, hlo) -> None:
    module = language.load(softmax)
    chosen = next(i for i in module.entry.instructions if i.opcode == "exponential")
    near = scene(module, around=chosen.name, hops=1)
    assert {b.instr.name for b in near.boxes} <= {i.name for i in module.entry.instructions}
    assert chosen in {b.instr for b in near.boxes}
    assert len(near.boxes) < len(scene(module).boxes)
    assert any(b.is_cut for b in near.boxes)
    assert f"around {chosen.name}" in hlo("graph", softmax, "--around", chosen.name).out


def test_a_computation_can_be_drawn_alone(hlo) -> None:
    told = texts(hlo("graph", "-", "--computation", "body", stdin=LOOP.encode()).out)
    assert "tanh" in told
    assert "while" not in told


def test_broadcasts_of_numbers_are_labels_too(hlo) -> None:
    text = """ENTRY e {
      x = f32[8] parameter(0)
      half = f32[] constant(0.5)
      halves = f32[8] broadcast(half), dimensions={}
      ROOT y = f32[8] multiply(x, halves)
    }"""
    told = texts(hlo("graph", "-", stdin=text.encode()).out)
    assert "1: 0.5" in told
    assert not {"%half", "%halves"} & set(told)
    assert "operand 1: 0.5" in hlo("graph", "-", "--format", "dot", stdin=text.encode()).out


def test_what_is_too_large_is_drawn_without_its_inside() -> None:
    module = language.parse(LOOP)
    assert any(box.panels for box in scene(module).boxes)
    assert not any(box.panels for box in scene(module, most=6).boxes)
    assert len(scene(module, most=3).boxes) == 3


def program(scopes: list[str]) -> language.Module:
    """A chain of an addition a scope, which a parameter goes into each time."""
    rows = ["x = f32[4] parameter(0)", "v0 = f32[4] negate(x)"]
    for n, scope in enumerate(scopes):
        name = f'metadata={{op_name="jit(f)/{scope}/add"}}'
        rows.append(f"v{n + 1} = f32[4] add(v{n}, x), {name}")
    rows[-1] = "ROOT " + rows[-1]
    return language.parse("ENTRY e {\n" + "\n".join(rows) + "\n}")


@pytest.mark.parametrize("count", [30, 200, 2000])
def test_pictures_of_any_size_can_be_read(count: int) -> None:
    layers_of_ten = [f"layer{n // 10}/part{n % 10 // 5}" for n in range(count)]
    for scopes in (layers_of_ten, ["only"] * count):
        shown = scene(program(scopes))
        layout = place(shown).layout
        assert len(shown.boxes) <= 70
        assert layout.height < 4000
    assert layout.width < 1500


def test_scopes_fold_from_the_outermost_on() -> None:
    scopes = [f"layer{n // 20}/part{n % 20 // 5}" for n in range(100)]
    titles = [box.title for box in scene(program(scopes), most=8).boxes]
    assert titles == ["parameter 0", *(f"layer{n}" for n in range(5))]
    titles = [box.title for box in scene(program(scopes), most=22).boxes]
    assert titles[1:5] == [f"layer0/part{n}" for n in range(4)]


@given(st.lists(st.sampled_from(["a", "b", "a/c", "b/c", ""]), max_size=40), st.integers(2, 20))
def test_folded_pictures_hold_all_and_go_down(scopes: list[str], most: int) -> None:
    """A scope that a value leaves and comes back to has two boxes."""
    module = program(scopes)
    found = folds(module.entry, module.entry.instructions, most)
    members = [instr for fold in found for instr in fold.members]
    assert sorted(i.name for i in members) == sorted(i.name for i in module.entry.instructions)
    box = {instr: n for n, fold in enumerate(found) for instr in fold.members}
    assert all(box[o] <= box[i] for i in members for o in i.operands)


def test_wrong_names_are_refused(hlo) -> None:
    wrong = hlo("graph", "-", "--around", "lop", stdin=LOOP.encode())
    assert (wrong.status, wrong.out) == (2, "")
    assert "did you mean `loop`?" in wrong.err
    assert hlo("graph", "-", "--computation", "boddy", stdin=LOOP.encode()).status == 2
    # An instruction of another computation than the one that is drawn.
    other = hlo("graph", "-", "--computation", "body", "--around", "loop", stdin=LOOP.encode())
    assert other.status == 2


@pytest.mark.parametrize(
    ("name", "form", "told"),
    [("x.png", "svg", "dot -Tpng"), ("x.PDF", "dot", "dot -Tpdf"),
     ("x.dot", "svg", "--format dot"), ("x.svg", "dot", "--format svg")],
)  # fmt: skip
def test_no_picture_is_written_under_the_name_of_another_form(
    hlo, softmax: Path, tmp_path: Path, name: str, form: str, told: str
) -> None:
    result = hlo("graph", softmax, "--format", form, "-o", tmp_path / name)
    assert (result.status, told in result.err) == (2, True)
    assert not (tmp_path / name).exists()


def test_dot_has_clusters_and_quotes_whatever_is_in_names(hlo) -> None:
    text = 'ENTRY e { x = f32[] parameter(0) ROOT y = f32[] negate(x), metadata={op_name="\\""} }'
    told = hlo("graph", "-", "--format", "dot", stdin=LOOP.encode()).out
    assert told.startswith('digraph "m" {')
    assert told.count("{") == told.count("}")
    assert 'label="body %body"' in told
    assert 'lhead="cluster_n' in told
    quotes = hlo("graph", "-", "--format", "dot", stdin=text.encode()).out.replace('\\"', "")
    assert all(line.count('"') % 2 == 0 for line in quotes.splitlines())


def test_graphviz_draws_where_it_is_asked_for(hlo, tmp_path: Path, monkeypatch) -> None:
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho '<svg>from dot</svg>'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ("graph", "-", "--engine", "dot")
    assert hlo(*words, stdin=LOOP.encode()).out == "<svg>from dot</svg>\n"
    # What is small enough is placed by ourselves, so that it looks alike everywhere.
    assert "from dot" not in hlo("graph", "-", stdin=LOOP.encode()).out
    program.write_text("#!/bin/sh\necho 'syntax error' >&2\nexit 1\n")
    assert "Graphviz fails: syntax error" in hlo(*words, stdin=LOOP.encode()).err
    program.unlink()
    assert "there is no `dot` on the path" in hlo(*words, stdin=LOOP.encode()).err


@pytest.mark.parametrize("stage", ["svg", "dot"])
def test_the_optimized_module_is_drawn(hlo, softmax: Path, tmp_path: Path, stage: str) -> None:
    file = tmp_path / "picture"
    assert hlo("opt", softmax, "--stage", stage, "-o", file).status == 0
    assert "kind=kLoop" in file.read_text()


def test_what_is_in_the_text_is_no_markup(hlo) -> None:
    call = 'ROOT y = f32[] custom-call(x), custom_call_target="<b>&"'
    text = f"ENTRY e {{ x = f32[] parameter(0) {call} }}"
    assert 'custom_call_target="<b>&"' in texts(hlo("graph", "-", stdin=text.encode()).out)


def test_deep_nesting_is_no_problem() -> None:
    text = ["HloModule m", "comp0 { ROOT x = f32[] parameter(0) }"]
    text += [
        f"comp{n} {{ x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=comp{n - 1} }}"
        for n in range(1, 200)
    ]
    text += ["ENTRY e { z = f32[] parameter(0) ROOT r = f32[] call(z), to_apply=comp199 }"]
    module = language.parse("\n".join(text))
    assert place(scene(module)).layout.height > 0


def test_notebooks_show_modules_passes_rules_and_buffers(softmax: Path) -> None:
    module = language.load(softmax)
    assert module._repr_svg_().startswith("<svg")
    assert "data:image/svg+xml" in module._repr_html_()
    assert "<summary>module " in module._repr_html_()
    memory = assign(CopyInsertion().run(optimizer.optimize(module), Log()))
    assert memory._repr_svg_().startswith("<svg")
    assert "BufferAssignment" in memory._repr_html_()
    rule = next(iter(optimizer.rules.ALL_RULES))
    assert rule.promise_name in rule._repr_html_()
    assert "copy-insertion" in optimizer.pipeline("cpu")._repr_html_()
    assert "<b>pass dce</b>" in optimizer.parse_pipeline("dce").passes[0]._repr_html_()
    # Who draws nothing lets the notebook show the plain text.
    assert rule._repr_svg_() is None
