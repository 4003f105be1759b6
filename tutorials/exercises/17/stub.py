"""Exercise 17: gather.

For each index vector in `indices`, a window of `attrs.slice_sizes` of the operand is taken.
`attrs.index_vector_dim` is the dimension of `indices` along which the vectors lie (if it is
`indices.ndim`, each index is a vector of one). Number k of a vector is a start in operand dimension
`attrs.start_index_map[k]`; other starts are 0. Starts are clamped, as in exercise 15.

Window dimensions in `attrs.collapsed_slice_dims` have size 1 and are dropped. Those left become the
result's dimensions `attrs.offset_dims`, in order; the other result dimensions are those of
`indices` without the index vectors'. `attrs.operand_batching_dims` and
`attrs.start_indices_batching_dims` pair dimensions of operand and indices: in the former, a window
starts where it is in the latter, and has size 1, and is dropped.

A loop over `np.ndindex(instr.shape.dims)` is good enough. `instr.shape.dims` is the result's shape.
"""


def evaluate_gather(instr, attrs, operand, indices):
    raise NotImplementedError("not written yet")
