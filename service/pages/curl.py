"""The request that makes a sweep again, to be pasted into a shell."""

import json

from service.analysis.schedules.tags import without_own_tags
from workers.contract.calibration import AnySweepSpec, CalibrationSpec


def curl(spec: AnySweepSpec, base_url: str, *, needs_token: bool) -> str:
    """`base_url` ends with a slash; the token stays in the environment."""
    noun = "calibrations" if isinstance(spec, CalibrationSpec) else "sweeps"
    asked = without_own_tags(spec).model_dump(mode="json", exclude_defaults=True)
    body = json.dumps(asked, indent=1, ensure_ascii=False)
    token = ' -H "Authorization: Bearer $TPSWEEP_TOKEN"' if needs_token else ""
    return (
        f"curl -X POST {base_url}v1/{noun}{token} "
        f"-H 'Content-Type: application/json' --data @- <<'JSON'\n{body}\nJSON"
    )
