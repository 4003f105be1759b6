"""Reading XLA's protocol buffers: modules, and snapshots of them with their arguments."""
