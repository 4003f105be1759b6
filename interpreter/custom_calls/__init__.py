"""Functions outside HLO that custom calls name: those that JAX and TensorFlow emit for the CPU."""
