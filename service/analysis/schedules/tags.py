"""Tags that say why the service started a sweep by itself; a sweep that people ask for has none.

The watch takes a sweep with one of them for a night, a re-run or a control, and judges it as that.
"""

from typing import TypeVar

from service.errors import FieldError, InvalidRequestError
from workers.contract.sweep import SweepFrame

Spec = TypeVar("Spec", bound=SweepFrame)

TAG = "schedule"
"""Every sweep that a schedule starts has its name under this tag."""
AA_TAG = "aa_control"
"""The same for the sweeps of its A/A control, which are no nights of it."""
RERUN_OF = "rerun_of"
"""Of a sweep that measures suspect points again: the id of the night's sweep."""
OWN_TAGS = (TAG, AA_TAG, RERUN_OF)


def without_own_tags(spec: Spec) -> Spec:
    """The same sweep as one that people ask for."""
    tags = {key: value for key, value in spec.tags.items() if key not in OWN_TAGS}
    return spec.model_copy(update={"tags": tags})


def refuse_own_tags(spec: SweepFrame) -> None:
    """InvalidRequestError for a sweep that would pass for one that the service started."""
    errors = tuple(
        FieldError(f"/tags/{key}", f"{key!r} is set by the service alone; leave it out")
        for key in OWN_TAGS
        if key in spec.tags
    )
    if errors:
        raise InvalidRequestError(f"{errors[0].pointer}: {errors[0].detail}", errors=errors)
