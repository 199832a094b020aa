"""Indexing routines: selecting, assigning, diagonals, index arrays and iteration.

It imports ``_creation`` and below; what a key means is decided in ``_core.indexing``.
"""
