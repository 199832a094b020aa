"""A noisy signal cleaned by a low-pass filter in the frequency domain, and its peaks."""

import sys

import numpy as np
from numpy.fft import irfft, rfft, rfftfreq


def signal(size, rate, rng):
    t = np.arange(size) / rate
    tones = np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 12 * t + 1) + 0.25 * np.cos(2 * np.pi * 31 * t)
    return t, tones, tones + rng.standard_normal(size)


def low_pass(values, rate, cutoff):
    spectrum = rfft(values)
    frequencies = rfftfreq(len(values), 1 / rate)
    spectrum[frequencies > cutoff] = 0
    return irfft(spectrum, n=len(values))


def main(size):
    rate = 500.0
    _, clean, noisy = signal(size, rate, np.random.default_rng(1))
    filtered = low_pass(noisy, rate, 40)
    print(f"error before {np.sqrt(np.mean((noisy - clean) ** 2)):.6f}")
    print(f"error after  {np.sqrt(np.mean((filtered - clean) ** 2)):.6f}")
    power = np.abs(rfft(noisy * np.hanning(size))) ** 2
    is_peak = np.r_[False, (power[1:-1] > power[:-2]) & (power[1:-1] > power[2:]), False]
    peaks = np.flatnonzero(is_peak)
    strongest = peaks[np.argsort(power[peaks])[::-1][:3]]
    for index in np.sort(strongest):
        print(f"peak at {rfftfreq(size, 1 / rate)[index]:.3f} Hz")
    print(np.round(filtered[:6], 6))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
