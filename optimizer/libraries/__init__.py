"""Work that is handed to somebody else: a library that multiplies matrices, and other threads."""
