"""Array creation: filled arrays, ranges and grids, arrays from existing data.

It imports ``_manipulation`` and below; it never reads or writes the elements of another array.
"""
