"""Groups of options that several verbs share, each declared once, and the files that they name."""
