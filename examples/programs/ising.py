"""The Ising model by Metropolis' algorithm, spin by spin."""

import sys

import numpy as np


def sweep(spins, beta, rng):
    n = len(spins)
    for _ in range(n * n):
        i = rng.integers(n)
        j = rng.integers(n)
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        cost = 2 * spins[i, j] * around
        if cost <= 0 or rng.random() < np.exp(-beta * cost):
            spins[i, j] = -spins[i, j]


def energy(spins):
    return -np.sum(spins * (np.roll(spins, 1, axis=0) + np.roll(spins, 1, axis=1))) / spins.size


def main(size):
    rng = np.random.default_rng(11)
    for temperature in (1.5, 2.269, 3.5):
        spins = np.where(rng.random((size, size)) < 0.75, 1, -1)
        for _ in range(4):
            sweep(spins, 1 / temperature, rng)
        print(f"T={temperature}: energy {energy(spins):.6f}, magnetisation {spins.mean():.6f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
