"""Mathematics: rounding and clipping, sums and products, scans, NaN functions, logic, Einstein sums.

It imports ``_indexing`` and below; elementwise rows belong in ``_ufunc.table``.
"""
