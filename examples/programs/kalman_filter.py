"""A Kalman filter that follows a moving point from noisy positions."""

import sys

import numpy as np
from numpy.linalg import inv


def main(steps):
    rng = np.random.default_rng(8)
    dt = 0.1
    f = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=float)
    h = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    q, r = 0.01 * np.eye(4), 0.25 * np.eye(2)
    truth, state, p = np.array([0.0, 0.0, 1.0, 0.5]), np.zeros(4), np.eye(4)
    raw, filtered = [], []
    for _ in range(steps):
        truth = f @ truth + rng.multivariate_normal(np.zeros(4), 0.001 * np.eye(4))
        z = h @ truth + rng.normal(scale=0.5, size=2)
        state = f @ state
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T @ inv(s)
        state = state + gain @ (z - h @ state)
        p = (np.eye(4) - gain @ h) @ p
        raw.append(np.linalg.norm(z - truth[:2]))
        filtered.append(np.linalg.norm(state[:2] - truth[:2]))
    print(f"error of the positions: raw {np.mean(raw):.6f}, filtered {np.mean(filtered):.6f}")
    print("state:", np.round(state, 6))
    print("uncertainty:", np.round(np.sqrt(np.diag(p)), 6))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
