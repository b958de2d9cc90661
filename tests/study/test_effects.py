"""Table and effects of a study, from outcomes whose effects are known in closed form."""

import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.trials import SPLIT
from r2s2r.evaluation.policy_table import PolicyTable
from r2s2r.evaluation.trial_result import TrialResult
from r2s2r.study.effects import CONTRASTS, contrasts, effects
from r2s2r.study.outcomes import Outcomes

POLICIES = ("real_100", "ungrounded", "behavior_grounded", "world_grounded", "fully_grounded")

PAPER = {
    "real_100": (16, 2, 4, 4, 0),
    "fully_grounded": (23, 7, 6, 6, 1),
    "world_grounded": (21, 3, 8, 6, 0),
    "behavior_grounded": (20, 3, 6, 4, 1),
}
"""Successes of the paper's table; its ungrounded policy is not told; the averages put it at 29 of 50."""


def result(policy: str, condition: str, number: int, success: bool, seed: int = 3) -> TrialResult:
    outcome = "success" if success else "timeout"
    return TrialResult(policy, condition, number, seed, outcome, "box", "box", 0.1, 5.0, 10, 0, 0.0, 0)


def trials(counts: dict[str, tuple[int, ...]], seed: int = 3) -> list[TrialResult]:
    """Return trials of the paper's split in which a policy succeeds in the first ones under each condition."""
    return [
        result(policy, condition, number, number < wins, seed)
        for policy, per_condition in counts.items()
        for (condition, trials_made), wins in zip(SPLIT.items(), per_condition, strict=True)
        for number in range(trials_made)
    ]


def table(results: list[TrialResult]) -> PolicyTable:
    return PolicyTable.of(POLICIES, tuple(SPLIT), results)


def outcomes(success: np.ndarray, cells: list[int] | None = None) -> Outcomes:
    n = len(success)
    return Outcomes(POLICIES, ("nominal",) * n, tuple(cells or [0] * n), success)


def test_the_paper_s_table_gives_the_paper_s_averages():
    counts = PAPER | {"ungrounded": (18, 3, 4, 4, 0)}
    assert sum(counts["ungrounded"]) == 29
    found = Outcomes.of({7: table(trials(counts))})
    assert found.success.sum(axis=0).tolist() == [26, 29, 34, 38, 43]
    worth = effects(found, CONTRASTS, rounds=50)
    assert worth["world grounding, averaged over behaviors"].value == pytest.approx(0.18)
    assert worth["behavior grounding, averaged over worlds"].value == pytest.approx(0.10)
    assert worth["interaction"].value == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("policies", "count"),
    [(POLICIES, 9), (("real_100", "fully_grounded"), 1), (("real_100", "world_grounded", "fully_grounded"), 3)],
)
def test_effects_are_those_whose_policies_were_all_tried(policies, count):
    weights = contrasts(policies, "real_100")
    assert len(weights) == count and all(set(each) <= set(policies) for each in weights.values())


def test_rows_are_starts_and_columns_policies_whatever_the_order_of_the_log():
    log = trials(PAPER | {"ungrounded": (18, 3, 4, 4, 0)})
    shuffled = [log[k] for k in np.random.default_rng(1).permutation(len(log))]
    found, again = Outcomes.of({7: table(log)}), Outcomes.of({7: table(shuffled)})
    np.testing.assert_array_equal(found.success, again.success)
    assert found.conditions[:24] == ("nominal",) * 24 and found.success[:24, 4].tolist() == [True] * 23 + [False]


def test_two_cells_stand_below_each_other():
    every, none = (trials({name: counts for name in POLICIES}) for counts in ((24, 8, 8, 9, 1), (0,) * 5))
    found = Outcomes.of({7: table(every), 8: table(none)})
    assert found.cells == (7,) * 50 + (8,) * 50 and found.success[:50].all() and not found.success[50:].any()


def test_cells_with_other_policies_are_refused():
    every = table(trials({name: (1,) * 5 for name in POLICIES}))
    fewer = PolicyTable.of(POLICIES[:2], tuple(SPLIT), every.results)
    with pytest.raises(ConfigError, match="cell 8 has the policies"):
        Outcomes.of({7: every, 8: fewer})
    with pytest.raises(ConfigError, match="no table"):
        Outcomes.of({})


def test_an_interval_holds_the_true_effect_as_often_as_it_says():
    """200 studies with a true effect of 0.2; 95 % intervals miss it in 10 +- 3.1, five deviations allowed."""
    rng, missed = np.random.default_rng(5), 0
    rates = np.array([0.4, 0.4, 0.4, 0.6, 0.6])
    for _ in range(200):
        success = rng.uniform(size=(80, 5)) < rates
        found = effects(outcomes(success), CONTRASTS, rounds=400)["world grounding, averaged over behaviors"]
        missed += not found.low <= 0.2 <= found.high
    assert missed <= 10 + 5 * 3.1


def test_pairing_narrows_the_interval():
    """Policies that succeed from the same starts differ by little, whatever the starts are drawn to be."""
    rng = np.random.default_rng(6)
    easy = rng.uniform(size=(100, 1)) < 0.5
    same = np.repeat(easy, 5, axis=1)
    alone = rng.uniform(size=(100, 5)) < 0.5
    weights = contrasts(POLICIES, "real_100")
    name = "fully_grounded over real_100"
    paired, unpaired = (effects(outcomes(s), weights, rounds=300)[name] for s in (same, alone))
    assert paired.low == paired.high == 0.0 and unpaired.high - unpaired.low > 0.1


def test_cells_that_differ_widen_the_interval():
    """An effect of 1 in one cell and of 0 in the other is not known from these two, however many trials were made."""
    success = np.zeros((100, 5), dtype=bool)
    success[:50, 4] = True
    weights = {"fully": {"fully_grounded": 1.0, "real_100": -1.0}}
    cells = [1] * 50 + [2] * 50
    found = effects(outcomes(success, cells), weights, rounds=500)["fully"]
    assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)


def test_the_same_seed_gives_the_same_interval():
    success = np.random.default_rng(0).uniform(size=(50, 5)) < 0.5
    assert effects(outcomes(success), CONTRASTS, rounds=100) == effects(outcomes(success), CONTRASTS, rounds=100)


def test_an_effect_of_an_unknown_policy_is_refused():
    with pytest.raises(ConfigError, match="nobody not tried"):
        effects(outcomes(np.ones((4, 5), dtype=bool)), {"x": {"nobody": 1.0}}, rounds=1)
