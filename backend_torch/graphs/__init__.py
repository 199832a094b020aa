"""Graphs: tracing, compiling, exporting, packaging, control flow.

It imports every room below; no kernel imports it.
"""
