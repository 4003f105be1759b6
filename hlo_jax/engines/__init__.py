"""What runs a program: the interpreter, or C. Chosen by name."""
