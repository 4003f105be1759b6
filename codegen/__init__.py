"""Programs as data, for every emitter: typed expressions, statements, index arithmetic, printing.

A kernel is statements, and what these compute are small trees. Transformations look at the trees;
text is written once, by a printer that an emitter supplies with a table, and never read again.

The files, in the order in which each uses those before it, and in which they are best read:
`expressions` (trees), `walk` and `evaluation` (walks through trees, and the integers that they
are), `statements` (loops, choices, assignments), `printer` (trees and statements as text),
`elements` (a kernel in the making, and the table of opcodes), `loops` (loop nests, and
transformations of loops), `prelude` (the functions that kernels call), `opcodes` and `custom_calls`
(the entries of the table), `program` (which values are stored, and where, and in which order
kernels run), `grids` (kernels whose iterations are threads of a GPU).
"""
