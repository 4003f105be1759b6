"""The exception `HloError`, positions in HLO text, and lines of users' files."""
