"""The ABI of PJRT as tables: its structs, its functions, its numbers.

PJRT is a C header, `pjrt_c_api.h`. A framework is given the address of one struct, `PJRT_Api`,
which holds a version and a function pointer for each of 138 functions. Each function takes the
address of one struct that holds both its arguments and its results, and returns an error or NULL.
Only these layouts are agreed on; who calls and who is called may be written in any language.

`members` says how a struct is written down, `structs` has those of the functions that PyHLO
answers, `functions` the functions in their order, and `numbers` the enumerations.
"""
