"""`hlo explore`: a page with an editor, beside which the viewer shows the text that is in it.

`work` turns a text into a page of the viewer, in a process of its own. `server` carries texts and
pages between the browser and `work`, on this machine only. `parts` has the page itself.
"""
