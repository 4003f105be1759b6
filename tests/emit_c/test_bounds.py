"""No module that verifies makes C read or write outside of its memory: gathers and scatters."""

import pytest
from strategies.compiled import arguments_for, check, entry

import hlo
from emit_c.executable.sanitize import sanitize

SECOND = "second { x = f32[] parameter(0)  ROOT y = f32[] parameter(1) }"

# Lines of a module whose indices, or numbers of batches, lie outside of the operand.
OUTSIDE = {
    "a gather of more batches than the operand has": """
x = f32[2,9] parameter(0)
i = s32[8,1] parameter(1)
ROOT g = f32[8,3] gather(x, i), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1}, \
operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,3}
""",
    "a gather that drops slices of size 0": """
x = f32[2,9] parameter(0)
i = s32[5] parameter(1)
ROOT g = f32[5,9] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, \
index_vector_dim=1, slice_sizes={0,9}
""",
    "a gather of complex numbers that drops slices of size 0": """
x = c64[2,9] parameter(0)
i = s32[5] parameter(1)
g = c64[5,9] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, \
index_vector_dim=1, slice_sizes={0,9}
ROOT n = c64[5,9] negate(g)
""",
    "a gather from an empty array": """
x = s8[0,9] parameter(0)
i = s32[5] parameter(1)
ROOT g = s8[5,9] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, \
index_vector_dim=1, slice_sizes={0,9}
""",
    "a scatter of more batches than the operand has": """
x = f32[2,9] parameter(0)
i = s32[8,1] parameter(1)
u = f32[8,3] parameter(2)
ROOT s = f32[2,9] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={}, \
scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, \
index_vector_dim=1, to_apply=second
""",
    "a scatter into an empty array": """
x = f32[0,9] parameter(0)
i = s32[5,1] parameter(1)
u = f32[5,3] parameter(2)
ROOT s = f32[0,9] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, \
scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=second
""",
}


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("what", OUTSIDE)
def test_indices_stay_inside(what, optimize):
    check(entry(OUTSIDE[what], SECOND), optimize=optimize)


@pytest.mark.parametrize("what", OUTSIDE)
def test_sanitizers_see_no_step_outside(what):
    module = hlo.parse(entry(OUTSIDE[what], SECOND))
    hlo.verify(module)
    assert sanitize(module, arguments_for(module)).findings == ()
