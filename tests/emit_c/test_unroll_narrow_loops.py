"""Short loops over numbers of few bits are written out; C gives the same values."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies.compiled import check

from hlo.types.element_type import ELEMENT_TYPES

BODIES = {
    "taken": """
  flipped = {kind}[{n},{rows}] transpose(x), dimensions={{1,0}}
  found = {kind}[{n},{rows}] gather(flipped, at), offset_dims={{1}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{rows}}}
  ROOT back = {kind}[{rows},{n}] transpose(found), dimensions={{1,0}}""",
    "rolled": """
  zero = s32[] constant(0)
  first = s32[1] slice(at), slice={{[0:1]}}
  shift = s32[] reshape(first)
  twice = {kind}[{rows},{twice}] concatenate(x, x), dimensions={{1}}
  ROOT r = {kind}[{rows},{n}] dynamic-slice(twice, zero, shift),
    dynamic_slice_sizes={{{rows},{n}}}""",
    "tiled": """
  rows = {kind}[{rows},2,{n}] broadcast(x), dimensions={{0,2}}
  ROOT r = {kind}[{rows},{twice}] reshape(rows)""",
}


@given(
    body=st.sampled_from(sorted(BODIES)),
    kind=st.sampled_from(["u8", "pred", "s16", "bf16", "f16", "f32"]),
    rows=st.integers(1, 300),
    columns=st.integers(2, 17),
)
def test_values(body, kind, rows, columns):
    inside = BODIES[body].format(kind=kind, rows=rows, n=columns, twice=2 * columns)
    module = f"""HloModule rows
ENTRY e {{
  x = {kind}[{rows},{columns}] parameter(0)
  at = s32[{columns}] parameter(1){inside}
}}"""
    generator = np.random.default_rng(rows)
    x = generator.integers(0, 100, (rows, columns)).astype(ELEMENT_TYPES[kind].dtype)
    at = generator.integers(-2, columns + 2, columns).astype(np.int32)
    check(module, optimize=True, arguments=(x, at))
