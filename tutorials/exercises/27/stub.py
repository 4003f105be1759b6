"""Exercise 27: find the wrong rewrite.

`exercises/27/suspect.py` is a pass of six rules, and one of them is wrong. Let bisection find it:

    hlo bisect models/attention.hlo --passes exercises/27/suspect.py:Suspect

Write down the number of the rewrite that makes the result wrong, and the name of its rule.
"""

REWRITE = 0
RULE = ""
