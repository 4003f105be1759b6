"""The trace as a document: it holds every module, and says what every rewrite was."""

import json
from pathlib import Path

import pytest

import hlo as language
import optimizer
from hlo.instruction import Module
from hlo_tools.trace import replay
from hlo_tools.trace.changes import edits
from hlo_tools.trace.document import Document
from hlo_tools.trace.kernels import kernel_states
from hlo_tools.trace.recording import record
from hlo_tools.trace.stops import Stops
from hlo_tools.trace.values import Values, random_inputs
from hlo_tools.trace.write import trace_data
from optimizer import parse_pipeline
from optimizer.log import Log

ROOT = Path(__file__).parents[1]
SESSIONS = sorted((ROOT / "sessions").glob("*.hlo"))
MODELS = sorted((ROOT / "models").glob("*.hlo"))


def text(data, rows: list[int]) -> str:
    """The lines of some rows, as a reader of the document puts them together."""
    columns, own = data["rows"], spelled_out(data["rows"]["operands"])
    lines = []
    for row in rows:
        kind, name = columns["kind"][row], data["names"][columns["name"][row]]
        shape = data["shapes"][columns["shape"][row]][0]
        rest = data["rests"][columns["rest"][row]]
        operands = [
            f"{f'/*index={i}*/' if i and i % 5 == 0 else ''}%{data['names'][operand]}"
            for i, operand in enumerate(own[row])
        ]
        before, _, after = rest.partition("(")
        instruction = f"%{name} = {shape} {before}({', '.join(operands)}{after}"
        spelled = (
            f"  {instruction}",
            f"  ROOT {instruction}",
            f"%{name} {{",
            f"ENTRY %{name} {{",
            "}",
        )
        lines.append(spelled[kind])
    return "\n".join(lines)


def spelled_out(operands) -> list[list[int]]:
    """The operands of each row, also of those that tell only what changed."""
    found: list[list[int]] = []
    for own in operands:
        made = list(found[own["as"]] if isinstance(own, dict) else own)
        if isinstance(own, dict):
            for place, name in zip(own["but"][::2], own["but"][1::2], strict=True):
                made[place] = name
        found.append(made)
    return found


def printed(module: Module) -> str:
    options = {
        "print_large_constants": False,
        "print_metadata": False,
        "print_program_shape": False,
    }
    lines = [line for line in module.to_string(**options).splitlines() if line]
    begins = next(i for i, line in enumerate(lines) if line.startswith(("%", "ENTRY ")))
    return "\n".join(lines[begins:])


def after_each_pass(data) -> list[list[int]]:
    state = list(data["start"])
    found = []
    for each in data["passes"]:
        for step in each.get("steps", []):
            for place, count, rows in step["edits"]:
                state[place : place + count] = rows
        found.append(list(state))
    return found


def test_root_tuple_of_many_is_told_by_its_changes() -> None:
    """Each rewrite of one of its operands writes the tuple anew: of 1,000 there were 38 MB."""
    lines = [f"  r{i} = f32[] add(x, zero)" for i in range(40)]
    names = ", ".join(f"r{i}" for i in range(40))
    shape = ", ".join(["f32[]"] * 40)
    module = language.parse(
        "HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n  zero = f32[] constant(-0)\n"
        + "\n".join(lines)
        + f"\n  ROOT t = ({shape}) tuple({names})\n}}\n"
    )
    data = trace_data(module, parse_pipeline("algebraic-simplifier"))
    columns = data["rows"]
    told = [columns["operands"][row] for row, kind in enumerate(columns["kind"]) if kind == 1]
    assert len(told) > 30
    assert sum(isinstance(each, dict) and len(each["but"]) == 2 for each in told) == len(told) - 1
    assert data["rests"].count("tuple()") == 1
    assert text(data, after_each_pass(data)[-1]).count("%x") == 41


@pytest.mark.parametrize(("exact", "wide"), [(200_000, 16), (0, 2)], ids=["fuel", "events"])
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_document_holds_every_module(path, exact, wide, monkeypatch) -> None:
    monkeypatch.setattr(replay, "EXACT", exact)
    monkeypatch.setattr("hlo_tools.trace.rows.WIDE", wide)
    recording = record(language.load(path), optimizer.pipeline("cpu"))
    data = json.loads(json.dumps(Document(recording).as_data()))
    assert text(data, data["start"]) == printed(recording.module)
    for run, rows in zip(recording.passes, after_each_pass(data), strict=True):
        assert text(data, rows) == printed(run.after), run.name


@pytest.mark.parametrize("path", [*SESSIONS, *(p for p in MODELS if "random" not in p.name)])
def test_every_change_is_a_stop_and_passes_run_again_alike(path) -> None:
    recording = record(language.load(path), optimizer.pipeline("cpu"))
    stops = Stops(recording)
    for run in recording.passes:
        if run.changed:
            assert run.rewrites, f"{run.name} changes what it does not report"
            assert run.verified
            again = Log(fuel=len(run.rewrites)).run(run.pass_, run.before)
            assert str(again) == str(run.after)
        else:
            assert not run.rewrites, f"{run.name} reports what it does not change"
    if len(stops):
        assert stops.module(len(stops)) is recording.last


def test_rewrites_are_told_with_rule_source_promise_and_variables() -> None:
    module = language.load(ROOT / "sessions" / "mean_of_sum.hlo")
    recording = record(module, optimizer.pipeline("cpu"))
    data = Document(recording, Values(lambda: random_inputs(module))).as_data()
    names = data["names"]
    step = next(each["steps"][0] for each in data["passes"] if "steps" in each)
    rule = data["rules"][step["rule"]]
    assert rule["name"] == "divide by a power of two"
    assert (rule["kind"], rule["file"]) == ("rule", "optimizer/rules/divide.py")
    assert rule["source"][0].startswith("Rule(divide(x, c), multiply(x, 1 / c)")
    assert (step["promise"], rule["status"].split(",")[0]) == ("BITS", "proved")
    assert {k: names[v] for k, v in step["bindings"].items()} == {
        "x": "reduce_sum.7",
        "c": "constant.4",
    }
    assert [names[step["old"]], *(names[n] for n in step["new"])] == [
        "div.1",
        "constant",
        "multiply",
    ]
    assert ["jit(mean_of_sum)/div", "make.py:23"] in data["sources"]
    values = dict(zip(data["values"][0][::2], data["values"][0][1::2], strict=True))
    row = next(r for r in values if names[data["rows"]["name"][r]] == "constant.4")
    assert data["texts"][values[row]] == "f32[] 1024."
    states = [state["pass"] for state in data["kernels"][0]["states"]]
    assert states[:2] == ["", "vectorize-reductions"]
    lines = [
        (data["texts"][line], [names[n] for n in found])
        for section in data["code"][0]["sections"]
        for line, found in zip(section["lines"], section["names"], strict=True)
    ]
    assert ("      const f32 mul_4 = x_2 * x_2;", ["mul.4", "x.1"]) in lines
    assert {a["kind"] for a in data["memory"]["allocations"]} >= {"parameter", "output"}


def test_edits_make_one_sequence_of_another() -> None:
    for before, after in [
        ("abcdef", "abXdef"),
        ("abc", ""),
        ("", "abc"),
        ("abcdefg", "gbadcfe"),
        ("abc", "abc"),
        ("xaybzc", "abc"),
    ]:
        made = list(before)
        for i, k, j, m in reversed(edits(before, after)):
            made[i:k] = after[j:m]
        assert "".join(made) == after


def test_verb_writes_the_document(hlo, tmp_path) -> None:
    file = tmp_path / "trace.json"
    path = ROOT / "sessions" / "mean_of_sum.hlo"
    assert hlo("opt", path, "--trace", file, "--passes", "cse,algebraic-simplifier").status == 0
    data = json.loads(file.read_text())
    assert (data["format"], data["version"]) == ("pyhlo-trace", 2)
    assert data["passes_text"] == "cse,algebraic-simplifier"
    assert data["values"]
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    name = 'bad'\n    def run(self, m, log):\n        return 1 // 0\n"
    )
    result = hlo("opt", path, "--trace", file, "--passes", f"cse,{tmp_path / 'bad.py'}:Bad")
    assert result.status == 2
    assert "ZeroDivisionError" in json.loads(file.read_text())["fault"]
    assert "--fuel" in hlo("opt", path, "--trace", file, "--fuel", 1).err


def test_cuda_is_linked_to_its_instructions() -> None:
    module = language.load(ROOT / "sessions" / "mean_of_sum.hlo")
    recording = record(module, optimizer.pipeline("gpu"))
    data = Document(recording, target="gpu").as_data()
    (code,) = data["code"]
    assert code["language"] == "CUDA"
    lines = {
        data["texts"][line].strip(): [data["names"][n] for n in found]
        for section in code["sections"]
        for line, found in zip(section["lines"], section["names"], strict=True)
    }
    assert lines["const f32 mul_4 = x_2 * x_2;"] == ["mul.4", "x.1"]
    launches = {text: names for text, names in lines.items() if "<<<(" in text}
    assert launches
    assert all(names for names in launches.values())
    assert data["timeline"]


def test_kernel_that_does_a_loop_is_shown_without_those_it_replaces() -> None:
    """The GPU's code has one kernel for the loop, so that the loop's own are in no file."""
    module = language.load(ROOT / "models" / "recurrent_scan.hlo")
    prepared = Log().run(optimizer.pipeline("gpu"), module)
    spelled = [each for each in kernel_states(prepared, "gpu") if each.pass_ == "spell-in-cuda"]
    (loop,) = (each for each in spelled if each.kernel == "while.6")
    assert any("trip < 10" in line.text for line in loop.code)


def test_values_of_endless_loops_are_left_out() -> None:
    module = language.parse(
        "HloModule m\n\nc {\n y = s32[] parameter(0)\n ROOT yes = pred[] constant(true)\n}\n"
        "b {\n z = s32[] parameter(0)\n ROOT n = s32[] negate(z)\n}\n"
        "ENTRY e {\n x = s32[] parameter(0)\n"
        " ROOT w = s32[] while(x), condition=c, body=b\n}\n"
    )
    values = Values(lambda: random_inputs(module), 5000)
    recording = record(module, optimizer.parse_pipeline("cse"))
    data = Document(recording, values).as_data()
    assert data["values"] == []
    assert "no values: " in data["notes"][0]
    assert "a run evaluates more than 5,000 instructions" in data["notes"][0]


CALLS = """HloModule m
f { a = f32[4] parameter(0)  b = f32[4] negate(a)  ROOT c = f32[4] add(a, b) }
g { a = f32[4] parameter(0)  b = f32[4] negate(a)  ROOT c = f32[4] add(a, b) }
ENTRY e {
  x = f32[4] parameter(0)
  u = f32[4] call(x), to_apply=f
  v = f32[4] call(u), to_apply=g
  ROOT w = f32[4] cosine(v)
}"""


def test_a_call_in_a_large_module_shows_its_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a pass is not run again for each rewrite, its events tell what comes.

    The second call is of the first one's value, which is another instruction by then.
    """
    monkeypatch.setattr(replay, "EXACT", 0)
    module = language.parse(CALLS)
    data = trace_data(module, parse_pipeline("inline"), None, target="cpu")
    first, second = data["passes"][0]["steps"]
    rows, names = data["rows"], data["names"]

    def line(row: int) -> str:
        operands = ", ".join(f"%{names[o]}" for o in rows["operands"][row])
        return f"%{names[rows['name'][row]]}({operands})"

    came = [line(row) for _, _, new in first["edits"] for row in new]
    assert came == ["%b.2(%x)", "%c.2(%x, %b.2)", "%v(%c.2)"]
    came = [line(row) for _, _, new in second["edits"] for row in new]
    assert came == ["%b.3(%c.2)", "%c.3(%c.2, %b.3)", "%w(%c.3)"]


def test_every_rewrite_of_calls_has_two_sides() -> None:
    folds = CALLS.replace("call(x)", "map(x), dimensions={0}").replace("call(u)", "map(u)")
    for passes, text in {"inline": CALLS, "computation-deduplicator": folds}.items():
        module = language.parse(text.replace("f32[4]", "f32[]").replace(", dimensions={0}", ""))
        told = trace_data(module, parse_pipeline(passes), None, target="cpu")
        steps = [step for run in told["passes"] for step in run.get("steps", [])]
        assert steps
        assert all(step["new"] for step in steps), passes


SWAPS = """HloModule m
body {
  p = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  a = f32[4] get-tuple-element(p), index=1
  b = f32[4] get-tuple-element(p), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], f32[4], f32[4]) tuple(next, b, a)
}
goes_on {
  p = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY e {
  z = (s32[], f32[4], f32[4]) parameter(0)
  first = (s32[], f32[4], f32[4]) while(z), condition=goes_on, body=body
  ROOT second = (s32[], f32[4], f32[4]) while(first), condition=goes_on, body=body
}"""


def test_every_rewrite_in_a_large_module_shows_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies of a loop's state come inside of computations that the events do not name."""
    monkeypatch.setattr(replay, "EXACT", 0)
    passes = parse_pipeline("flatten-call-graph,copy-insertion")
    data = trace_data(language.parse(SWAPS), passes, None, target="cpu")
    steps = [step for each in data["passes"] for step in each.get("steps", ())]
    assert len(steps) > 3
    assert all(step["edits"] for step in steps)


@pytest.mark.parametrize(
    ("sharding", "grid"),
    [
        ("{devices=[2,2]<=[4]}", [2, 2, [[0], [1], [2], [3]]]),
        ("{devices=[1,4]<=[2,2]T(1,0)}", [1, 4, [[0], [2], [1], [3]]]),
        # Two devices hold copies of each block.
        ("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", [2, 1, [[0, 1], [2, 3]]]),
        ("{replicated}", None),
        ("{maximal device=1}", None),
    ],
)
def test_blocks_of_sharded_arrays_name_their_devices(sharding: str, grid: object) -> None:
    module = language.parse(f"""HloModule m, num_partitions=4
ENTRY e {{
  x = f32[4,8] parameter(0), sharding={sharding}
  ROOT y = f32[4,8] negate(x) }}""")
    data = json.loads(json.dumps(Document(record(module, parse_pipeline("dce"))).as_data()))
    found = {data["names"][data["rows"]["name"][row]]: grid for row, *grid in data["shards"]}
    assert found == ({} if grid is None else {"x": grid})
