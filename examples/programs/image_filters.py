"""Filters of a synthetic picture: Gaussian blur, Sobel edges, median, equalised histogram, all with slices."""

import sys

import numpy as np


def picture(size):
    y, x = np.mgrid[0:size, 0:size] / size
    image = 0.5 + 0.25 * np.sin(12 * x) * np.cos(9 * y)
    image[(x - 0.5) ** 2 + (y - 0.4) ** 2 < 0.04] = 0.9
    image[size // 8 : size // 4, size // 8 : size // 2] = 0.1
    noise = np.random.RandomState(3).normal(0, 0.05, image.shape)
    return (np.clip(image + noise, 0, 1) * 255).astype(np.uint8)


def blur(image, sigma=1.5):
    radius = int(3 * sigma)
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-(x**2) / (2 * sigma**2))
    kernel /= kernel.sum()
    padded = np.pad(image.astype(float), radius, mode="reflect")
    height, width = image.shape
    rows = sum(k * padded[i : i + height] for i, k in enumerate(kernel))
    return sum(k * rows[:, i : i + width] for i, k in enumerate(kernel))


def sobel(image):
    p = np.pad(image, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    return np.hypot(gx, gy)


def median(image):
    p = np.pad(image, 1, mode="edge")
    height, width = image.shape
    stack = np.stack([p[i : i + height, j : j + width] for i in range(3) for j in range(3)])
    return np.median(stack, axis=0).astype(image.dtype)


def equalise(image):
    histogram = np.bincount(image.ravel(), minlength=256)
    cumulative = histogram.cumsum()
    table = np.round(255 * (cumulative - cumulative.min()) / (image.size - cumulative.min())).astype(np.uint8)
    return table[image]


def main(size):
    image = picture(size)
    print("picture:", image.dtype, image.shape, f"mean {image.mean():.6f}")
    blurred = blur(image)
    print(f"blurred: mean {blurred.mean():.6f}, deviation {blurred.std():.6f}")
    edges = sobel(blurred)
    print(f"edges: max {edges.max():.6f}, above 100: {(edges > 100).sum()}")
    print("median:", median(image)[size // 2, :12])
    print("equalised:", np.percentile(equalise(image), [5, 25, 50, 75, 95]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 96)
