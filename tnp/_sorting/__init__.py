"""Sorting, searching and sets.

It imports ``_math`` and below; the orders of values are the backend's.
"""
