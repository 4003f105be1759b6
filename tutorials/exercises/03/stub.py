"""Exercise 3: find the bracket that is wrong.

`wrong_bracket(text)` gives the place of the first closing bracket that does not fit, because it
closes nothing or a bracket of another kind. Round, square and curly brackets are there. If all
closing ones fit and some are still open at the end, it gives the place of the one that was opened
last. If nothing is wrong, it gives None.

    wrong_bracket("f32[2] add(x, y")     10
    wrong_bracket("{1, 2)}")             5
    wrong_bracket("{{1, 2}, {3, 4}}")    None
"""


def wrong_bracket(text):
    raise NotImplementedError("not written yet")
