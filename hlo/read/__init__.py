"""The parser: from HLO text to a module, by the grammars `hlo.lark` and `values.lark`."""
