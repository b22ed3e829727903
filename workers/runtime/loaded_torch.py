import torch

from workers.runtime.host import TorchFacts


def torch_facts() -> TorchFacts:
    """Say what the torch of this process is, and how this thread has set it."""
    has_gpu = torch.cuda.is_available()
    return TorchFacts(
        version=torch.__version__,
        cuda=torch.version.cuda if has_gpu else None,
        nccl=".".join(map(str, torch.cuda.nccl.version())) if has_gpu else None,
        num_threads=torch.get_num_threads(),
        flush_denormal=flushes_denormals(),
    )


def flushes_denormals() -> bool:
    """Whether this thread's arithmetic takes what is too small for a normal float as zero."""
    return bool(torch.tensor(1e-39).mul(1.0) == 0)
