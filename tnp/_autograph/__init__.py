"""Python's `if`, `while` and `for` over traced values: tnp rewrites the user's functions before it traces them.

This room imports ``_functional`` and below. It never rewrites functions of installed libraries.
"""
