"""Every private function of JAX and jaxlib that PyHLO calls, with the reason.

JAX has a public way to register a plugin that is a shared library. A plugin in Python, and one that
reads HLO, needs more; none of it is promised to stay. So it is all here: where a new version of
JAX breaks something, this is the folder to look at. Each function was tried with the versions in
`TRIED` of `hlo_jax.private.versions`.
"""
