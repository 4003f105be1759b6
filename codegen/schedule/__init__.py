"""Loop transformations, written once: each takes a loop and gives loops, or raises `IllegalError`.

`loop` is the view that all of them ask; `dependences` and `legality` decide; `obligations` and
`trace` tell those who listen; the other files are the primitives, by the names that Halide, Exo and
MLIR use. A kernel pass is a schedule: a predicate that says where, a price that says whether, and
primitives that say how.

A schedule of your own is a function of `body`, which draws names, and of an outermost loop of a
kernel; it returns the statements in the loop's place:

    from codegen.schedule.divide import divide
    from codegen.schedule.order import innermost, vectorize

    def in_blocks(body, loop):
        return divide(body, loop, 32, lambda block, first: [innermost(block, vectorize)])

`hlo opt m.hlo --stage loops --steps --schedule FILE.py:in_blocks` applies it, and `hlo run` runs
it: see docs/howto/schedule-loops.md. Primitives that make names, as of counters, take `body` first.
"""
