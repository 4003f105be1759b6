"""Opcodes that C does in its own way: whole arrays at once, folded side by side in vector lanes."""
