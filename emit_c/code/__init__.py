"""C before it is text: loop nests, index arithmetic, element types, names and constants."""
