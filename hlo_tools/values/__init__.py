"""Values of arguments and results: read and written, shown, and computed within bounds."""
