"""The base of the array: the classes' shells, dtypes, conversion, indexing, errors and protocols.

Every other room may import it; it imports no other room of tnp.
"""
