"""Passes that write an opcode in terms of simpler ones, so that backends need to know fewer.

One file a pass. `op_expander.expand` finds the instructions and puts their expansions in their
place; an expansion is a function that builds the replacement with the short names of `parts`.
"""
