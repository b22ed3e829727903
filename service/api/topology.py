"""A pasted matrix of `nvidia-smi topo -m`, explained."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service.api import problems, strict_json
from service.api.auth import Reader
from service.api.examples.foreign_files import TOPOLOGY
from service.api.route import ApiRoute
from service.api.text_body import TextBody, described
from service.errors import InvalidRequestError
from service.reports import topology as reports
from service.reports.topology import TopologyReport

router = APIRouter(prefix="/v1/topology", tags=["analysis"], route_class=ApiRoute)


class TopologyRequest(BaseModel):
    """The matrix inside JSON."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, description="What `nvidia-smi topo -m` prints.")


@router.post("", openapi_extra=described(text=TOPOLOGY, document={"text": TOPOLOGY}))
def explain_topology(body: TextBody, caller: Reader) -> TopologyReport:
    """Which GPUs to take for each tp_degree, and the worst link among them."""
    del caller
    return reports.explain(_text(body))


def _text(body: bytes) -> str:
    if not body.lstrip().startswith(b"{"):
        return body.decode("utf-8-sig", errors="replace")
    try:
        return TopologyRequest.model_validate(strict_json.parse(body)).text
    except ValidationError as error:
        errors = problems.field_errors(
            [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_url=False)]
        )
        raise InvalidRequestError(problems.summary(errors), errors=errors) from None
