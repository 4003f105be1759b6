"""Transformations of loops that know no language."""
