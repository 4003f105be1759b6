"""Exercise 1: cut a text into words.

`words(text)` gives a list of the words of a text:

    a number   digits, with a `-` right before them if it is negative: 7, -12
    a name     a letter or `_`, and letters, digits, `_` and dots after it: x, add.1, _y2
    ->         an arrow, which is one word
    a sign     any other character: ( ) [ ] { } , = -

Blanks and ends of lines are no words. A comment, from `/*` to the next `*/`, counts as a blank.
"""


def words(text):
    raise NotImplementedError("not written yet")
