"""`hlo rules --why`, and one rewrite left out: `hlo opt --skip`."""

RULE = "negate(negate(x)) => x where has_negatives(x)"
TWICE = b"""HloModule m

ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] negate(x)
  b = f32[4] negate(a)
  s = f32[4] floor(b)
  c = f32[4] abs(s)
  ROOT d = f32[4] abs(c)
}
"""


def test_rules_say_why_they_do_not_apply(hlo) -> None:
    result = hlo("rules", "--why", "-", "--at", "a", stdin=TWICE)
    assert result.status == 0
    assert f"{RULE}\n    %x is a parameter, not a negate" in result.out
    result = hlo("rules", "--why", "-", "--at", "%b", stdin=TWICE)
    assert f"{RULE}\n    it applies" in result.out


def test_unknown_instruction_is_refused(hlo) -> None:
    result = hlo("rules", "--why", "-", "--at", "z", stdin=TWICE)
    assert (result.status, "HLO204" in result.err) == (2, True)


def test_one_rewrite_is_left_out(hlo) -> None:
    both = hlo("opt", "-", "--passes", "algsimp", stdin=TWICE).out
    first = hlo("opt", "-", "--passes", "fix(algsimp,dce)", "--skip", 1, stdin=TWICE).out
    assert both.count("negate(") == 0
    assert both.count("abs(") == 1
    assert first.count("negate(") == 2
    assert first.count("abs(") == 1
