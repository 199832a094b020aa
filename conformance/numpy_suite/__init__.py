"""NumPy's own tests, run against another library that offers NumPy's interface.

Each test module of the installed NumPy is loaded unchanged, except that every ``import numpy`` in it gives the target.
"""
