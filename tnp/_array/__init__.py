"""The finished array class: methods, operators, scalars, derived classes, printing, matrix, foreign protocols.

It composes the shells of ``_core`` from the chapters below it; no chapter imports it.
"""
