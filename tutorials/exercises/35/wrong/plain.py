# message: NUMBERS does not tell
NUMBERS = [1, 2, 3, 0.5, -1.5, 100, 7, -8]
