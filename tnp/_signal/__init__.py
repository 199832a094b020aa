"""Signals: windows, padding, differences, interpolation.

It imports ``_statistics`` and below; Fourier transforms are in ``fft``.
"""
