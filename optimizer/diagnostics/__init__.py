"""Passes that compute nothing else than before: they say more about a module."""
