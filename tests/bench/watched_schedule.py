"""A real schedule on this machine, a real slow-down, and whether the watch tells of both its ends.

    python -m tests.bench.watched_schedule

Starts the whole service with a webhook that leads back here. A few real measurements, each in fresh
processes, are exported, and imported again as the nights of the weeks before. From then on each
"night" is one start of the schedule by hand. After quiet ones most of the ranks' time is taken from
them, until the finding is confirmed; then they have it back, until it is recovered. Takes minutes;
other work on the machine is noise that the detector has to see through.
"""

import base64
import copy
import hmac
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from tests.environment import without_settings
from tests.processes import RANK
from tests.service_process import PATIENCE_S, Client, running_service
from tests.unit.cli.fake_server import FakeServer, Reply, serving

HOOK = "POST /hook"
NAME = "nightly"
MEASURED, IMPORTED_NIGHTS, QUIET_NIGHTS = 6, 24, 2
FEWEST_SLOW_NIGHTS, MOST_SLOW_NIGHTS, MOST_NIGHTS_AFTER = 8, 14, 20
STARTING = f"{RANK}.__init__"
STOLEN_S, LEFT_S = 0.006, 0.002
"""By turns; the steps take longer than what is left, so that none is spared."""
LOOK_EVERY_S = 0.2
SWEEP: dict[str, Any] = {
    "models": [{"hidden_size": 512, "intermediate_size": 2048, "num_attention_heads": 8}],
    "blocks": "mlp",
    "tp_degree": 1,
    "batch": [16, 32],
    "replicates": 1,
    "sampling": {"max_time_s": 0.3},
}
NETWORKS = {"TPSWEEP_WEBHOOK_NETWORKS": "127.0.0.0/8"}


@contextmanager
def watching(home: Path) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "service.watch"],
        env=without_settings() | NETWORKS | {"TPSWEEP_HOME": str(home)},
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def stolen_time() -> Iterator[None]:
    """While it lasts every rank is stopped most of the time, as by a neighbour it shares with.

    Nothing else on the machine is slower for it.
    """
    stopping = threading.Event()
    thief = threading.Thread(target=steal, args=(stopping,))
    thief.start()
    try:
        yield
    finally:
        stopping.set()
        thief.join()


def steal(stopping: threading.Event) -> None:
    looked, found = 0.0, list[psutil.Process]()
    while not stopping.is_set():
        if time.monotonic() > looked + LOOK_EVERY_S:
            looked, found = time.monotonic(), ranks()
        for send, rest_s in (
            (psutil.Process.suspend, STOLEN_S),
            (psutil.Process.resume, LEFT_S),
        ):
            for rank in found:
                with suppress(psutil.NoSuchProcess):
                    send(rank)
            time.sleep(rest_s)


def ranks() -> list[psutil.Process]:
    """Processes of our own service that measure."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if process.name().startswith(RANK) and STARTING not in " ".join(process.cmdline()):
                found.append(process)
    return found


def import_history(client: Client) -> None:
    """Measure now, and have it as one night for each day before, in an order of chance."""
    sweep = client.post("/sweeps", {**SWEEP, "replicates": MEASURED})
    client.finished(sweep["id"])
    exported = client.read(f"/results/export?sweep={sweep['id']}").splitlines()
    measured: dict[int, list[Any]] = defaultdict(list)
    for line in exported:
        record = json.loads(line)
        measured[record["trial"]["replicate"]].append(record)
    chance = random.Random(0)
    now = datetime.now(UTC)
    for ago in range(IMPORTED_NIGHTS, 0, -1):
        records = chance.choice(list(measured.values()))
        lines = one_night(records, f"night-{ago:02d}", now - timedelta(days=ago))
        client.send("/results/import", lines, "application/x-ndjson")


def one_night(records: Sequence[Any], sweep_id: str, at: datetime) -> bytes:
    """The records of one replicate as a sweep of the schedule."""
    lines = []
    for number, old in enumerate(records):
        record = copy.deepcopy(old)
        sweep, trial = record["sweep"], record["trial"]
        (point,) = trial["points"]
        sweep["spec"] |= {"replicates": 1, "tags": {"schedule": NAME}}
        sweep |= {"id": sweep_id, "created_at": at.isoformat(), "finished_at": at.isoformat()}
        trial |= {"id": f"{sweep_id}-t{number}", "replicate": 0, "position": number}
        point["id"] = record["point_id"] = f"{sweep_id}-p{number}"
        lines.append(json.dumps(record))
    return "\n".join(lines).encode()


def night(client: Client) -> None:
    """One start of the schedule, and the re-run where the watch ordered one; both judged."""
    judged = num_judged(client)
    sweep_id = client.post(f"/schedules/{NAME}/run", {})["sweep_id"]
    client.finished(sweep_id)
    until(lambda: num_judged(client) > judged)
    newest = client.get("/sweeps", limit=1)["items"][0]["id"]
    if newest != sweep_id:
        client.finished(newest)
        until(lambda: num_judged(client) > judged + 1)


def num_judged(client: Client) -> int:
    return sum(int(one["num_nights"]) for one in client.get("/policies")["items"])


def until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > give_up:
            raise TimeoutError(f"the watch has judged nothing for {PATIENCE_S} s")
        time.sleep(0.2)


def nights_until(client: Client, holds: Callable[[], bool], most: int) -> int | None:
    """How many it took; None where none of them did."""
    for count in range(1, most + 1):
        night(client)
        if holds():
            return count
    return None


def told(receiver: FakeServer, kind: str) -> list[Any]:
    """The findings that messages of a kind were about."""
    messages = [json.loads(got.body) for got in receiver.calls(HOOK)]
    return [one["data"] for one in messages if one["type"] == f"finding.{kind}"]


def are_signed(receiver: FakeServer, secret: str) -> bool:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    for got in receiver.calls(HOOK):
        named = {name.lower(): value for name, value in got.headers.items()}
        signed = f"{named['webhook-id']}.{named['webhook-timestamp']}.".encode() + got.body
        digest = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
        if named["webhook-signature"] != f"v1,{digest}":
            return False
    return True


def run(client: Client, receiver: FakeServer) -> bool:
    import_history(client)
    hook = {"name": "here", "target": f"{receiver.url}/hook"}
    secret = client.post("/webhooks", hook)["secret"]
    client.post("/schedules", {"name": NAME, "cron": "0 2 1 1 *", "sweep": SWEEP})
    for _ in range(QUIET_NIGHTS):
        night(client)
    nights = f"{IMPORTED_NIGHTS} imported and {QUIET_NIGHTS} quiet nights"
    say(f"{nights}: {len(receiver.received)} messages")
    with stolen_time():
        found = nights_until(client, lambda: bool(slower(receiver, "confirmed")), MOST_SLOW_NIGHTS)
        for _ in range(found or MOST_SLOW_NIGHTS, FEWEST_SLOW_NIGHTS):
            night(client)
    if found is None:
        say(f"not confirmed in {MOST_SLOW_NIGHTS} slow nights")
        return False
    finding = slower(receiver, "confirmed")[-1]
    say(f"confirmed on slow night {found}: {finding['cause']}: {finding['sentence']}")
    ended = nights_until(client, lambda: bool(slower(receiver, "recovered")), MOST_NIGHTS_AFTER)
    say(f"recovered {'never' if ended is None else f'on night {ended} after it'}")
    say(f"{len(receiver.received)} messages, all signed: {are_signed(receiver, secret)}")
    return ended is not None and finding["cause"] == "node" and are_signed(receiver, secret)


def slower(receiver: FakeServer, kind: str) -> list[Any]:
    """What messages of a kind were about, but for changes for the better."""
    return [one for one in told(receiver, kind) if (one["effect_relative"] or 0) > 0]


def say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    sys.stdout.flush()


def main() -> int:
    """Return 0 where all of it was told, with the right cause."""
    with tempfile.TemporaryDirectory() as folder, serving() as receiver:
        receiver.on(HOOK, Reply({}))
        with running_service(Path(folder), **NETWORKS) as client, watching(Path(folder)):
            return 0 if run(client, receiver) else 1


if __name__ == "__main__":
    sys.exit(main())
