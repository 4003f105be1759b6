"""The page of `hlo view`, as a file: it loads nothing, runs one script, and holds the trace."""

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import hlo as language
import optimizer
from hlo_tools.drawing.page.page import PARTS, SCRIPTS, page
from hlo_tools.trace.write import trace_data

MEAN = Path(__file__).parents[1] / "sessions" / "mean_of_sum.hlo"
HOSTILE = """HloModule </title><script>alert(1)</script>
ENTRY main {
  x = f32[2] parameter(0), metadata={op_name="</script><img src=x onerror=alert(1)>"}
  a = f32[2] negate(x), metadata={op_name="{{script}}" source_file="<b>" source_line=1}
  ROOT b = f32[2] negate(a), frontend_attributes={note="</script><svg onload=alert(1)>"}
}
"""


class Page(HTMLParser):
    """What a browser sees of the page's markup."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag + (dict(attrs).get("id") or ""))

    def handle_endtag(self, tag):
        while self.open and not self.open.pop().startswith(tag):
            pass

    def handle_data(self, data):
        if self.open:
            self.inside[self.open[-1]] = self.inside.get(self.open[-1], "") + data


@pytest.fixture(scope="module")
def data():
    return trace_data(language.load(MEAN), optimizer.pipeline("cpu"))


@pytest.fixture(scope="module")
def text(data) -> str:
    return page(data)


def trace_of(text: str):
    packed = Page(text).inside["scripttrace"]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_page_holds_the_trace(text, data) -> None:
    held = trace_of(text)
    families = [opcode.pop() for opcode in held["opcodes"]]
    assert held == json.loads(json.dumps(data))
    assert len(families) == len(data["opcodes"])


def test_page_loads_nothing(text) -> None:
    assert not re.search(r"https?://|//cdn|@import|url\(", text)
    for tag, attrs in Page(text).tags:
        assert not {"src", "srcset", "action"} & attrs.keys(), tag
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert (attrs.get("href") or "#").startswith("#")
        assert not [name for name in attrs if name.startswith("on")], tag


def test_policy_lets_just_this_script_run(text) -> None:
    policy = next(a["content"] for _, a in Page(text).tags if a.get("http-equiv"))
    script = Page(text).inside["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")


def test_scripts_set_no_markup() -> None:
    names = {path.stem for path in PARTS.glob("*.js")}
    assert names == set(SCRIPTS)
    for name in SCRIPTS:
        script = (PARTS / f"{name}.js").read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script
        )
        assert len(script.splitlines()) < 300


def test_ids_that_scripts_name_are_in_the_page(text) -> None:
    ids = [attrs["id"] for _, attrs in Page(text).tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    scripts = "".join((PARTS / f"{name}.js").read_text() for name in SCRIPTS)
    wanted = set(re.findall(r'byId\("([\w-]+)"\)', scripts)) | set(
        re.findall(r'on\("(\w+)", ', scripts)
    )
    assert wanted - set(ids) == set()
    labelled = {
        a[key] for _, a in Page(text).tags for key in ("for", "aria-labelledby") if key in a
    }
    assert labelled - set(ids) <= {"tab-hlo"}  # a script makes that


def test_hostile_names_are_text() -> None:
    module = language.parse(HOSTILE.replace("</title><script>alert(1)</script>", "m"))
    data = trace_data(module, optimizer.pipeline("cpu"))
    text = page({**data, "module": "</title><script>alert(1)</script>"})
    assert "alert(1)" not in text.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
    assert [tag for tag, _ in Page(text).tags].count("script") == 2
    assert any("onerror" in source[0] for source in trace_of(text)["sources"])


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_letters_can_be_read_in_both_themes() -> None:
    style = (PARTS / "style.css").read_text()
    blocks = re.findall(r"--page: #.*?\}", style, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
        grounds = ["page", "panel", "gone", "came", "chosen", *(f"v{n}" for n in range(6))]
        for ground in [g for g in grounds if g in colours]:
            assert contrast(colours["text"], colours[ground]) >= 4.5, ground
        for letters in ("dim", "link", "shape", "good", "bad", "operand", "user"):
            assert contrast(colours[letters], colours["page"]) >= 4.5, letters
            assert contrast(colours[letters], colours["panel"]) >= 4.5, letters
        for letters, ground in (("gone-mark", "gone"), ("came-mark", "came"), ("shape", "came")):
            assert contrast(colours[letters], colours[ground]) >= 4.5, (letters, ground)


def test_verb_writes_the_page(hlo, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = hlo("view", MEAN, "--passes", "cse,algebraic-simplifier", "--no-values")
    assert (result.status, result.out) == (0, "mean_of_sum.html\n")
    held = trace_of((tmp_path / "mean_of_sum.html").read_text())
    assert held["passes_text"] == "cse,algebraic-simplifier"
    assert held["values"] == []
    hlo("opt", MEAN, "--passes", "cse", "--trace", "t.json")
    assert hlo("view", "t.json", "-o", "page.html").out == "page.html\n"
    assert trace_of((tmp_path / "page.html").read_text())["passes_text"] == "cse"


def test_verb_refuses_what_is_no_trace(hlo, tmp_path) -> None:
    path = tmp_path / "t.json"
    assert "HLO200" in hlo("view", path).err
    for text in ("{", "[" * 100_000, "[]", '{"format": "pyhlo-trace", "version": 99}'):
        path.write_text(text)
        result = hlo("view", path, "-o", tmp_path / "x.html")
        assert result.status == 2
        assert "HLO201" in result.err
    assert "--seed" in hlo("view", MEAN, "--no-values", "--seed", 1).err
    result = hlo("view", path, "--passes", "cse")
    assert (result.status, "--passes has no effect" in result.err) == (2, True)


def test_large_modules_have_values_where_they_are_asked_for(hlo, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("hlo_tools.verbs.view.is_small", lambda _: False)
    module = Path(__file__).parents[1] / "sessions" / "mean_of_sum.hlo"
    sizes = []
    for words in ([], ["--values"]):
        assert hlo("view", module, "-o", tmp_path / "m.html", *words).status == 0
        sizes.append((tmp_path / "m.html").stat().st_size)
    assert sizes[1] > sizes[0]


def test_line_of_the_users_program_is_beside_its_place(tmp_path) -> None:
    """A module may name any file: only Python is read."""
    for name in ("f.py", "secret.txt"):
        (tmp_path / name).write_text("import jax\ny = x.T\n")
    places = [f'source_file="{tmp_path / name}" source_line=2' for name in ("f.py", "secret.txt")]
    module = language.parse(
        "HloModule m\nENTRY e {\n x = f32[2] parameter(0)\n"
        f' a = f32[2] negate(x), metadata={{op_name="n" {places[0]}}}\n'
        f' ROOT b = f32[2] abs(a), metadata={{op_name="b" {places[1]}}}\n}}'
    )
    sources = trace_data(module, optimizer.parse_pipeline("dce"))["sources"]
    assert sources[1:] == [
        ["n", f"{tmp_path}/f.py:2", "y = x.T"],
        ["b", f"{tmp_path}/secret.txt:2"],
    ]


def test_assembly_is_linked_to_instructions(hlo, tmp_path) -> None:
    assert hlo("view", MEAN, "--assembly", "--no-values", "-o", tmp_path / "m.html").status == 0
    held = trace_of((tmp_path / "m.html").read_text())
    code = {each["language"]: each["sections"] for each in held["code"]}
    assert list(code) == ["C", "Assembly"]
    kernel = code["Assembly"][0]
    about = {held["names"][n] for names in kernel["names"] for n in names}
    assert {"mul.5", "add.1"} <= about
