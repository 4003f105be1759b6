"""Tests of passes against the interpreter: modules to try, and differences that are allowed."""
