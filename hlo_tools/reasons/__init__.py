"""Reasons of the optimizer: why it fused, laid out, copied, recomputed and divided so."""
