"""Heat in a plate, by an explicit five-point stencil on slices."""

import sys

import numpy as np


def main(size):
    u = np.zeros((size, size))
    u[0, :] = 100.0
    u[:, 0] = np.linspace(100.0, 0.0, size)
    u[size // 3 : size // 2, size // 3 : size // 2] = 50.0
    for step in range(200):
        new = u.copy()
        new[1:-1, 1:-1] += 0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        change = np.abs(new - u).max()
        u = new
        if step % 50 == 0:
            print(f"step {step}: mean {u.mean():.9f}, change {change:.9f}")
    print(np.round(u[:: size // 5, :: size // 5], 4))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
