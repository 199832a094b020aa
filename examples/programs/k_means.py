"""k-means by Lloyd's algorithm, with distances from broadcasting."""

import sys

import numpy as np


def k_means(points, k, rng):
    centres = points[rng.choice(len(points), k, replace=False)]
    for iteration in range(100):  # noqa: B007
        distances = np.sqrt(((points[:, np.newaxis] - centres) ** 2).sum(axis=2))
        labels = distances.argmin(axis=1)
        moved = np.array([points[labels == i].mean(axis=0) for i in range(k)])
        if np.allclose(moved, centres):
            break
        centres = moved
    return centres, labels, iteration


def main(size):
    rng = np.random.default_rng(0)
    true_centres = rng.uniform(-10, 10, (5, 2))
    points = np.concatenate([rng.normal(centre, 0.7, (size // 5, 2)) for centre in true_centres])
    rng.shuffle(points)
    centres, labels, iterations = k_means(points, 5, rng)
    order = np.lexsort((centres[:, 1], centres[:, 0]))
    print("iterations:", iterations)
    print("sizes:", np.bincount(labels)[order])
    for x, y in centres[order]:
        print(f"centre {x:8.4f} {y:8.4f}")
    inertia = ((points - centres[labels]) ** 2).sum()
    print(f"inertia {inertia:.6f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
