"""Edit distance and longest common subsequence by dynamic programming, element by element."""

import sys

import numpy as np


def levenshtein(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    table[:, 0] = np.arange(len(a) + 1)
    table[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[-1, -1]


def common(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int32)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
    i, j, letters = len(a), len(b), []
    while i and j:
        if a[i - 1] == b[j - 1]:
            letters.append(a[i - 1])
            i, j = i - 1, j - 1
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return "".join(reversed(letters))


def main(size):
    print("kitten, sitting:", levenshtein("kitten", "sitting"))
    rng = np.random.RandomState(6)
    one = "".join("acgt"[k] for k in rng.randint(0, 4, size))
    other = "".join("acgt"[k] for k in rng.randint(0, 4, size + 3))
    print(one, other, levenshtein(one, other))
    print("common:", common(one, other))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
