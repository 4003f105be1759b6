"""The memory of values.

Which share memory, which must be copied, and at which addresses all are.
"""
