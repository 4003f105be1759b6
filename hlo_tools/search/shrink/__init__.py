"""Makes a module smaller while a given property of it holds."""
