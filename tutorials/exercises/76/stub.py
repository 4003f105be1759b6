"""Exercise 76: choose the passes.

Give the text of a pipeline, such as "inline,fix(cse,dce)". After it, the layer in
models/transformer_layer.hlo may move at most 1.1 times the bytes that it moves after the standard
pipeline. It may have at most eight passes. `hlo passes` lists them.
"""

PIPELINE = ""
