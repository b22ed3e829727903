"""The collectives' share of made-up traces."""

import pytest

from workers.contract.profile import STEP_NAME, Profile, collective_share


def span(name: str, ts: float, dur: float, cat: str = "cpu_op") -> dict[str, object]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "cat": cat}


def test_on_a_gpu_nccls_kernels_count_over_where_any_kernel_runs() -> None:
    events = [
        span("gemm", 0, 60, "kernel"),
        span("ncclDevKernel_AllReduce", 50, 30, "kernel"),
        span("gemm", 100, 20, "kernel"),
        span("c10d::allreduce_", 0, 1000),
    ]
    assert collective_share(events) == pytest.approx(30 / 100)


def test_on_a_cpu_gloos_spans_count_over_the_profiled_steps_alone() -> None:
    events = [
        span(STEP_NAME, 100, 50),
        span(STEP_NAME, 200, 50),
        span("gloo:all_reduce", 110, 10),
        span("gloo:all_reduce", 190, 20),
        span("gloo:all_reduce", 0, 30),
    ]
    assert collective_share(events) == pytest.approx((10 + 10) / 100)


def test_overlapping_spans_count_once_and_other_events_not_at_all() -> None:
    events: list[dict[str, object]] = [
        span(STEP_NAME, 0, 100),
        span("gloo:all_reduce", 0, 20),
        span("gloo:all_reduce", 10, 20),
        {"ph": "M", "name": STEP_NAME},
    ]
    assert collective_share(events) == pytest.approx(0.3)
    assert collective_share([]) is None


def test_a_trace_survives_json() -> None:
    profile = Profile(trace_gzip=b"\x1f\x8b\xff\x00", collective_share=0.5)
    assert Profile.model_validate_json(profile.model_dump_json()) == profile
