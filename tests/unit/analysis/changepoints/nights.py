"""Synthetic series with a known truth, each from a seed."""

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def steps(*levels: tuple[int, float]) -> Values:
    """Levels, each for a number of nights."""
    return np.concatenate([np.full(number, level) for number, level in levels])


def noisy(levels: Values, *, seed: int, cv: float = 0.01) -> list[float | None]:
    """The levels with independent normal noise in proportion to them."""
    rng = np.random.default_rng(seed)
    return list((levels * (1 + cv * rng.standard_normal(levels.size))).tolist())


def correlated(levels: Values, *, seed: int, rho: float = 0.5, cv: float = 0.01) -> Values:
    """The levels with noise of which each night carries `rho` of the one before."""
    noise = carried(np.random.default_rng(seed), levels.size, rho=rho)
    return np.asarray(levels * (1 + cv * noise))


def carried(rng: np.random.Generator, number: int, *, rho: float) -> Values:
    """Noise of variance 1 of which each night carries `rho` of the one before."""
    noise = np.empty(number)
    last = rng.standard_normal()
    for i, fresh in enumerate(rng.standard_normal(number)):
        noise[i] = last = rho * last + np.sqrt(1 - rho**2) * fresh
    return noise
