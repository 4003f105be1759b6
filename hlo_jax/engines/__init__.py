"""What runs a program: the interpreter, C, or CUDA. Chosen by name."""
