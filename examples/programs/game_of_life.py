"""Conway's game of life on a torus: neighbours counted with np.roll."""

import sys

import numpy as np


def neighbours(board):
    return sum(
        np.roll(np.roll(board, i, axis=0), j, axis=1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    )


def step(board):
    count = neighbours(board)
    return ((count == 3) | ((board == 1) & (count == 2))).astype(np.uint8)


def main(size):
    rng = np.random.default_rng(42)
    board = (rng.random((size, size)) < 0.3).astype(np.uint8)
    board[:3, :3] = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]])  # a glider
    for generation in range(50):
        if generation % 10 == 0:
            print(f"generation {generation}: {board.sum()} alive")
        board = step(board)
    print("rows with most cells:", np.argsort(board.sum(axis=1), kind="stable")[-3:])
    for row in board[:8, :32]:
        print("".join("#" if cell else "." for cell in row))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
