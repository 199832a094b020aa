"""Statistics: averages, quantiles, histograms, correlations.

It imports ``_sorting`` and below; plain sums are in ``_math``.
"""
