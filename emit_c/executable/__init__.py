"""From C to something that runs: compiling, loading, calling, profiling, and use without Python."""
