"""The Lorenz system and a damped pendulum by the classical Runge-Kutta method."""

import sys

import numpy as np


def lorenz(t, state, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def pendulum(t, state):
    angle, speed = state
    return np.array([speed, -0.3 * speed - 9.81 * np.sin(angle)])


def solve(f, start, stop, steps):
    times = np.linspace(0, stop, steps + 1)
    states = np.empty((steps + 1, len(start)))
    states[0] = start
    for i in range(steps):
        t, y, h = times[i], states[i], times[i + 1] - times[i]
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        states[i + 1] = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return times, states


def main(steps):
    times, states = solve(lorenz, [1.0, 1.0, 1.0], steps * 0.005, steps)
    print("Lorenz:")
    for i in range(0, steps + 1, max(1, steps // 5)):
        print(f"  t={times[i]:.3f}", np.round(states[i], 5))
    _, states = solve(pendulum, np.array([2.0, 0.0]), steps * 0.01, steps)
    print("pendulum:", np.round(states[-1], 6), f"largest speed {np.abs(states[:, 1]).max():.6f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
