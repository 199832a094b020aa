"""Universal functions: the calling convention, the table of all ufuncs, reductions and error states.

It imports ``_core`` only; no function with a body of its own lives here.
"""
