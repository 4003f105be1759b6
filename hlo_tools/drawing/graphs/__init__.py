"""Pictures of modules as graphs: boxes for instructions, edges for values, frames for calls."""
