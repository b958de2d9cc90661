"""Averaged weights in closed form."""

import pytest
import torch
from torch import nn

from r2s2r_policies.ema import averaged_copy, decay_at


def test_average_is_the_product_of_its_decays() -> None:
    network = nn.Linear(1, 1, bias=False)
    average = averaged_copy(network, decay=0.6)
    with torch.no_grad():
        network.weight.fill_(1.0)
        average.update_parameters(network)  # the first copies
        network.weight.fill_(0.0)
        expected = 1.0
        for averaged in range(1, 30):
            average.update_parameters(network)
            expected *= min(0.6, (1 + averaged) / (10 + averaged))
            assert float(average.module.weight) == pytest.approx(expected, rel=1e-5)


def test_young_training_forgets_its_first_weights() -> None:
    assert decay_at(0.999, 0) == pytest.approx(0.1)
    assert decay_at(0.999, 90) == pytest.approx(0.91)
    assert decay_at(0.999, 10**6) == 0.999


def test_state_resumes_the_average() -> None:
    torch.manual_seed(0)
    network, resumed_network = nn.Linear(3, 2), nn.Linear(3, 2)
    whole, resumed = averaged_copy(network, 0.99), averaged_copy(resumed_network, 0.99)
    for step in range(6):
        if step == 3:
            resumed.load_state_dict(whole.state_dict())
        with torch.no_grad():
            network.weight.add_(torch.randn(2, 3))
        whole.update_parameters(network)
        if step >= 3:
            resumed.update_parameters(network)
    assert torch.equal(whole.module.weight, resumed.module.weight)
    assert not any(weight.requires_grad for weight in whole.parameters())
