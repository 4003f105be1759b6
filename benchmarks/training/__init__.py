"""Training scripts with public libraries, which know nothing of PyHLO."""
