"""Searches: for modules on which a pass is wrong, for the rewrite to blame, for smaller cases."""
