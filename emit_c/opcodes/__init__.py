"""How each family of opcodes is emitted, beside the interpreter's files of the same families."""
