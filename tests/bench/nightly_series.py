"""Nightly series whose truth is known: six kinds of noise, and what may happen to a level.

As in most published comparisons a series has 120 nights and its noise a standard deviation of 1 %.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tests.unit.analysis.changepoints.nights import Values, carried

NIGHTS = 120
CV = 0.01
CHANGE = 60
"""Night of a change."""
DRIFT_START, DRIFT_NIGHTS = 30, 60
FIRST_SEED = 1_000_000
"""Parameters were chosen on seeds below 10,000, which no benchmark uses."""


def gaussian(rng: np.random.Generator, n: int) -> Values:
    """Independent and normal."""
    return np.asarray(1 + CV * rng.standard_normal(n))


def heavy(rng: np.random.Generator, n: int) -> Values:
    """Student's t with 3 degrees of freedom."""
    return np.asarray(1 + CV * rng.standard_t(3, n) / np.sqrt(3))


def correlated(rng: np.random.Generator, n: int) -> Values:
    """Each night carries half of the one before."""
    return np.asarray(1 + CV * carried(rng, n, rho=0.5))


def bimodal(rng: np.random.Generator, n: int) -> Values:
    """Three nights in ten are 3 % higher."""
    return gaussian(rng, n) * np.where(rng.random(n) < 0.3, 1.03, 1.0)


def outliers(rng: np.random.Generator, n: int) -> Values:
    """Three nights in a hundred are 5 to 30 % higher."""
    return gaussian(rng, n) * np.where(rng.random(n) < 0.03, 1 + rng.uniform(0.05, 0.3, n), 1.0)


def skewed(rng: np.random.Generator, n: int) -> Values:
    """Lognormal, of skewness 3.7."""
    sigma = 0.8
    mean, square = np.exp(sigma**2 / 2), np.exp(sigma**2)
    return np.asarray(1 + CV * (rng.lognormal(0, sigma, n) - mean) / np.sqrt((square - 1) * square))


Noise = Callable[[np.random.Generator, int], Values]

FAMILIES: Mapping[str, Noise] = {
    "gaussian": gaussian,
    "heavy": heavy,
    "correlated": correlated,
    "bimodal": bimodal,
    "outliers": outliers,
    "skewed": skewed,
}


@dataclass(frozen=True)
class Alternative:
    """A level over the nights, the noise about it, and the nights on which it changes."""

    level: Values
    noise: Noise
    changes: tuple[int, ...]
    is_drift: bool = False


def step(size: float, noise: Noise) -> Alternative:
    """The level goes up once and stays."""
    return Alternative(np.where(np.arange(NIGHTS) < CHANGE, 1.0, 1 + size), noise, (CHANGE,))


def recover() -> Alternative:
    """A step of 10 % that is undone after 25 nights."""
    level = np.ones(NIGHTS)
    level[CHANGE : CHANGE + 25] = 1.10
    return Alternative(level, gaussian, (CHANGE, CHANGE + 25))


def two() -> Alternative:
    """Two steps of 4 %, 8 nights apart."""
    level = np.ones(NIGHTS)
    level[CHANGE:] *= 1.04
    level[CHANGE + 8 :] *= 1.04
    return Alternative(level, gaussian, (CHANGE, CHANGE + 8))


def drift() -> Alternative:
    """6 % over 60 nights."""
    level = 1 + 0.06 * np.clip((np.arange(NIGHTS) - DRIFT_START) / DRIFT_NIGHTS, 0, 1)
    return Alternative(level, gaussian, (DRIFT_START,), is_drift=True)


ALTERNATIVES: Mapping[str, Alternative] = {
    "2 %": step(0.02, gaussian),
    "3 %": step(0.03, gaussian),
    "5 %": step(0.05, gaussian),
    "3 % heavy": step(0.03, heavy),
    "5 % outliers": step(0.05, outliers),
    "3 % correlated": step(0.03, correlated),
    "5 % bimodal": step(0.05, bimodal),
    "recover": recover(),
    "two": two(),
    "drift": drift(),
}


def null_series(family: str, number: int) -> Values:
    """One of a family's series without a change."""
    return FAMILIES[family](_rng(family, number), NIGHTS)


def changed_series(name: str, number: int) -> Values:
    """One of an alternative's series."""
    alternative = ALTERNATIVES[name]
    return alternative.level * alternative.noise(_rng(name, number), NIGHTS)


def _rng(name: str, number: int) -> np.random.Generator:
    return np.random.default_rng([FIRST_SEED + number, *name.encode()])
