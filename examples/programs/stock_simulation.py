"""Stock prices by geometric Brownian motion: an Asian and a European option, and the value at risk."""

import sys

import numpy as np


def paths(start, drift, volatility, years, steps, count, rng):
    dt = years / steps
    shocks = rng.standard_normal((count, steps))
    growth = (drift - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * shocks
    return start * np.exp(np.cumsum(growth, axis=1))


def main(count):
    rate, strike = 0.03, 105.0
    prices = paths(100.0, rate, 0.25, 1.0, 252, count, np.random.default_rng(2024))
    discount = np.exp(-rate)
    european = discount * np.maximum(prices[:, -1] - strike, 0)
    asian = discount * np.maximum(prices.mean(axis=1) - strike, 0)
    for name, payoff in (("European", european), ("Asian", asian)):
        print(f"{name} call: {payoff.mean():.6f} +- {payoff.std(ddof=1) / np.sqrt(count):.6f}")
    returns = prices[:, -1] / 100 - 1
    print("quantiles of the return:", np.round(np.quantile(returns, [0.01, 0.05, 0.5, 0.95, 0.99]), 6))
    var = np.percentile(returns, 5)
    print(f"value at risk {-var:.6f}, expected shortfall {-returns[returns <= var].mean():.6f}")
    peak = np.maximum.accumulate(prices, axis=1)
    print(f"mean largest drawdown {((peak - prices) / peak).max(axis=1).mean():.6f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
