"""The viewer: one page of HTML that shows a trace, without a server and without the network.

`page` puts it together of the files in `parts`, which a browser runs in the order of their names
in `SCRIPTS`: hand-written JavaScript, with no library.
"""
