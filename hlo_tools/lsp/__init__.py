"""A language server for HLO and StableHLO: what an editor shows while a module is typed.

`names` finds definitions and references in a text that may be half written, `edited_text` answers
an editor's questions about it, and `server` speaks the Language Server Protocol.
"""
