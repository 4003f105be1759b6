"""One module a verb of the `hlo` command, imported when the verb is used.

A verb's module has two functions: `add_arguments(parser)` and `run(arguments)`, which returns the
exit status: 0 fine, 1 a comparison failed, 2 bad input or usage. Its docstring is the verb's help.
"""
