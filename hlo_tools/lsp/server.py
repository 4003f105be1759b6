"""The Language Server Protocol's side of `edited_text`: requests in, lines and columns out.

`pygls` carries the messages. Everything here turns an answer of `EditedText` into the protocol's
types; no request changes a file, and nothing in a text is ever run.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from hlo_tools.lsp.edited_text import EditedText

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

    from hlo_tools.lsp.names import Defined

# A longer text is checked when it is opened and saved, not at each key.
LONGEST_CHECKED = 200_000


class Server(LanguageServer):
    """A language server, with the last text of each document that was asked about."""

    def __init__(self) -> None:
        super().__init__("hlo", version("pyhlo"))  # pyright: ignore[reportUnknownMemberType]
        self._documents: dict[str, EditedText] = {}

    def document(self, uri: str) -> tuple[TextDocument, EditedText]:
        """A document of the editor, and its text with all answers about it."""
        opened = self.workspace.get_text_document(uri)
        known = self._documents.get(uri)
        if known is None or known.text != opened.source:
            known = EditedText(opened.source, unquote(urlparse(uri).path))
            self._documents[uri] = known
        return opened, known

    def forget(self, uri: str) -> None:
        """Drop a document that was closed."""
        self._documents.pop(uri, None)

    def check(self, uri: str) -> None:
        """Send the errors of a document."""
        opened, known = self.document(uri)
        diagnostics = [
            lsp.Diagnostic(
                range=_range(opened, *known.stretch(error)),
                message="\n".join([error.message, *error.notes]),
                severity=lsp.DiagnosticSeverity.Error,
                code=error.code,
                source="hlo",
            )
            for error in known.errors
        ]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, version=opened.version, diagnostics=diagnostics)
        )


def _range(opened: TextDocument, start: int, end: int) -> lsp.Range:
    """The lines and columns of a stretch of a text."""
    return lsp.Range(
        start=opened.client_position_at_offset(start), end=opened.client_position_at_offset(end)
    )


def _edit(opened: TextDocument, start: int, end: int, text: str) -> lsp.TextEdit:
    return lsp.TextEdit(range=_range(opened, start, end), new_text=text)


server = Server()


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
    """Check a text that was opened."""
    server.check(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
    """Check a text that was saved."""
    server.check(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
    """Check a text after each change, unless it is long."""
    uri = params.text_document.uri
    if len(server.workspace.get_text_document(uri).source) <= LONGEST_CHECKED:
        server.check(uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
    """Forget a text that was closed."""
    server.forget(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(params: lsp.HoverParams) -> lsp.Hover | None:
    """The meaning of the name or opcode under the cursor."""
    opened, known = server.document(params.text_document.uri)
    hovered = known.hover(opened.offset_at_position(params.position))
    if hovered is None:
        return None
    start, end, text = hovered
    content = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=text)
    return lsp.Hover(contents=content, range=_range(opened, start, end))


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
    """Where the name under the cursor is defined."""
    uri = params.text_document.uri
    opened, known = server.document(uri)
    at = known.names.at(opened.offset_at_position(params.position))
    return lsp.Location(uri=uri, range=_range(opened, at[2].start, at[2].end)) if at else None


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
    """Where the name under the cursor is used."""
    uri = params.text_document.uri
    opened, known = server.document(uri)
    at = known.names.at(opened.offset_at_position(params.position))
    if at is None:
        return []
    with_it = params.context.include_declaration
    places = at[2].places if with_it else at[2].references
    return [lsp.Location(uri=uri, range=_range(opened, *place)) for place in places]


@server.feature(lsp.TEXT_DOCUMENT_RENAME)
def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    """The changes that rename a definition and its uses."""
    uri = params.text_document.uri
    opened, known = server.document(uri)
    try:
        edits = known.rename(opened.offset_at_position(params.position), params.new_name)
    except ValueError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    changes = [_edit(opened, e.start, e.end, e.text) for e in edits]
    return lsp.WorkspaceEdit(changes={uri: changes})


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def outline(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """Computations, and the values that each defines."""
    opened, known = server.document(params.text_document.uri)
    parts: dict[Defined | None, list[lsp.DocumentSymbol]] = {None: []}
    starts = [d.start for d in known.names.definitions if d.is_computation] + [len(known.text)]
    for definition in known.names.definitions:
        place = _range(opened, definition.start, definition.end)
        if not definition.is_computation:
            symbol = lsp.DocumentSymbol(definition.name, lsp.SymbolKind.Variable, place, place)
            parts.setdefault(definition.scope, []).append(symbol)
            continue
        end = min(start for start in starts if start > definition.start)
        whole = _range(opened, definition.start, end)
        values = parts.setdefault(definition, [])
        symbol = lsp.DocumentSymbol(
            definition.name, lsp.SymbolKind.Function, whole, place, children=values
        )
        parts[None].append(symbol)
    return parts[None]


@server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def shapes(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """The shapes of the operands that are shown."""
    opened, known = server.document(params.text_document.uri)
    start = opened.offset_at_position(params.range.start)
    end = opened.offset_at_position(params.range.end)
    return [
        lsp.InlayHint(
            position=opened.client_position_at_offset(stop),
            label=f": {shape}",
            kind=lsp.InlayHintKind.Type,
        )
        for stop, shape in sorted(known.shapes(start, end))
    ]


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def format_(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """The change that formats a text."""
    opened, known = server.document(params.text_document.uri)
    formatted = known.formatted()
    return [] if formatted == known.text else [_edit(opened, 0, len(known.text), formatted)]


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION,
    lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
)
def fixes(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The changes that the errors' hints propose."""
    uri = params.text_document.uri
    opened, known = server.document(uri)
    asked = {(d.code, d.range.start.line) for d in params.context.diagnostics}
    actions: list[lsp.CodeAction] = []
    for error in known.errors:
        place = _range(opened, *known.stretch(error))
        if (error.code, place.start.line) not in asked:
            continue
        for fix in known.fixes(error):
            edit = _edit(opened, fix.edit.start, fix.edit.end, fix.edit.text)
            actions.append(
                lsp.CodeAction(
                    title=fix.title,
                    kind=lsp.CodeActionKind.QuickFix,
                    edit=lsp.WorkspaceEdit(changes={uri: [edit]}),
                )
            )
    return actions


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION)
def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    """The words that may be meant at the cursor."""
    opened, known = server.document(params.text_document.uri)
    return [
        lsp.CompletionItem(label=word, kind=lsp.CompletionItemKind(kind), detail=detail)
        for word, kind, detail in known.completions(opened.offset_at_position(params.position))
    ]
