"""The exception `HloError`, positions in HLO text, and the stories of all error codes."""
