"""Progress of a sweep as Server-Sent Events: the one endpoint that is async, see `feed`."""

from collections.abc import AsyncIterator
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Header, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from service.api import feed as feeds
from service.api.auth import Reader
from service.api.feed import Feed, Place
from service.api.route import ApiRoute, Responses
from service.api.state import Service, ServiceDep
from service.store import sweeps
from service.store.states import EventKind

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], route_class=ApiRoute)

LARGEST_SEQ = 2**62
RECONNECT_MS = 2000
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

LastEventId = Annotated[
    int,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=LARGEST_SEQ,
        description="Number of the last event seen; those after it follow.",
    ),
]
RESPONSES: Responses = {
    200: {
        "description": "Events as they happen; the stream ends with the sweep's last one.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": "id: 3\nevent: trial_succeeded\n"
                'data: {"sweep_id":"0199…","seq":3,"kind":"trial_succeeded",'
                '"created_at":"2026-01-01T00:00:00Z","counts":{"queued":5,"succeeded":1}}\n\n',
            }
        },
    },
    204: {"description": "The sweep is over and nothing follows: do not connect again."},
}


@router.get("/{sweep_id}/events", response_class=StreamingResponse, responses=RESPONSES)
async def stream_events(
    sweep_id: str, service: ServiceDep, caller: Reader, last_event_id: LastEventId = 0
) -> Response:
    """Progress as it happens, from the first event or from the one after `Last-Event-ID`."""
    del caller
    service.feed.check_room()
    place = Place(sweep_id, last_event_id)
    if await _is_over(service, place):
        return Response(status_code=204)
    return _Stream(service.feed, _frames(service, place))


class _Stream(StreamingResponse):
    """A listener until it ends. Others may have come while it was looked whether all is over."""

    def __init__(self, feed: Feed, frames: AsyncIterator[str]) -> None:
        super().__init__(frames, media_type="text/event-stream", headers=HEADERS)
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. BusyError before anything is sent."""
        with self._feed.listening():
            await super().__call__(scope, receive, send)


async def _is_over(service: Service, place: Place) -> bool:
    """Whether nothing will follow. NotFoundError if there is no such sweep."""

    def look() -> bool:
        with service.sessions.reading() as session:
            is_over = sweeps.is_over(session, place.sweep_id)
        return is_over and not feeds.read(service.sessions, [place])

    return await anyio.to_thread.run_sync(look, limiter=service.feed.limiter)


async def _frames(service: Service, place: Place) -> AsyncIterator[str]:
    feed = service.feed
    yield f"retry: {RECONNECT_MS}\n\n"
    while True:
        frames = await feed.after(place, timeout_s=service.settings.stream_heartbeat_s)
        if frames:
            yield "".join(frame.text for frame in frames)
            place = Place(place.sweep_id, frames[-1].seq)
            # A sweep that was put back goes on after its end.
            is_end = frames[-1].kind is EventKind.SWEEP_FINISHED
            if is_end and await _is_over(service, place):
                return
        elif feed.is_closed:
            return
        else:
            yield ": nothing new\n\n"
