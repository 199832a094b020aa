"""Program transforms: gradients, tapes, vectorized maps, control flow, custom rules, trees of arrays.

It imports ``_devices`` and below; it never compiles.
"""
