"""The Mandelbrot set by escape times, only the points that have not escaped being iterated."""

import sys

import numpy as np


def mandelbrot(width, height, iterations):
    x = np.linspace(-2.0, 0.5, width)
    y = np.linspace(-1.25, 1.25, height)
    c = x + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    escape = np.full(c.shape, iterations)
    inside = np.ones(c.shape, dtype=bool)
    for i in range(iterations):
        z[inside] = z[inside] ** 2 + c[inside]
        escaped = inside & (np.abs(z) > 2)
        escape[escaped] = i
        inside[escaped] = False
    return escape


def main(size):
    escape = mandelbrot(size, size, 40)
    print("points inside:", np.count_nonzero(escape == 40), "of", escape.size)
    print("escape times:", np.bincount(escape.ravel(), minlength=41)[:8])
    print(f"mean escape time {escape.mean():.6f}")
    for row in escape[:: size // 16, :: size // 32]:
        print("".join(" .:-=+*#%@"[min(9, int(t) // 4)] for t in row))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 128)
