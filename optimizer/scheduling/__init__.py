"""In which order instructions run: to need little memory, and not to wait."""
