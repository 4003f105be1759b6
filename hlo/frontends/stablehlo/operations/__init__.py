"""Translations of StableHLO's operations, by families."""
