"""The functions of PJRT, and the table in which JAX finds them."""
