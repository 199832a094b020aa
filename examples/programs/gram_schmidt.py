"""QR by modified Gram-Schmidt and by Householder reflections, and least squares with it."""

import sys

import numpy as np


def gram_schmidt(a):
    m, n = a.shape
    q, r = np.zeros((m, n)), np.zeros((n, n))
    v = a.astype(float).copy()
    for j in range(n):
        r[j, j] = np.sqrt(np.dot(v[:, j], v[:, j]))
        q[:, j] = v[:, j] / r[j, j]
        for k in range(j + 1, n):
            r[j, k] = np.dot(q[:, j], v[:, k])
            v[:, k] -= r[j, k] * q[:, j]
    return q, r


def householder(a):
    m, n = a.shape
    q, r = np.eye(m), a.astype(float).copy()
    for j in range(n):
        x = r[j:, j].copy()
        x[0] += np.copysign(np.linalg.norm(x), x[0])
        x /= np.linalg.norm(x)
        r[j:] -= 2 * np.outer(x, x @ r[j:])
        q[:, j:] -= 2 * np.outer(q[:, j:] @ x, x)
    return q, r


def back_substitution(r, b):
    x = np.zeros(len(b))
    for i in reversed(range(len(b))):
        x[i] = (b[i] - r[i, i + 1 :] @ x[i + 1 :]) / r[i, i]
    return x


def main(size):
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2 * size, size)), rng.normal(size=2 * size)
    q, r = gram_schmidt(a)
    print("Gram-Schmidt:", np.allclose(q @ r, a), np.allclose(q.T @ q, np.eye(size)))
    print("diagonal:", np.round(np.diag(r)[:5], 8))
    full_q, full_r = householder(a)
    print("Householder: ", np.allclose(full_q @ full_r, a), np.allclose(np.abs(full_r[:size]), np.abs(r), atol=1e-8))
    x = back_substitution(r, q.T @ b)
    print("least squares:", np.round(x[:5], 8), np.allclose(x, np.linalg.lstsq(a, b, rcond=None)[0]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
