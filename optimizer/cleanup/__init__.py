"""Passes that remove unused instructions, and keep one of equal ones."""
