"""Which arithmetic a network computes in on a device. Weights, losses and integration are 32-bit floats everywhere."""

import torch
from r2s2r.contracts.errors import choose

PRECISIONS = ("auto", "fp32", "bf16")


def computes_in_bf16(device: torch.device | str, precision: str = "auto") -> bool:
    """Return whether layers compute in bfloat16 on `device`.

    `auto` says yes on CUDA, and on a processor with AMX tiles, whose matrix products in bfloat16 are the faster ones
    (docs/training.md has the times); a processor without them emulates bfloat16 and is slower than in 32 bits.

    Raises:
        ConfigError: `precision` is none of `PRECISIONS`.
    """
    if choose("precision", precision, PRECISIONS) != "auto":
        return precision == "bf16"
    kind = torch.device(device).type
    return kind == "cuda" or (kind == "cpu" and torch.cpu._is_amx_tile_supported())


def autocast(device: torch.device | str, precision: str = "auto") -> torch.autocast:
    """Return the context in which a network of `device` computes; see :func:`computes_in_bf16`."""
    kind = torch.device(device).type
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=computes_in_bf16(device, precision))


def compiled(network: torch.nn.Module, device: torch.device | str) -> torch.nn.Module:
    """Compile `network` in place where that pays, on CUDA, and return it: names of its weights stay as they were."""
    if torch.device(device).type == "cuda":
        network.compile()
    return network
