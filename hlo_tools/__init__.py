"""The `hlo` command: everything that the project does, for the terminal."""
