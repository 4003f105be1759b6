"""Dimensions whose size is known only at run time."""
