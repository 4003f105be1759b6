"""Rewriting by rules: patterns, rules, and the engine that applies them."""
