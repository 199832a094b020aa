"""PageRank by power iteration on a dense transition matrix."""

import sys

import numpy as np


def transition_matrix(size, rng):
    links = (rng.random((size, size)) < 8 / size).astype(float)
    np.fill_diagonal(links, 0)
    out_degree = links.sum(axis=0)
    dangling = out_degree == 0
    links[:, dangling] = 1.0
    return links / links.sum(axis=0)


def pagerank(matrix, damping=0.85, tolerance=1e-10):
    n = len(matrix)
    rank = np.full(n, 1 / n)
    for iteration in range(1000):  # noqa: B007
        new = damping * (matrix @ rank) + (1 - damping) / n
        if np.abs(new - rank).sum() < tolerance:
            break
        rank = new
    return rank, iteration


def main(size):
    rng = np.random.default_rng(7)
    rank, iterations = pagerank(transition_matrix(size, rng))
    print(f"{iterations} iterations, sum {rank.sum():.9f}")
    for page in np.argsort(-rank)[:10]:
        print(f"page {page:4d} {rank[page]:.9f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
