"""Exercise 35: eight numbers that tell functions apart.

These pairs are not the same, but on most numbers they are:

    x + 0 and x                      x < y and not (x >= y)
    x - x and 0                      (x + y) - y and x
    x / x and 1                      (x * y) / y and x
    x * 0 and 0                      x > 0 ? x : -x and abs(x)
    -(x - y) and y - x               x / 3 and x * (1 / 3)
    sqrt(x * x) and abs(x)           sign(x) and 1, or -1 below 0
    min(x, y) and x < y ? x : y

Choose at most eight numbers of type f32, such that each pair differs somewhere: x and y each take
all of the numbers.
"""

NUMBERS = None  # not written yet: a list
