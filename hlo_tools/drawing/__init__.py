"""Pictures and pages of modules, as text: graphs, values, loops, and the viewer of a trace."""
