"""Memory layouts: in which order an array's dimensions lie, and how to make all row-major.

`layout-assignment` gives every instruction a layout and puts copies where two must differ;
`layout-normalization` then writes every array in the order in which it lies in memory, so that
later passes and the emitters see row-major arrays only, and each move of bytes as a transpose.
"""
