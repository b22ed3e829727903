"""Answers of the service, as short as the commands need them."""

SWEEP_ID = "0199aaaa-0000-7000-8000-000000000001"


def sweep(state: str = "queued", *, done: int = 0, trials: int = 6, **more: object) -> object:
    document: dict[str, object] = {
        "id": SWEEP_ID,
        "name": "nightly",
        "state": state,
        "num_points": 2,
        "num_rejected": 0,
        "counts": {"queued": 2},
        "trial_counts": {"queued": trials - done, "succeeded": done},
        "progress": {"num_trials": trials, "num_done": done, "fraction": 0.0, "eta_s": 12.5},
        "created_at": "2026-01-01T00:00:00Z",
        "created_by": "ci",
        "a_field_of_tomorrow": {"nested": True},
    }
    return {**document, **more}


def spec(*, tp_degree: int = 1, batch: int = 4, **more: object) -> dict[str, object]:
    return {
        "kind": "block",
        "model": {"name": "pythia-31m", "hidden_size": 256},
        "block": "mlp",
        "phase": "train",
        "tp_degree": tp_degree,
        "batch": batch,
        "seq": 1,
        "dtype": "float32",
        **more,
    }


def result(*, tp_degree: int = 1, batch: int = 4, step_us: float = 100, **more: object) -> object:
    collectives: list[object] = [
        {"op": "all_reduce", "where": where, "count_per_step": 1}
        for where in ("mlp.forward", "mlp.backward")
    ]
    document: dict[str, object] = {
        "id": f"point-{tp_degree}-{batch}",
        "sweep_id": SWEEP_ID,
        "spec": spec(tp_degree=tp_degree, batch=batch),
        "step_time_us": {
            "median": step_us,
            "ci_low": step_us * 0.95,
            "ci_high": step_us * 1.05,
            "n": 3,
        },
        "communication_share": 0.25 if tp_degree > 1 else 0.0,
        "collectives": collectives if tp_degree > 1 else [],
        "quality": [],
    }
    return {**document, **more}


def page(*items: object, next_cursor: str | None = None) -> object:
    return {"items": list(items), "next_cursor": next_cursor}
