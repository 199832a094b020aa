"""A table with names, dates and numbers: structured, string and date arrays beside numeric ones."""

import sys

import numpy as np


def table(size, rng):
    cities = np.array(["Oslo", "Lima", "Cairo", "Perth"])
    days = np.datetime64("2023-01-01") + np.arange(size)
    rows = np.zeros(size, dtype=[("city", "U8"), ("day", "datetime64[D]"), ("temperature", float), ("rain", float)])
    rows["city"] = cities[rng.integers(0, len(cities), size)]
    rows["day"] = days
    rows["temperature"] = 15 + 10 * np.sin(2 * np.pi * np.arange(size) / 365) + rng.normal(0, 3, size)
    rows["rain"] = rng.gamma(0.5, 4.0, size)
    return rows


def main(size):
    rows = table(size, np.random.default_rng(10))
    print(rows.dtype.names, len(rows))
    for city in np.unique(rows["city"]):
        chosen = rows[rows["city"] == city]
        warmest = chosen[chosen["temperature"].argmax()]
        print(f"{city}: {len(chosen)} days, {chosen['temperature'].mean():.4f} degrees, warmest {warmest['day']}")
    months = rows["day"].astype("datetime64[M]")
    names, where = np.unique(months, return_inverse=True)
    rain = np.bincount(where, weights=rows["rain"])
    for name, amount in list(zip(names, rain, strict=True))[:6]:
        print(name, f"{amount:.4f}")
    normal = (rows["temperature"] - np.mean(rows["temperature"])) / np.std(rows["temperature"])
    print("extreme days:", rows["day"][np.abs(normal) > 1.9][:4])
    print("correlation", np.round(np.corrcoef(rows["temperature"], rows["rain"]), 6))
    print(np.where(normal[:6] > 0, "warm", "cold"), np.char.upper(rows["city"][:3]))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
