"""Proofs of rewrite rules: both sides become terms of an SMT solver, which looks for a difference.

Read in this order: `meanings` (what opcodes are to the solver, a line each), `arrays` (whole graphs
of instructions, element by element), `conditions` (what guards are to the solver), `cases` (left
sides to prove a rule on), `decide` (asks the solver), `every_value` (small types without a solver),
`prove` (all of it for one rule), `record` (what was proved, and of which version of each rule).

Of whole modules: `elements` and `numbering` (what is equal whatever the arguments are), `loops`,
`questions` (what the solver is asked then), `modules` (two modules, rewrite by rewrite), `watching`
(each pass of a pipeline).
"""
