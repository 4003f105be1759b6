"""What every opcode means, in plain NumPy."""
