"""Primes by the sieve of Eratosthenes, their gaps and twins."""

import sys

import numpy as np


def primes_below(n):
    is_prime = np.ones(n, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return np.nonzero(is_prime)[0]


def main(size):
    primes = primes_below(size)
    print(len(primes), "primes below", size, "the last", primes[-3:])
    gaps = np.diff(primes)
    print("twins:", np.count_nonzero(gaps == 2), "largest gap:", gaps.max(), "after", primes[gaps.argmax()])
    values, counts = np.unique(gaps, return_counts=True)
    for value, count in list(zip(values, counts, strict=True))[:5]:
        print(f"gap {value}: {count}")
    print("last digits:", np.bincount(primes % 10))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10000)
