"""Array manipulation: shapes, joining, splitting, rearranging, broadcasting, packed bits.

It imports ``_ufunc`` and below; nothing is computed from values here.
"""
