"""NumPy programs run as they are: the import hook, adapters for libraries, the report.

It may import every room below ``tnp/__init__.py``; no room imports it.
"""
