"""How well a policy predicts demonstrations that it did not learn from."""

from collections.abc import Sequence
from typing import Any

import torch
from robomimic.algo import PolicyAlgo

from r2s2r_policies.algorithms import averaged_weights, loss_weight, seed_draws
from r2s2r_policies.distributed import Ranks


def held_out_loss(algorithm: PolicyAlgo, batches: Sequence[dict[str, Any]], seed: int, ranks: Ranks) -> float:
    """Return the loss of the averaged weights on held-out samples.

    Noise and flow times of batch k are the same at every measurement, so that two of them differ by the weights alone.

    Args:
        algorithm: in training mode, and left so.
        batches: prepared; this process's part of each.
        seed: of what is drawn with the batches.
        ranks: the processes whose parts are counted together.
    """
    sums = torch.zeros(2, dtype=torch.float64)
    with averaged_weights(algorithm):
        for number, batch in enumerate(batches):
            seed_draws(algorithm, seed, number, ranks.rank)
            loss = algorithm.train_on_batch(batch, epoch=0, validate=True)["losses"]["action_loss"]
            weight = loss_weight(algorithm, batch)
            sums += torch.tensor([float(loss) * weight, weight], dtype=torch.float64)
    total, weight = ranks.total(sums.to(algorithm.device)).tolist()
    return total / max(weight, 1.0)
