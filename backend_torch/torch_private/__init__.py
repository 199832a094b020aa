"""Every private name and every patch of torch that tnp uses, each listed in the manifest.

This room imports torch only. It never changes torch for code that does not use tnp.
"""
