"""One of the processes that a test of data parallel training starts by torchrun."""

import sys
from pathlib import Path

import torch

from r2s2r_policies.distributed import Ranks

from .runs import of_robomimic, trained


def check_average() -> None:
    """Gradients 1 and 5 with weights 3 and 1 average to 2."""
    ranks = Ranks.join(torch.device("cpu"))
    parameter, idle = torch.nn.Parameter(torch.zeros(2, 3)), torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.full((2, 3), (1.0, 5.0)[ranks.rank])
    ranks.average_gradients([parameter, idle], (3.0, 1.0)[ranks.rank])
    assert torch.equal(parameter.grad, torch.full((2, 3), 2.0)), parameter.grad
    assert idle.grad is None


if __name__ == "__main__":
    check_average()
    trained(Path(sys.argv[1]), 3, "together", algorithm=of_robomimic("bc"))
