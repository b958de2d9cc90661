"""Which arithmetic a network computes in on a device. Weights, losses and integration are 32-bit floats everywhere."""

import torch

from r2s2r.contracts.errors import choose

PRECISIONS = ("auto", "fp32", "bf16")


def computes_in_bf16(device: torch.device | str, precision: str = "auto") -> bool:
    """Return whether layers compute in bfloat16 on `device`.

    `auto` says yes on CUDA and no on a processor, even one with AMX tiles. A product of 1024 x 1024 matrices is nine
    times as fast there in bfloat16, but group normalisation and attention have slow gradients in it and the policies
    that a processor trains are narrow. Measured on one core of a Sapphire Rapids that had other work besides,
    processor time of a training step of 64 and of an answer in 8 steps: tiny 125 ms and 18 ms in fp32, 144 ms and
    36 ms in bf16; small 327 ms and 46 ms in fp32, 271 ms and 64 ms in bf16.

    Raises:
        ConfigError: `precision` is none of `PRECISIONS`.
    """
    if choose("precision", precision, PRECISIONS) != "auto":
        return precision == "bf16"
    return torch.device(device).type == "cuda"


def autocast(device: torch.device | str, precision: str = "auto") -> torch.autocast:
    """Return the context in which a network of `device` computes; see :func:`computes_in_bf16`."""
    kind = torch.device(device).type
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=computes_in_bf16(device, precision))
