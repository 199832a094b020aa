"""A network of two layers from scratch: backpropagation by hand, minibatches, on two interleaved spirals."""

import itertools
import sys

import numpy as np


def spirals(size, rng):
    t = np.sqrt(rng.random(size)) * 3 * np.pi
    label = rng.integers(0, 2, size)
    angle = t + np.pi * label
    x = np.stack([t * np.cos(angle), t * np.sin(angle)], axis=1) / 10 + 0.02 * rng.normal(size=(size, 2))
    return x, label


class Network:
    def __init__(self, sizes, rng):
        self.weights = [rng.normal(0, np.sqrt(2 / n), (n, m)) for n, m in itertools.pairwise(sizes)]
        self.biases = [np.zeros(m) for m in sizes[1:]]

    def forward(self, x):
        self.activations = [x]
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            self.activations.append(np.maximum(self.activations[-1] @ w + b, 0))
        logits = self.activations[-1] @ self.weights[-1] + self.biases[-1]
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    def train(self, x, label, rate):
        probability = self.forward(x)
        loss = -np.log(probability[np.arange(len(x)), label]).mean()
        delta = probability.copy()
        delta[np.arange(len(x)), label] -= 1
        delta /= len(x)
        for i in reversed(range(len(self.weights))):
            below = self.activations[i]
            gradient = below.T @ delta
            gradient_bias = delta.sum(axis=0)
            delta = (delta @ self.weights[i].T) * (below > 0)
            self.weights[i] -= rate * gradient
            self.biases[i] -= rate * gradient_bias
        return loss


def main(size):
    rng = np.random.default_rng(5)
    x, label = spirals(size, rng)
    network = Network([2, 32, 32, 2], rng)
    for epoch in range(20):
        order = rng.permutation(size)
        losses = []
        for start in range(0, size, 32):
            batch = order[start : start + 32]
            losses.append(network.train(x[batch], label[batch], 0.2))
        if epoch % 5 == 0:
            print(f"epoch {epoch}: loss {np.mean(losses):.6f}")
    accuracy = (network.forward(x).argmax(axis=1) == label).mean()
    print(f"accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 256)
