"""Passes about loops: trip counts, simplification, code motion, unrolling."""
