# message: and 8 are allowed
NUMBERS = [0.0, -0.0, 1, -3, 1e-30, 3e38, 5, 6, float("inf"), float("nan")]
