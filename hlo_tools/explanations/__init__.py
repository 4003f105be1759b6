"""Explanations of error codes."""
