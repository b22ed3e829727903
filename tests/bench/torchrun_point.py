"""One point in processes that torchrun started: what `tests.bench.trial_overhead` compares with.

Rank 0 prints the nanoseconds inside timed steps. The same passes as ours, but no proof.
"""

import os
import sys

import torch
import torch.distributed as dist

from workers.contract.group import RankSetup
from workers.contract.trial import Proof, TrialOrder
from workers.measure import measure
from workers.prepare import Place, Seat
from workers.runtime.device import select
from workers.runtime.host import clock_identity, environment
from workers.runtime.loaded_torch import torch_facts
from workers.runtime.scheduling import IoThreads, usable_cores
from workers.runtime.watch import HostWatch
from workers.timing.control import control_steps
from workers.timing.peers import Peers
from workers.tp.collectives.backend import BackendCollectives
from workers.tp.group import TensorParallelGroup


def main() -> None:
    """Join, measure, print."""
    order = TrialOrder.model_validate_json(sys.argv[1])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cores = usable_cores()
    setup = RankSetup(
        rank=rank,
        size=size,
        device_kind="cpu",
        device_index=cores[rank % len(cores)],
        log_path="",
    )
    device, facts = select(setup)
    io_threads = IoThreads()
    with io_threads.raised():
        dist.init_process_group("gloo")
    world = dist.group.WORLD
    assert world is not None
    collectives = BackendCollectives(world)
    seat = Seat(
        rank=rank,
        device=device,
        device_facts=facts,
        environment=environment(torch_facts(), backend="gloo", realtime_io=io_threads.are_realtime),
        group=TensorParallelGroup(rank, size, collectives),
        peers=Peers(world if size > 1 else None, clock_identity=clock_identity()),
        watch=HostWatch(device),
        control=control_steps(collectives if size > 1 else None, device),
    )
    unproved = Proof(
        max_abs_error=0,
        max_rel_error=0,
        tolerance=0,
        dtype="none",
        num_tokens=0,
        num_collectives=0,
        collective_bytes=0,
    )
    result = measure(order, [Place(number=0, spec=order.point, seat=seat, proof=unproved)])
    if rank == 0:
        sys.stdout.write(f"timed_ns {result.timed_ns}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
