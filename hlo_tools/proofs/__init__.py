"""Proofs of rewrite rules: both sides become terms of an SMT solver, which looks for a difference.

Read in this order: `meanings` (each opcode as the solver's terms, a line each), `arrays` (whole
graphs of instructions, element by element), `conditions` (guards as such terms), `cases` (left
sides to prove a rule on), `decide` (asks the solver), `every_value` (small types without a solver),
`prove` (all of it for one rule), `record` (what was proved, and of which version of each rule).

Of whole modules: `elements` and `numbering` (the values that are equal whatever the arguments are),
`opcodes`, `places` and `loops` (the opcodes that take more than a line), `questions` (to the
solver), `modules` (two modules, rewrite by rewrite), `watching` (each pass of a pipeline).
"""
