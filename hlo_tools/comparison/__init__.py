"""Differences of two modules, and the instructions of one that the other has, too."""
