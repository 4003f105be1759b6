"""Foreign functions: handlers of XLA's FFI, registered by the user, that programs call.

    jax.ffi.register_ffi_target("my_function", capsule)                    # for XLA CPU and PyHLO
    jax.ffi.register_ffi_target("my_function", capsule, platform="pyhlo")  # for PyHLO alone

Read `hlo_jax/abi/ffi.py` first, which has the structs. `handlers` knows what is registered,
`attributes` turns what a call says into structs, `calls` calls, `api` is what a handler may call
meanwhile.
"""
