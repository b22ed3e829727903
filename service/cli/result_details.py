"""One measured point as a person reads it: figures, control, collectives, trials, hosts, flags."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from service.cli.terminal import cell, new_table, say
from service.cli.wire.result_details import Details, DeviceLook, Host, Trial
from service.figures import interval, microseconds, percent

COLLECTIVES = ("collective", "where", "n", "KiB", "timed in", "wire", "wait", "GB/s")
HOSTS = ("set", "rank", "load", "waited", "others", "steal", "grown KiB", "device")


def show_details(console: Console, result: Details) -> None:
    """Print all that one result says."""
    say(console, f"{result.spec.label}, on {result.hardware.accelerator}", "bold")
    say(console, f"result {result.id} of sweep {result.sweep_id}", "dim")
    for name, value in _figures(result):
        say(console, f"  {name:<24} {value}")
    if result.collectives:
        console.print(_collectives(result))
    for trial in result.trials:
        say(console, _trial(trial))
    if any(trial.hosts for trial in result.trials):
        console.print(_hosts(result.trials))
    for note in result.notes.values():
        say(console, f"- {note}")


def _figures(result: Details) -> Iterator[tuple[str, str]]:
    known, foreseen = result.estimates, result.prediction
    yield "step time", f"{interval(result.step_time_us)}, {len(result.trials)} replicates"
    if foreseen is not None:
        said = f"{interval(foreseen.interval)}, {foreseen.basis}, off by {foreseen.verdict}"
        yield "predicted before it ran", said
    yield "compute", interval(known.compute_time_us)
    exposed = interval(known.exposed_communication_us)
    yield "exposed communication", f"{exposed}, {percent(result.communication_share)} of the step"
    if known.communication_time_us is not None:
        yield "communication, wire", interval(known.communication_time_us)
    if known.standalone_communication_us is not None:
        alone = interval(known.standalone_communication_us)
        yield "overlapped, bare", f"{alone}, no part of the step"
    if result.control is not None:
        control = result.control
        between = control.noise_between
        yield (
            "noise of the host",
            f"grade {control.noise_grade}: {percent(control.noise_within)} within a set"
            + (f", {percent(between)} between sets" if between is not None else ""),
        )
        if control.normalised_step_time_us is not None:
            yield "step, host normalised", interval(control.normalised_step_time_us)
    if result.idle is not None:
        shares = ", ".join(percent(share) for share in result.idle.share_by_rank)
        yield "idle, by rank", f"{shares}; (P-1)/P is {percent(result.idle.ideal_share)}"
    yield "against the twin", f"largest relative error {result.max_rel_error:.1e}"


def _collectives(result: Details) -> Table:
    table = new_table("", COLLECTIVES, right=("n", "KiB", *COLLECTIVES[5:]))
    for one in result.collectives:
        row = (
            one.op,
            one.where,
            one.count_per_step,
            f"{one.message_bytes / 1024:.4g}",
            one.timed_in,
            microseconds(one.time_us),
            microseconds(one.wait_us),
            "" if one.busbw_gb_per_s is None else f"{one.busbw_gb_per_s:.3g}",
        )
        table.add_row(*map(cell, row))
    return table


def _trial(trial: Trial) -> str:
    """One trial in a line; the profiler's share stands beside that of our own spans."""
    enqueue, spans = trial.summary.enqueue_time_us, trial.collective_share
    profiled = trial.profiled_collective_share
    step = microseconds(trial.summary.step_time_us)
    words = (
        f"set {trial.replicate}, {trial.group_kind}: step {step}",
        "" if enqueue is None else f"host {microseconds(enqueue)} to start it",
        f"stopped by {trial.stop_rule}",
        "" if spans is None else f"collectives {percent(spans)}",
        "" if profiled is None else f"{percent(profiled)} by torch's profiler",
        f"trial {trial.id}",
    )
    return ", ".join(filter(None, words))


def _hosts(trials: tuple[Trial, ...]) -> Table:
    table = new_table("", HOSTS, right=HOSTS[:-1])
    for trial in trials:
        for rank, host in enumerate(trial.hosts):
            table.add_row(*map(cell, (trial.replicate, rank, *_host(host))))
    return table


def _host(host: Host) -> tuple[str, ...]:
    waited = host.waited_for_core_ns
    before, after = host.load_average
    return (
        f"{before:.1f} {after:.1f}",
        "" if waited is None else percent(waited / host.window_ns),
        percent(host.others_share),
        percent(host.steal_share),
        f"{host.grown_bytes / 1024:.0f}",
        "" if host.device is None else _device(host.device[1]),
    )


def _device(look: DeviceLook) -> str:
    clock = "" if look.sm_clock_mhz is None else f"{look.sm_clock_mhz} MHz"
    warm = "" if look.temperature_c is None else f"{look.temperature_c} C"
    slowed = " ".join(look.throttle_reasons or ())
    others = f"{look.num_other_processes} others" if look.num_other_processes else ""
    return ", ".join(filter(None, (clock, warm, slowed, others)))
