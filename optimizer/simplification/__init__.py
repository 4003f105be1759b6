"""Passes that replace instructions by simpler ones of the same value."""
