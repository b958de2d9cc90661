"""Loss, flow times and integrator against closed forms, and the two modes that a mean would lose."""

import math
from functools import partial

import pytest
import torch
from torch import nn

from r2s2r_policies.flow import flow_loss, flow_times, integrate, masked_mean_square


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _masks_of_an_episode(length: int, chunk: int) -> torch.Tensor:
    """Return which actions are real in every chunk of an episode, (length, chunk)."""
    return torch.arange(length)[:, None] + torch.arange(chunk) < length


def test_b73_loss_is_the_mean_over_valid_elements() -> None:
    mask = _masks_of_an_episode(50, 16)
    assert 1 - mask.float().mean() == pytest.approx(0.15)
    error = mask.float().unsqueeze(-1).expand(50, 16, 25)
    assert float(masked_mean_square(error, mask)) == pytest.approx(1.0, abs=1e-6)
    assert float(error.square().mean()) == pytest.approx(0.85, abs=1e-6)


def test_b73_a_row_of_padding_contributes_nothing() -> None:
    actions = torch.randn(4, 16, 25, generator=_generator())
    mask = torch.ones(4, 16, dtype=torch.bool)
    mask[2] = False
    actions[2] = math.nan
    weight = torch.full((25,), 0.5, requires_grad=True)
    loss = flow_loss(lambda x, _time: weight * x, actions, mask, _generator(1))
    loss.backward()
    assert torch.isfinite(loss) and torch.isfinite(weight.grad).all()
    # The same draws, a fourth row or none: only what the valid rows say counts.
    other = actions.clone()
    other[2] = 1e6
    with torch.no_grad():
        assert torch.equal(flow_loss(lambda x, _time: weight * x, other, mask, _generator(1)), loss)


def test_b73_a_batch_of_padding_only_has_loss_0() -> None:
    weight = torch.ones((), requires_grad=True)
    mask = torch.zeros(2, 16, dtype=torch.bool)
    loss = flow_loss(lambda x, _time: weight * x, torch.randn(2, 16, 3), mask, _generator())
    loss.backward()
    assert torch.equal(loss.detach(), torch.tensor(0.0)) and torch.equal(weight.grad, torch.tensor(0.0))


def test_gradient_of_the_masked_loss_is_that_of_finite_differences() -> None:
    error = torch.randn(3, 4, 2, dtype=torch.float64, generator=_generator(), requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    assert torch.autograd.gradcheck(partial(masked_mean_square, mask=mask), error)


def test_exact_velocity_has_no_loss() -> None:
    # With actions that are all 1, x_t = (1 - t) noise + t gives the noise away: velocity (1 - x_t) / (1 - t).
    mask = torch.ones(64, 8, dtype=torch.bool)
    actions = torch.ones(64, 8, 3)
    loss = flow_loss(lambda x, t: (1 - x) / (1 - t[:, None, None]), actions, mask, _generator())
    assert float(loss) < 1e-6


def test_flow_times_are_1_minus_beta() -> None:
    times = flow_times(200_000, _generator(), torch.device("cpu"))
    assert float(times.min()) >= 0 and float(times.max()) <= 1
    # Beta(1.5, 1): mean 3/5, variance 12/175; four standard errors of 200 000 draws.
    assert float(times.mean()) == pytest.approx(0.4, abs=4 * math.sqrt(12 / 175 / 200_000))
    assert float(times.var()) == pytest.approx(12 / 175, rel=0.02)


def test_integrator_converges_on_a_linear_field_at_first_order() -> None:
    # x' = -2 x + t has x(1) = (x0 + 1/4) e^-2 + 1/4.
    start = torch.tensor([[[1.0, -3.0]]])
    exact = (start + 0.25) * math.exp(-2) + 0.25
    errors = []
    for steps in (16, 32, 64):
        reached = integrate(lambda x, t: -2 * x + t[:, None, None], start, steps)
        errors.append(float((reached - exact).abs().max()))
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


def test_straight_paths_need_one_step() -> None:
    noise = torch.randn(5, 4, 2, generator=_generator())
    target = torch.randn(5, 4, 2, generator=_generator(1))
    assert torch.allclose(integrate(lambda _x, _t: target - noise, noise, 1), target, atol=1e-6)


def test_two_modes_are_both_found_and_the_mean_is_not() -> None:
    """Half of the actions are at (-1, -1), half at (1, 1): the mean, (0, 0), was never demonstrated."""
    torch.manual_seed(0)
    generator = _generator()
    layers = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def velocity(x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        return layers(torch.cat((x, time[:, None, None].expand(-1, 1, 1)), dim=-1))

    optimizer = torch.optim.Adam(layers.parameters(), 3e-3)
    mask = torch.ones(256, 1, dtype=torch.bool)
    for _ in range(600):
        mode = 2.0 * torch.randint(0, 2, (256, 1, 1), generator=generator) - 1
        actions = mode.expand(-1, 1, 2) + 0.05 * torch.randn(256, 1, 2, generator=generator)
        optimizer.zero_grad()
        flow_loss(velocity, actions, mask, generator).backward()
        optimizer.step()
    with torch.no_grad():
        reached = integrate(velocity, torch.randn(1000, 1, 2, generator=generator), 16)[:, 0]
    near = [(reached - centre).norm(dim=1) < 0.35 for centre in (-1.0, 1.0)]
    assert float((near[0] | near[1]).float().mean()) > 0.9
    assert float(near[1].float().mean()) == pytest.approx(0.5, abs=0.1)
