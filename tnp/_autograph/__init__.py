"""Python's own `if`, `while` and `for` over traced values: functions are rewritten before they are traced.

It imports ``_functional`` and below. Functions of libraries stay as they are.
"""
