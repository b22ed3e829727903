import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def median(values: Values) -> float:
    """Of at least one value. numpy's own takes longer to start than a short series to sort."""
    ordered = np.sort(values)
    return float((ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2)
