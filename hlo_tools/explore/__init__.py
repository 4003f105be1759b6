"""`hlo explore`: an editor for a module, with the viewer's page of the module beside it.

`work` turns a text into a page of the viewer, in a process of its own. `server` carries texts and
pages between the browser and `work`, on this machine only. `parts` has the page itself.
"""
