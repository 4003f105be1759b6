"""Passes that rewrite HLO to HLO."""
