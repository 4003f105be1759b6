"""Large modules for tests of tools: blocks that hold something for every simple pass."""

BLOCK = """
  zero{n} = f32[] constant(0)
  zeros{n} = f32[8,16]{{1,0}} broadcast(zero{n}), dimensions={{}}
  one{n} = f32[] constant(1)
  ones{n} = f32[8,16]{{1,0}} broadcast(one{n}), dimensions={{}}
  same{n} = f32[8,16]{{1,0}} multiply(x{n}, ones{n})
  turned{n} = f32[16,8]{{1,0}} transpose(same{n}), dimensions={{1,0}}
  back{n} = f32[8,16]{{1,0}} transpose(turned{n}), dimensions={{1,0}}
  flat{n} = f32[128]{{0}} reshape(back{n})
  square{n} = f32[8,16]{{1,0}} reshape(flat{n})
  less{n} = f32[8,16]{{1,0}} negate(square{n})
  more{n} = f32[8,16]{{1,0}} negate(less{n})
  dot{n} = f32[8,16]{{1,0}} dot(more{n}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  relu{n} = f32[8,16]{{1,0}} maximum(dot{n}, zeros{n})
  top{n} = f32[8]{{0}} reduce(relu{n}, zero{n}), dimensions={{1}}, to_apply=sum
  wide{n} = f32[8,16]{{1,0}} broadcast(top{n}), dimensions={{0}}
  mean{n} = f32[8,16]{{1,0}} subtract(relu{n}, wide{n})
  e{n} = f32[8,16]{{1,0}} exponential(mean{n})
  twin{n} = f32[8,16]{{1,0}} exponential(mean{n})
  both{n} = f32[8,16]{{1,0}} add(e{n}, twin{n})
  x{m} = f32[8,16]{{1,0}} tanh(both{n})"""


def large_text(blocks: int) -> str:
    """A module of 20 instructions a block."""
    body = "".join(BLOCK.format(n=n, m=n + 1) for n in range(blocks))
    return (
        "HloModule large\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = f32[] add(a, b)\n}\n\nENTRY main {\n  x0 = f32[8,16]{1,0} parameter(0)\n"
        f"  w = f32[16,16]{{1,0}} parameter(1){body}\n"
        f"  ROOT out = f32[8,16]{{1,0}} negate(x{blocks})\n}}\n"
    )
