# message: NUMBERS does not tell
NUMBERS = [0.0, -0.0, 1, -3, 1e-30, 3e38, float("inf")]
