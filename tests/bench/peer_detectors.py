"""Other detectors, replayed night by night. Runs alone, in an environment that has them.

    python tests/bench/peer_detectors.py NAME < series.jsonl

Each line of input is a list of values; each line of output a list of [night, indices].
"""

import json
import math
import sys
from collections.abc import Callable
from itertools import pairwise

FEWEST = 12

Detector = Callable[[list[float]], list[int]]


def otava(max_p: float, magnitude: float) -> Detector:
    """Apache Otava (Hunter) with its default window."""
    from otava.analysis import compute_change_points  # noqa: PLC0415 - one of two that may be there

    def indices(values: list[float]) -> list[int]:
        found, _ = compute_change_points(values, 50, max_p, magnitude)
        return [int(point.index) for point in found]

    return indices


def ruptures() -> Detector:
    """PELT of ruptures, least squares, with a penalty of 4 log n times the variance.

    A linear kernel is least squares, in C: the same places, a hundred times as fast.
    """
    import numpy as np  # noqa: PLC0415
    import ruptures as library  # noqa: PLC0415 - as above

    def indices(values: list[float]) -> list[int]:
        jumps = sorted(abs(b - a) for a, b in pairwise(values))
        sigma = jumps[len(jumps) // 2] * 1.4826 / math.sqrt(2)
        scaled = np.array(values) / sigma
        fitted = library.KernelCPD(kernel="linear", min_size=2).fit(scaled)
        return [int(end) for end in fitted.predict(pen=4 * math.log(len(values)))[:-1]]

    return indices


def main() -> int:
    """Replay each series; 3 where the detector is not installed."""
    makers: dict[str, Callable[[], Detector]] = {
        "otava 1e-3": lambda: otava(1e-3, 0.0),
        "otava 1e-5, 1 %": lambda: otava(1e-5, 0.01),
        "ruptures PELT": ruptures,
    }
    try:
        detector = makers[sys.argv[1]]()
    except ImportError:
        return 3
    for line in sys.stdin:
        values = json.loads(line)
        nights = [(n - 1, detector(values[:n])) for n in range(FEWEST, len(values) + 1)]
        sys.stdout.write(json.dumps(nights) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
