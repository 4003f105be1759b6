"""Auto-clustering: the parts of any function's graph that compile are compiled, the rest is not.

A file a pass, by TensorFlow's names: `mark_for_compilation` (with `deadness_analysis` and
`resource_operation_safety_analysis`), `encapsulate_subgraphs`, `build_xla_ops` and `run`. All but
the last two work on `graph`, and need no TensorFlow.
"""
