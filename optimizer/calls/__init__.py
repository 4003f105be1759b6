"""Passes over the call graph: inlining, flattening, deduplication, mapping."""
