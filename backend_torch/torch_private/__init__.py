"""torch's private words and patches, each listed in the manifest.

It imports torch only; nothing of torch's is changed for code that is not tnp's.
"""
