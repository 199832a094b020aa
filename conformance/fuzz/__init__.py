"""The differential fuzzer: drawn calls run on NumPy and tnp, compared, shrunk and grouped by cause."""
