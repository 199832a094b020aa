"""The planets around the Sun, by leapfrog integration of Newton's law in astronomical units, years and solar masses."""

import sys

import numpy as np

G = 4 * np.pi**2
MASSES = np.array([1.0, 9.547919e-4, 2.858860e-4, 4.366244e-5, 5.151389e-5])
POSITIONS = np.array(
    [
        [0.0, 0.0, 0.0],
        [4.841431, -1.160320, -0.103622],
        [8.343367, 4.124799, -0.403523],
        [12.894370, -15.111151, -0.223308],
        [15.379697, -25.919315, 0.179259],
    ]
)
VELOCITIES = 365.24 * np.array(
    [
        [0.0, 0.0, 0.0],
        [0.001660, 0.007699, -0.000069],
        [-0.002767, 0.004999, 0.000023],
        [0.002965, 0.002378, -0.000030],
        [0.002681, 0.001628, -0.000095],
    ]
)


def acceleration(position):
    result = np.zeros_like(position)
    for i in range(len(position)):
        for j in range(len(position)):
            if i != j:
                distance = position[j] - position[i]
                result[i] += G * MASSES[j] * distance / np.linalg.norm(distance) ** 3
    return result


def energy(position, velocity):
    total = 0.5 * np.sum(MASSES * np.sum(velocity**2, axis=1))
    for i in range(len(position)):
        for j in range(i):
            total -= G * MASSES[i] * MASSES[j] / np.linalg.norm(position[i] - position[j])
    return total


def main(steps):
    position = POSITIONS.copy()
    velocity = VELOCITIES - (MASSES @ VELOCITIES) / MASSES.sum()
    dt = 0.01
    print(f"energy {energy(position, velocity):.9f}")
    a = acceleration(position)
    for _ in range(steps):
        velocity += 0.5 * dt * a
        position += dt * velocity
        a = acceleration(position)
        velocity += 0.5 * dt * a
    print(f"energy {energy(position, velocity):.9f} after {steps} steps")
    for row in position:
        print(" ".join(f"{x:12.6f}" for x in row))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
