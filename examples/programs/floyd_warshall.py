"""Shortest paths between all pairs of places, a row and a column at a time."""

import sys

import numpy as np


def shortest(weights):
    distance = weights.copy()
    following = np.where(np.isfinite(weights), np.arange(len(weights)), -1)
    for k in range(len(distance)):
        through = distance[:, k, None] + distance[k]
        shorter = through < distance
        distance[shorter] = through[shorter]
        following[shorter] = np.broadcast_to(following[:, k, None], following.shape)[shorter]
    return distance, following


def path(following, start, end):
    places = [start]
    while start != end:
        start = int(following[start, end])
        places.append(start)
    return places


def main(size):
    rng = np.random.default_rng(12)
    weights = np.where(rng.random((size, size)) < 5 / size, rng.integers(1, 100, (size, size)).astype(float), np.inf)
    np.fill_diagonal(weights, 0)
    distance, following = shortest(weights)
    reached = np.isfinite(distance)
    print("reached:", reached.sum(), "farthest:", distance[reached].max(), f"mean {distance[reached].mean():.6f}")
    start, end = np.unravel_index(np.argmax(np.where(reached, distance, -1)), distance.shape)
    print("its path:", path(following, int(start), int(end)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
