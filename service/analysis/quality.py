"""What a quality flag means to whoever reads the figure."""

from collections.abc import Iterable

MEANINGS = {
    "oversubscribed": "more ranks than cores shared the host: times hold the scheduler's as well",
    "scheduler_noise": "communication threads waited for the scheduler's tick: small messages "
    "look slower than they are",
    "busy_host": "other processes or virtual machines had the ranks' cores for more than 5 % of "
    "the timed part: the figures hold them as well",
    "denormals_not_flushed": "numbers too small for a normal float are computed in full, which "
    "can take a hundred times as long",
    "allocator_grew": "memory was still being taken from the system during timed steps: they hold "
    "that as well",
    "launch_bound": "the host took as long to start a step as the device to run it: "
    "launch=cuda_graph shows what the device alone takes",
    "shared_device": "other processes had work on the same device",
    "noisy_host": "fixed work between the steps took very different times: something else used "
    "the host",
    "paired": "measured by turns with another point in the same processes: peak memory is of both",
    "low_priority": "the ranks' processes were niced: anything else on the host took their core",
    "kv_heads_replicated": "key-value heads are copied on several ranks: their work does not "
    "shrink with tp_degree",
    "throttled": "the device ran below its clock for heat or power: another day may be faster",
    "perturbed": "taking spans slowed the step by more than 5 %: wire and wait are rough",
    "proof_reduced": "proved on a smaller shape of the same ratios: the full one did not fit",
    "single_replicate": "one set of processes says nothing about its spread: no interval",
    "exposed_not_resolved": "exposed communication is within noise of 0",
    "mixed_versions": "its trials ran on different versions of the software",
}
"""Flags of the workers and of the reports. An unknown one is shown as it is."""


def explain(flags: Iterable[str]) -> tuple[str, ...]:
    """One sentence for each flag, in the order of the flags."""
    return tuple(f"{flag}: {MEANINGS[flag]}" if flag in MEANINGS else flag for flag in flags)
