"""Batched modules: for each opcode the form that computes for many examples at once."""

from optimizer.batching.table import batches

__all__ = ["batches"]
