"""`hlo why fuse FILE A B`, and other questions."""

import re

TWICE = b"""HloModule m

ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] exponential(x)
  b = f32[4] abs(a)
  c = f32[2] slice(b), slice={[0:2]}
  ROOT t = (f32[2], f32[4]) tuple(c, a)
}
"""


def test_decisions_are_told(hlo) -> None:
    fused = hlo("why", "fuse", "-", "b", "c", stdin=TWICE)
    assert (fused.status, fused.out.startswith("fused (saves-memory): %b ")) == (0, True)
    stored = hlo("why", "fuse", "-", "%a", "%b", stdin=TWICE)
    assert stored.out.startswith("not fused (consumer): %t, which needs it, is a tuple")
    assert "(opcode)" in hlo("why", "fuse", "-", "x", "a", "--target", "gpu", stdin=TWICE).out


def test_unknown_instruction_is_refused(hlo) -> None:
    result = hlo("why", "fuse", "-", "b", "d", stdin=TWICE)
    assert (result.status, "HLO158" in result.err) == (2, True)


def test_what_a_fusion_computes_is_asked_of_the_fusion(hlo) -> None:
    fused = hlo("opt", "--passes", "fusion", "-", stdin=TWICE).out.encode()
    for question, names in (("fuse", "bb"), ("copy", "b"), ("remat", "b")):
        asked = hlo("why", question, "-", *names, stdin=fused)
        assert asked.status == 2
        assert "%b is computed inside of %abs_fusion, a fusion: ask about that" in asked.err


def test_why_layout(hlo) -> None:
    asked = hlo("why", "layout", "-", "x", stdin=TWICE)
    assert (asked.status, "only one order" in asked.out) == (0, True)
    result = hlo("why", "layout", "-", "x", "a", stdin=TWICE)
    assert (result.status, "HLO158" in result.err) == (2, True)


def test_the_source_is_told(hlo) -> None:
    text = TWICE.replace(
        b"exponential(x)", b'exponential(x), metadata={source_file="m.py" source_line=7}'
    )
    *_, first, second = hlo("why", "fuse", "-", "%a", "b", stdin=text).out.splitlines()
    assert first == "  <stdin>:5: %a = f32[4]{0} exponential(%x) from m.py:7"
    assert second == "  <stdin>:6: %b = f32[4]{0} abs(%a)"


def test_why_library(hlo) -> None:
    asked = hlo("why", "library", "-", "%a", stdin=TWICE)
    assert asked.out.startswith("a kernel (opcode): the library has no exponential\n")
    assert "HLO158" in hlo("why", "library", "-", "nothing", stdin=TWICE).err
    dot = b"""HloModule m
ENTRY e {
  x = f32[64,64] parameter(0)
  ROOT d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    asked = hlo("why", "library", "-", "d", stdin=dot)
    assert asked.out.startswith(
        "__ynn_fusion (cost): %d: 524288 flops take 10.99 us in the library, 65.54 "
    )
    gpu = ("why", "library", "--target", "gpu", "-")
    assert hlo(*gpu, "d", stdin=dot).out.startswith(
        "a kernel (cost): %d: 524288 flops take 2.03 us"
    )
    large = hlo(*gpu, "d", stdin=dot.replace(b"64,64", b"512,512"))
    assert large.out.startswith(
        "__cublas$gemm (cost): %d: 268435456 flops take 19.90 us in the library, "
    )


def test_a_library_call_says_that_it_is_one(hlo) -> None:
    module = b"""HloModule m
ENTRY e {
  x = f32[512,512] parameter(0)
  d = f32[512,512] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT s = f32[512,512] add(d, x)
}"""
    passes = "dot-library-rewriter{target=gpu}"
    made = hlo("opt", "--passes", passes, "-", stdin=module).out
    (name,) = re.findall(r"ROOT %(\S+) = .* fusion", made)
    gpu = ("why", "library", "--target", "gpu", "-")
    asked = hlo(*gpu, name, stdin=made.encode())
    assert asked.out.startswith(f"__cublas$gemm (fusion): %{name} is such a call already\n")


def test_one_instruction_is_not_two(hlo, softmax) -> None:
    result = hlo("why", "fuse", softmax, "exp.1", "%exp.1")
    assert result.status == 2
    assert "asks about two instructions, not one" in result.err


def test_a_target_is_refused_where_it_says_nothing(hlo, softmax) -> None:
    for question in ("copy", "remat"):
        result = hlo("why", question, softmax, "exp.1", "--target", "gpu")
        assert result.status == 2
        assert "--target has no effect" in result.err


def test_why_remat_means_the_peak_that_the_buffers_show(hlo, softmax, tmp_path) -> None:
    hlo("opt", softmax, "-o", tmp_path / "o.hlo")
    buffers = hlo("opt", tmp_path / "o.hlo", "--passes", "dce", "--stage", "buffers").out
    (peak,) = [line for line in buffers.splitlines() if "temporaries and results" in line]
    moment = peak.partition("(moment ")[2].rstrip(")")
    size = peak.partition(": ")[2].partition("B,")[0].strip()
    told = hlo("why", "remat", tmp_path / "o.hlo", "dot_general.1").out
    assert f"{size} bytes of temporaries and results, moment {moment}" in told
