"""The report of an evaluation: Table 2, Figure 2, paired comparisons, how trials ended, films of every failure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from r2s2r.contracts.errors import DatasetError
from r2s2r.evaluation.charts import svg
from r2s2r.evaluation.intervals import interval_text
from r2s2r.evaluation.judging import Outcome, rate
from r2s2r.evaluation.policy_charts import shift_bars, success_bars
from r2s2r.evaluation.policy_table import SHIFTED, PolicyTable
from r2s2r.evaluation.report import Report
from r2s2r.evaluation.rollout import read_rollout, rollout_path
from r2s2r.evaluation.rollout_film import SPEED_UP, film_path, write_film
from r2s2r.evaluation.trial_result import TrialResult

_SHOWN_SUCCESSES = 1
"""Films of successes for each policy and condition."""


@dataclass(frozen=True)
class PolicyReport:
    """Everything that the report shows."""

    cell: str
    """Name of the cell or task that the policies were tried in."""
    table: PolicyTable
    """What they came to."""
    folder: Path
    """Of the evaluation: rollouts are read from it, films go to it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the results depend on."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Where everything comes from."""

    def write(self, path: Path) -> Path:
        """Write films and report, and return the report's path.

        Raises:
            ConfigError: the folder cannot be written.
        """
        report = Report("Evaluation", f"Policies tried in {self.cell}, from the same starts")
        self._headline(report)
        self._table(report)
        self._comparisons(report)
        self._endings(report)
        for policy in self.table.policies:
            self._films(report, policy)
        report.section("Where it comes from")
        report.data("settings", dict(self.settings))
        report.data("provenance", dict(self.provenance))
        return report.write(path)

    def _headline(self, report: Report) -> None:
        report.section("In short")
        counts = {name: self.table.counts(name, "total") for name in self.table.policies}
        report.key_figures(
            {name: rate(*count) for name, count in counts.items()},
            {name: f"95 %: {interval_text(*count)}" for name, count in counts.items()},
        )

    def _table(self, report: Report) -> None:
        report.section("Success")
        shifted = ", ".join(name.replace("_", " ") for name in SHIFTED if name in self.table.conditions)
        report.table(
            self.table.rows(),
            f"Successes of trials, with 95 % Wilson intervals. Shifted is the sum of {shifted or '-'}.",
        )
        report.chart(svg(success_bars(self.table)), "Success over all trials, with 95 % Wilson intervals.")
        report.chart(svg(shift_bars(self.table)), "Under the conditions of the demonstrations, and under others.")

    def _comparisons(self, report: Report) -> None:
        pairs = self.table.comparisons()
        if not pairs:
            return
        report.section("Compared in pairs")
        report.table(
            [
                {
                    "policies": f"{pair.first} / {pair.second}",
                    "only the first": pair.only_first,
                    "only the second": pair.only_second,
                    "second minus first": f"{100 * pair.difference:+.1f} points",
                    "95 %": "{:+.1f} to {:+.1f}".format(*(100 * end for end in pair.interval())),
                    "p": pair.p_value(),
                    "verdict": pair.verdict(),
                }
                for pair in pairs
            ],
            "Trials from the same start. p of McNemar's exact test, not corrected for the number of pairs; interval of "
            "the paired difference after Newcombe (1998, method 10).",
        )

    def _endings(self, report: Report) -> None:
        report.section("How trials ended")
        labels = [outcome.label for outcome in Outcome if outcome is not Outcome.RUNNING]
        ends = {name: self.table.outcomes(name) for name in self.table.policies}
        seen = [label for label in labels if any(label in found for found in ends.values())]
        running = {name: self._running(name) for name in self.table.policies}
        rows = [
            {"policy": name} | {label.replace("_", " "): found.get(label, 0) for label in seen} | running[name]
            for name, found in ends.items()
        ]
        report.table(
            rows,
            "Trials by outcome. Blended: jumps above the limit between an answer of the policy and the next. Held: "
            "steps in which no answer was there.",
        )

    def _running(self, policy: str) -> dict[str, int]:
        mine = [result for result in self.table.results if result.policy == policy]
        return {
            "answers": sum(result.decisions for result in mine),
            "blended": sum(result.blended for result in mine),
            "held": sum(result.held_steps for result in mine),
        }

    def _films(self, report: Report, policy: str) -> None:
        mine = [result for result in self.table.results if result.policy == policy]
        failures = [result for result in mine if not result.success]
        successes = [result for name in self.table.conditions for result in _some(mine, name)]
        for title, chosen in (("failures", failures), ("successes", successes)):
            if not chosen:
                continue
            report.section(f"{policy}: {title}")
            report.text(
                f"{len(chosen)} of {len(mine)} trials: what the policy saw each time that it was asked, head camera "
                f"left, wrist camera right, at {SPEED_UP:g} times the speed."
            )
            for result in chosen:
                self._film(report, result)

    def _film(self, report: Report, result: TrialResult) -> None:
        ending = f"{result.outcome.replace('_', ' ')} after {result.duration_s:.1f} s"
        caption = f"{result.trial}: {result.shape}, belt {result.belt_speed:.2f} m/s, {ending}"
        path = film_path(self.folder, result.policy, result.trial)
        try:
            rollout = read_rollout(rollout_path(self.folder, result.policy, result.trial))
        except DatasetError as error:
            report.text(f"{caption}. No film: {error}")
            return
        report.clip(write_film(path, rollout), caption)


def _some(results: list[TrialResult], condition: str) -> list[TrialResult]:
    return [result for result in results if result.success and result.condition == condition][:_SHOWN_SUCCESSES]
