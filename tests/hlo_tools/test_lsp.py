"""The language server: what an editor is told of a text, and by a scripted client."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

import hlo
from hlo_tools.lsp.edited_text import EditedText

MODELS = Path(__file__).parents[1] / "models"
HLO = """HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y), metadata={op_name="x"}  // not a use of x
}

ENTRY e {
  a = f32[2,3]{1,0} parameter(0)
  add = f32[2,3] abs(negate(a))
  zero = f32[] constant(0), control-predecessors={a}
  ROOT r = f32[2] reduce(add, zero), dimensions={1}, to_apply=%add
}
"""
MLIR = """module @m {
  func.func public @main(%arg0: tensor<2xf32> {jax.arg = "%arg0"}) -> tensor<2xf32> {
    %0 = stablehlo.while(%arg = %arg0) : tensor<2xf32>
     cond {
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %1 = func.call @f(%arg) : (tensor<2xf32>) -> tensor<2xf32>
      stablehlo.return %1 : tensor<2xf32>
    }
    return %0 : tensor<2xf32>
  }
  func.func private @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""


def document(text: str) -> EditedText:
    return EditedText(text, "m.mlir" if text.startswith("module") else "m.hlo")


def places(text: str, near: str) -> list[str]:
    """The lines of a name's definition and uses, numbered from 1, with columns from 1.

    `near` holds a `|` in front of the name.
    """
    offset = text.index(near.replace("|", "")) + near.index("|")
    at = document(text).names.at(offset)
    assert at is not None
    source = hlo.Source(text)
    return ["{}:{}".format(*source.position(start)) for start, _ in at[2].places]


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        ("%|x = ", ["3:7", "4:4", "6:26"]),  # the signature names a parameter, too
        ("  |a = ", ["10:3", "11:29", "12:51"]),  # inside of a nested operand, and in an order
        ("  |add = ", ["11:3", "13:26"]),  # no use of the opcode, nor of the computation
        ("to_apply=%|add", ["3:2", "13:64"]),
        ("|zero = ", ["12:3", "13:31"]),
    ],
)
def test_names_of_hlo(near: str, expected: list[str]) -> None:
    assert places(HLO, near) == expected


@pytest.mark.parametrize(
    ("near", "expected"),
    [
        ("%|arg0: tensor<2xf32> {", ["2:27", "3:34"]),  # each function has an %arg0
        ("tanh %|arg0", ["13:25", "14:26"]),
        ("%|arg = ", ["3:27", "8:26"]),  # a loop's state is seen in its regions
        ("@|f(%arg)", ["8:23", "13:22"]),  # a function may be called before it is defined
        ("return %|0 : tensor<2xf32>\n  }\n  func", ["3:6", "11:13"]),
    ],
)
def test_names_of_stablehlo(near: str, expected: list[str]) -> None:
    assert places(MLIR, near) == expected


def test_every_use_in_a_printed_module_is_found() -> None:
    """The words of a text give the same uses as its parser."""
    for path in sorted(MODELS.glob("*.hlo")):
        text = str(hlo.load(path))
        again = hlo.parse(text)
        names = document(text).names
        found = {d.name: len(d.references) for d in names.definitions if not d.is_computation}
        for computation in again.computations:
            uses = dict.fromkeys(computation.instructions, 0)
            for instr in computation.instructions:
                for used in (*instr.operands, *instr.control_predecessors):
                    uses[used] += 1
                # The signature names it.
                uses[instr] += instr.opcode == "parameter" and "(" in text
            assert {i.name: n for i, n in uses.items()}.items() <= found.items(), text


def test_errors_are_all_told_with_fixes() -> None:
    """Reading ends at the first mistake; rules are checked everywhere."""
    text = HLO.replace("f32[2] reduce", "f32[3] reduce").replace("f32[2,3] abs", "f32[2,4] abs")
    found = document(text)
    assert [e.code for e in found.errors] == ["HLO030", "HLO030", "HLO077"]  # the header, too
    fixes = [fix for error in found.errors for fix in found.fixes(error)]
    assert [f.title for f in fixes] == ["declare it as `f32[2,3]`", "declare it as `f32[2]`"]
    mended = text
    for fix in reversed(fixes):
        mended = mended[: fix.edit.start] + fix.edit.text + mended[fix.edit.end :]
    assert mended == HLO


def test_hints_become_fixes() -> None:
    found = document(HLO.replace("abs(negate(a))", "abs(negat(a))"))
    (error,) = found.errors
    assert [(f.title, f.edit.text) for f in found.fixes(error)] == [
        ("change to `negate`", "negate")
    ]


def test_hover_tells_of_values_and_opcodes() -> None:
    found = document(HLO)
    at = found.hover(HLO.index("add, zero"))
    assert at is not None
    assert at[2].startswith("```hlo\n%add = f32[2,3]{1,0} abs(%negate.anon)\n```\n")
    assert "f32[2,3], 24 bytes, used on line 13" in at[2]
    opcode = found.hover(HLO.index("reduce("))
    assert opcode is not None
    assert opcode[2].startswith("**reduce**: ")
    assert "`to_apply`, `dimensions`" in opcode[2]


def test_renaming_keeps_the_module() -> None:
    """Each use is renamed, and nothing else is."""
    found = document(HLO)
    renamed = HLO
    for edit in reversed(found.rename(HLO.index("%x = ") + 1, "left")):
        renamed = renamed[: edit.start] + edit.text + renamed[edit.end :]
    assert "add(%left, %y)" in renamed
    assert "(left: f32[], y: f32[]) -> f32[] {\n  %left = f32[] parameter(0)" in renamed
    assert 'op_name="x"}  // not a use of x' in renamed
    hlo.verify(hlo.parse(renamed))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("zero", "`zero` is defined on line 12"),
        ("no name", "`no name` is no name"),
        ("1st", "`1st` is no name"),
    ],
)
def test_names_that_cannot_be_taken(new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        document(HLO).rename(HLO.index("a = f32"), new)


def test_shapes_are_shown_after_operands() -> None:
    found = document(MLIR)
    shown = [(MLIR[:end].rpartition("%")[2], shape) for end, shape in found.shapes(0, len(MLIR))]
    assert ("arg0", "f32[2]") in shown
    assert ("c", "pred[]") in shown


def test_format_loses_nothing() -> None:
    """HLO is printed as XLA does, unless that would lose comments."""
    assert document(HLO).formatted() == HLO
    plain = HLO.replace("  // not a use of x", "")
    assert document(plain).formatted() == str(hlo.parse(plain))
    ragged = "\n".join(line.strip() for line in MLIR.replace(" cond", "cond").splitlines())
    assert document(ragged).formatted() == MLIR.replace("     cond", "    cond")


def test_a_text_half_written_has_names() -> None:
    text = HLO[: HLO.index("dimensions")]
    assert places(text, "  |a = ") == ["10:3", "11:29", "12:51"]
    assert document(text).errors


def test_an_editor_talks_to_the_server(tmp_path: Path) -> None:
    """Open a file with a mistake, take the fix, ask for everything, and end."""
    uri = (tmp_path / "m.hlo").as_uri()
    told = asyncio.run(_session(uri, "// é𝄞\n" + HLO.replace("abs(negate", "abs(negat")))
    assert told["codes"] == ["HLO007"]
    assert told["fix"] == ("change to `negate`", lsp.Position(11, 21), lsp.Position(11, 26))
    assert not told["after the fix"]
    assert told["definition"] == lsp.Position(10, 2)
    assert told["references"] == 3
    assert told["outline"] == {"add": ["x", "y", "sum"], "e": ["a", "add", "zero", "r"]}
    assert told["shapes"] == [": f32[2,3]"]
    assert told["hover"].startswith("```hlo\n%a = f32[2,3]{1,0} parameter(0)\n```\n")
    assert told["renamed"] == {(10, 2), (11, 28), (12, 50)}
    assert told["refused"] == "`zero` is defined on line 13"
    assert "reduce" in told["words"]


def test_an_editor_is_told_of_stablehlo(tmp_path: Path) -> None:
    """All that it is told of HLO, of a file that ends in `.mlir`; and its format."""
    wrong = MLIR.replace("tanh", "tan2")
    told = asyncio.run(_stablehlo_session((tmp_path / "m.mlir").as_uri(), wrong))
    assert told["codes"] == ["HLO013"]
    assert not told["after the fix"]
    assert told["outline"] == ["m", "main", "f"]
    assert told["definition"] == lsp.Position(12, 21)
    assert told["formatted"] == MLIR.replace("\n     cond", "\n    cond")


async def _stablehlo_session(uri: str, text: str) -> dict[str, Any]:
    """What a client is told of StableHLO."""
    client = cast("Any", LanguageClient)("test", "1")
    published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: lsp.PublishDiagnosticsParams) -> None:
        published.put_nowait(params)

    await client.start_io(sys.executable, "-m", "hlo_tools", "lsp", "--stdio")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    item = lsp.TextDocumentItem(uri=uri, language_id="mlir", version=1, text=text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    first = await published.get()
    whole = lsp.TextDocumentContentChangeWholeDocument(MLIR)
    newer = lsp.VersionedTextDocumentIdentifier(version=2, uri=uri)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(newer, [whole]))
    second = await published.get()
    this = lsp.TextDocumentIdentifier(uri)
    outline = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(this))
    call = lsp.Position(7, MLIR.splitlines()[7].index("@f") + 1)
    definition = await client.text_document_definition_async(lsp.DefinitionParams(this, call))
    edits = await client.text_document_formatting_async(
        lsp.DocumentFormattingParams(this, lsp.FormattingOptions(tab_size=2, insert_spaces=True))
    )
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return {
        "codes": [d.code for d in first.diagnostics],
        "after the fix": second.diagnostics,
        "outline": [s.name for s in cast("list[lsp.DocumentSymbol]", outline)],
        "definition": cast("lsp.Location", definition).range.start,
        "formatted": "".join(edit.new_text for edit in edits or []),
    }


async def _session(uri: str, text: str) -> dict[str, Any]:
    """What a client is told."""
    client = cast("Any", LanguageClient)("test", "1")
    published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: lsp.PublishDiagnosticsParams) -> None:
        published.put_nowait(params)

    await client.start_io(sys.executable, "-m", "hlo_tools", "lsp", "--stdio")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    item = lsp.TextDocumentItem(uri=uri, language_id="hlo", version=1, text=text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    first = await published.get()
    this = lsp.TextDocumentIdentifier(uri)
    place = first.diagnostics[0].range
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(this, place, lsp.CodeActionContext(first.diagnostics))
    )
    fix = cast("lsp.CodeAction", (actions or [])[0])
    assert fix.edit is not None
    assert fix.edit.changes is not None
    edit = fix.edit.changes[uri][0]
    change = lsp.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
    newer = lsp.VersionedTextDocumentIdentifier(version=2, uri=uri)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(newer, [change]))
    second = await published.get()
    use = lsp.Position(11, 28)  # the `a` in `abs(negate(a))`
    definition = await client.text_document_definition_async(lsp.DefinitionParams(this, use))
    references = await client.text_document_references_async(
        lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=True), this, use)
    )
    outline = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(this))
    line = lsp.Range(lsp.Position(11, 0), lsp.Position(12, 0))
    shapes = await client.text_document_inlay_hint_async(lsp.InlayHintParams(this, line))
    words = await client.text_document_completion_async(lsp.CompletionParams(this, use))
    hover = await client.text_document_hover_async(lsp.HoverParams(this, use))
    renamed = await client.text_document_rename_async(lsp.RenameParams(this, use, "first"))
    starts = [edit.range.start for edit in cast("Any", renamed).changes[uri]]
    try:
        await client.text_document_rename_async(lsp.RenameParams(this, use, "zero"))
        refused = ""
    except Exception as error:
        refused = str(error)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    symbols = cast("list[lsp.DocumentSymbol]", outline)
    return {
        "codes": [d.code for d in first.diagnostics],
        "fix": (fix.title, edit.range.start, edit.range.end),
        "after the fix": second.diagnostics,
        "definition": cast("lsp.Location", definition).range.start,
        "references": len(references or []),
        "outline": {s.name: [c.name for c in s.children or []] for s in symbols},
        "shapes": [hint.label for hint in cast("list[Any]", shapes)],
        "hover": cast("Any", hover).contents.value,
        "renamed": {(start.line, start.character) for start in starts},
        "refused": refused,
        "words": [item.label for item in cast("list[lsp.CompletionItem]", words)],
    }
