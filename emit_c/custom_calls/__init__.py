"""Custom calls in C: functions outside HLO, found by name, as in `interpreter.custom_calls`."""
