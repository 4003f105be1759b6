"""Random values, instructions and modules, for holding passes and rules against the interpreter.

Everything is drawn from a `random.Random`, so a seed makes it all happen again; Hypothesis can
drive it too, through `st.randoms`.
"""
