"""Loops of one GPU thread over neighbours in memory, which it loads and stores several at once."""
