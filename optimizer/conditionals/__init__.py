"""Passes about conditionals: choosing branches early, one form for all, selects instead."""
