"""Passes that remove what is not needed, and keep one of what is there twice."""
