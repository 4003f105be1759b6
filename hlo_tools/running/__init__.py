"""Runs of modules and scripts: observed, profiled, in several ways, of several modules, packed."""
