"""Facilities below the language: the user's cache folder, a memo, control of garbage collection."""
