"""What stored results say of a degree beside one rank alone: claims 26 and 28."""

from collections.abc import Sequence
from statistics import median

from service.reports.twins import beside
from service.store.results import MeasuredTrial
from workers.contract.axes import Arrangement, Phase


def decode_of_one(trials: Sequence[MeasuredTrial]) -> str | None:
    """How much longer, or shorter, the decode of one sequence is at each degree."""
    ratios: dict[tuple[str, int], list[float]] = {}
    for trial, alone in beside(trials, "tp_degree", 1):
        spec = trial.spec
        if spec.phase is Phase.DECODE and spec.batch == 1:
            name = f"{spec.model.name or spec.model.hidden_size} {spec.block}"
            ratio = trial.summary.step_time_us / alone.summary.step_time_us
            ratios.setdefault((name, spec.tp_degree), []).append(ratio)
    each = [
        f"{name} {median(own):.2f} at tp_degree {degree} ({len(own)})"
        for (name, degree), own in sorted(ratios.items())
    ]
    return (
        f"decode of one sequence over tp_degree 1's, median (trials): {', '.join(each)}"
        if (each)
        else None
    )


def peak_memory(trials: Sequence[MeasuredTrial]) -> str | None:
    """What a rank holds in training over what one alone does."""
    ratios: dict[tuple[Arrangement, int, bool], list[float]] = {}
    for trial, alone in beside(trials, "tp_degree", 1):
        if trial.spec.phase is Phase.TRAIN and alone.peak_memory_bytes > 0:
            is_process = trial.hardware.memory_class_gib == 0
            place = (trial.spec.arrangement, trial.spec.tp_degree, is_process)
            ratio = trial.peak_memory_bytes / alone.peak_memory_bytes
            ratios.setdefault(place, []).append(ratio)
    each = [
        f"{arrangement} {median(own):.2f} at P={degree}"
        f"{', of whole processes on a CPU' if is_process else ''} ({len(own)})"
        for (arrangement, degree, is_process), own in sorted(ratios.items())
    ]
    return (
        f"peak memory of a rank over one alone, median (trials): {'; '.join(each)}"
        if (each)
        else None
    )
