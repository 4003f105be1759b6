"""Fusion: several instructions become one kernel, whose intermediate values never reach memory."""
