"""Passes about who calls what: inlining, flattening, deduplication, mapping."""
