"""Signals: windows, padding, differences, interpolation.

It imports ``fft`` and below; Fourier transforms are in ``fft``.
"""
