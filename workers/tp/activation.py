from typing import assert_never

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own name for it

from workers.contract.axes import Activation


def activate(x: Tensor, activation: Activation) -> Tensor:
    """Apply the pointwise function; one fused kernel each way, two for relu_squared."""
    match activation:
        case Activation.GELU:
            return F.gelu(x)
        case Activation.GELU_TANH:
            return F.gelu(x, approximate="tanh")
        case Activation.SILU:
            return F.silu(x)
        case Activation.RELU:
            return torch.relu(x)
        case Activation.RELU_SQUARED:
            return torch.relu(x).square()
        case _:
            assert_never(activation)
