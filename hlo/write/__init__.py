"""The printer: from a module to XLA's canonical text, byte for byte."""
