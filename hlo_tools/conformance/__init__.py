"""The conformance suite of `hlo check --backend`: holds a backend against another one.

`probes` makes modules with arguments: each opcode with each element type, random modules, control
flow. `behaviours` has the questions that one call does not answer: threads, donation, aliasing,
memory, errors. `isolated` asks a backend in a process of its own, which may crash or hang. `suite`
counts the answers and looks for the smallest module that is wrong; `report` prints both.
"""
