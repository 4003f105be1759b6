"""The parser: from HLO text to a module, by the grammar in `hlo.lark`."""
