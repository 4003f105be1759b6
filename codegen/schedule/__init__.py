"""Loop transformations, written once: each takes a loop and gives loops, or raises `IllegalError`.

`loop` is the view that all of them ask; `dependences` and `legality` decide; the other files are
the primitives, by the names that Halide, Exo and MLIR use. A kernel pass is a schedule: a predicate
that says where, a price that says whether, and primitives that say how.
"""
