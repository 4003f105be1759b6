"""The house of HLO: opcodes, types, shapes, text, inference, verification."""
