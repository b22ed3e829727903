"""Files of nccl-tests, sent as a client would."""

from pathlib import Path

from fastapi.testclient import TestClient
from httpx2 import Response

P5 = Path(__file__).parents[2] / "cases" / "nccl-tests" / "h100-sxm-x8.all_reduce.aws-p5.txt"
TEXT = {"Content-Type": "text/plain; charset=utf-8"}


def bring(client: TestClient, body: str | bytes, **parameters: str | int) -> Response:
    """Import it, for the hardware h100-sxm unless another is given."""
    wanted = {"hardware": "h100-sxm", **parameters}
    return client.post("/v1/results/import", content=body, params=wanted, headers=TEXT)
