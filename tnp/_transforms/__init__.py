"""Program transforms: gradients, tapes, vectorized maps, control flow, custom rules, trees of arrays.

It imports the array and below; it never compiles.
"""
