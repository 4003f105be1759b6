"""Makes a module smaller, as long as something holds of it."""
