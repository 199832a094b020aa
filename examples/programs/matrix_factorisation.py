"""Ratings predicted from factors of users and films, learned by stochastic gradient descent, a rating at a time."""

import sys

import numpy as np


def ratings(users, films, rng):
    truth = rng.normal(size=(users, 3)) @ rng.normal(size=(3, films))
    seen = np.argwhere(rng.random((users, films)) < 0.3)
    return [(u, i, 3 + truth[u, i]) for u, i in seen]


def factorise(known, users, films, rng, k=3, rate=0.02, penalty=0.02, epochs=5):
    p, q = rng.normal(scale=0.3, size=(users, k)), rng.normal(scale=0.3, size=(films, k))
    mean = np.mean([r for _, _, r in known])
    for epoch in range(epochs):
        total = 0.0
        for index in rng.permutation(len(known)):
            u, i, r = known[index]
            error = r - (mean + p[u] @ q[i])
            pu = p[u].copy()
            p[u] += rate * (error * q[i] - penalty * p[u])
            q[i] += rate * (error * pu - penalty * q[i])
            total += error**2
        print(f"epoch {epoch}: error {np.sqrt(total / len(known)):.6f}")
    return mean + p @ q.T


def main(size):
    rng = np.random.default_rng(9)
    known = ratings(size, size + 5, rng)
    predicted = factorise(known, size, size + 5, rng)
    best = np.argsort(predicted, axis=1)[:, ::-1][:4, :3]
    print("first users should see:", best.tolist())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
