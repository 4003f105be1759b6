"""Devices and the links between them: the bytes and the time of collectives."""
