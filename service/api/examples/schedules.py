"""What to measure again and again, and when not to."""

from fastapi.openapi.models import Example

SCHEDULES: dict[str, Example] = {
    "nightly": Example(
        summary="Every night at 02:00 in Berlin; a night that was missed is made up for once",
        value={
            "name": "nightly",
            "cron": "0 2 * * *",
            "zone": "Europe/Berlin",
            "sweep": {
                "models": "pythia-31m",
                "blocks": "mlp",
                "tp_degree": [1, 2],
                "batch": [1, 64],
                "sampling": {"max_time_s": 1},
            },
        },
    )
}

PAUSES: dict[str, Example] = {
    "holiday": Example(
        summary="The machines are away",
        value={"reason": "the machines are moved", "until": "2099-01-01T00:00:00Z"},
    )
}
