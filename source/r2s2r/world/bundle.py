"""Adjusts lenses, poses, joints and clocks together until all tag corners fit."""

from dataclasses import dataclass, field

import numpy as np

from r2s2r.contracts.cell import CAMERAS
from r2s2r.contracts.checks import set_number
from r2s2r.contracts.errors import GroundingError
from r2s2r.control.kinematics import SerialChain
from r2s2r.world.bundle_checks import OneMore, check_tag_sizes, tag_sizes
from r2s2r.world.bundle_data import GROUPS, BundleData
from r2s2r.world.bundle_model import BundleModel, Predicted
from r2s2r.world.bundle_solver import Prior, Solved, solve
from r2s2r.world.bundle_state import BLOCKS, STEP_SIZE, BundleState
from r2s2r.world.bundle_steadiness import largest_jump, refuse_jump, robust_scale
from r2s2r.world.uncertainty import Covariance, sandwich

HELD_OUT_EVERY = 5
"""Of every five still pictures of a camera, one is kept from the first fit and judges it."""


DELAY_DOUBT_S = 5e-3
"""A held stamp delay that pictures contradict by more than this [s] is mentioned."""


@dataclass(frozen=True)
class BundleCfg:
    """How the adjustment treats corners.

    Raises:
        ConfigError: a value is not allowed.
    """

    first_sigma_px: float = 0.5
    """Standard deviation of a corner at the start; then it is estimated for each camera."""
    least_sigma_px: float = 0.03
    """Corners are never taken to be better than this."""
    outlier_sigmas: float = 8.0
    """A tag with a corner further off than this many standard deviations..."""
    outlier_px: float = 0.5
    """...plus this much [px] is left out and counted."""
    most_outliers: float = 0.4
    """Fraction of tags left out above which the fit is refused."""
    fit_clocks: bool = True
    """Whether stamp delays and readout times are unknowns; otherwise the start values hold and a doubt is a warning."""

    def __post_init__(self):
        for name in ("first_sigma_px", "least_sigma_px", "outlier_sigmas", "outlier_px"):
            set_number(self, name, 1e-4, 1e3)
        set_number(self, "most_outliers", 0.0, 1.0)


@dataclass(frozen=True)
class Bundle:
    """The adjusted cell."""

    state: BundleState
    """The best values, from all pictures."""
    covariance: Covariance
    """Of the free unknowns, in the order of the step."""
    free: np.ndarray
    """(STEP_SIZE,) bool, which unknowns were adjusted."""
    data: BundleData
    """Corners that were used."""
    residuals: np.ndarray
    """(N, 2) predicted minus measured [px]."""
    jacobian: np.ndarray
    """(N, 2, STEP_SIZE) there."""
    points_c: np.ndarray
    """(N, 3) corners in their camera's frame [m]."""
    sigma: np.ndarray
    """(2,) usual standard deviation of a corner's coordinate for each of CAMERAS [px]."""
    held_out_rms_px: np.ndarray
    """(2,) RMS distance of corners in pictures that the first fit did not see, for each of CAMERAS; NaN without any."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Tags left out as gross errors, by camera."""
    warnings: tuple[str, ...] = ()
    """One line each, beginning with the camera it is about."""

    def half_width(self, directions: np.ndarray) -> np.ndarray:
        """Return half widths (K,) of combinations (K, STEP_SIZE) of the step; infinite where one was not adjusted."""
        widths = self.covariance.of(directions[:, self.free])
        return np.where((np.abs(directions[:, ~self.free]) > 0.0).any(axis=1), np.inf, widths)


def adjust(
    data: BundleData, chain: SerialChain, start: BundleState, prior: Prior, cfg: BundleCfg | None = None
) -> Bundle:
    """Return the cell that fits all corners best, given what is known beforehand.

    The first fit leaves every fifth still picture out and is judged on those; the values returned are then fitted to
    all pictures.

    Raises:
        GroundingError: the fit does not settle, or too many tags contradict it.
    """
    cfg = cfg or BundleCfg()
    free = free_unknowns(data)
    if not cfg.fit_clocks:
        free &= ~_clocks()
    first = np.full(2, cfg.first_sigma_px)
    small = data.condensed()
    state = _solve(small.chosen(small.still), chain, start, prior, free & ~_clocks(), first).state
    state = _solve(small, chain, state, prior, free, first).state
    predicted = BundleModel(data, chain).predict(state)
    _check_consistent(data, predicted, state, chain, prior, free)
    data, sigma, left_out = _cleaned(data, predicted.residuals, cfg)
    held_out = _held_out(data)
    state = _solve(data.chosen(~held_out).condensed(), chain, state, prior, free, sigma, "cauchy").state
    rms = _rms_by_camera(data.chosen(held_out), chain, state)
    small = data.condensed()
    solved = _solve(small, chain, state, prior, free, sigma, "cauchy")
    return Bundle(
        state=solved.state,
        covariance=_covariance(small, solved, prior, free, sigma),
        free=free,
        data=small,
        residuals=solved.predicted.residuals,
        jacobian=solved.predicted.jacobian,
        points_c=solved.predicted.points_c,
        sigma=sigma,
        held_out_rms_px=rms,
        left_out=left_out,
        warnings=_warnings(small, solved, chain, prior, free, sigma, cfg.fit_clocks),
    )


def free_unknowns(data: BundleData) -> np.ndarray:
    """Return which unknowns (STEP_SIZE,) the pictures can say anything about; the others stay as they start."""
    free = np.ones(STEP_SIZE, dtype=bool)
    wrist, head = ((data.camera == k).any() for k in range(2))
    for name, seen in {"wrist_lens": wrist, "mount": wrist, "head_lens": head, "head": head}.items():
        free[BLOCKS[name]] = seen
    for k, name in enumerate(GROUPS):
        free[BLOCKS[name]] = (data.group == k).any()
    for k in range(2):
        moving = (~data.still & (data.camera == k)).any()
        for name in ("stamp_delay", "readout"):
            free[BLOCKS[name].start + k] = moving
    return free


def _clocks() -> np.ndarray:
    clocks = np.zeros(STEP_SIZE, dtype=bool)
    clocks[BLOCKS["stamp_delay"]] = clocks[BLOCKS["readout"]] = True
    return clocks


def _check_consistent(
    data: BundleData, predicted: Predicted, state: BundleState, chain: SerialChain, prior: Prior, free: np.ndarray
) -> None:
    """Refuse what no single cell explains. A wrong tag size and something that moved look alike at first: what would
    lower the cost more is named."""
    jump = largest_jump(data, predicted, free, prior.rows)
    scale = robust_scale(data, predicted)
    jacobian, rows = predicted.jacobian[:, :, free], prior.rows[:, free]
    one_more = OneMore(jacobian, predicted.residuals, scale, data.blocks, rows)
    sizes = tag_sizes(data, state, chain, one_more)
    if jump is not None and all(size.gain < jump.gain for size in sizes.values()):
        refuse_jump(jump)
    check_tag_sizes(sizes)


def _clock_doubts(data: BundleData, solved: Solved, one_more: OneMore) -> list[str]:
    """Return one line for each camera whose pictures in motion want another stamp delay than the one held."""
    found = []
    for k, name in enumerate(CAMERAS):
        if not (~data.still & (data.camera == k)).any():
            continue
        late, sd, _ = one_more.step(solved.predicted.jacobian[:, :, BLOCKS["stamp_delay"].start + k])
        if abs(late) > max(DELAY_DOUBT_S, 3.0 * sd):
            held = 1e3 * solved.state.stamp_delay[k]
            found.append(
                f"{name} camera: its stamp delay was held at {held:.0f} ms; pictures taken in motion want about "
                f"{held + 1e3 * late:.0f} ms"
            )
    return found


def _solve(
    data: BundleData, chain: SerialChain, start: BundleState, prior: Prior, free, sigma: np.ndarray, loss: str = "huber"
) -> Solved:
    return solve(BundleModel(data, chain), start, prior, free, data.deviation(sigma), loss)


def _cleaned(data: BundleData, residuals: np.ndarray, cfg: BundleCfg) -> tuple[BundleData, np.ndarray, dict[str, int]]:
    """Return the data without tags that are grossly off, the corners' standard deviations, how many were left out."""
    sigma = np.full(2, cfg.first_sigma_px)
    for k in range(2):
        if (data.camera == k).any():
            usual = residuals[data.camera == k] / data.spread[data.camera == k, None]
            sigma[k] = max(1.4826 * float(np.median(np.abs(usual))), cfg.least_sigma_px)
    far = np.linalg.norm(residuals, axis=1) > cfg.outlier_sigmas * data.deviation(sigma) + cfg.outlier_px
    bad = np.repeat(far.reshape(-1, 4).any(axis=1), 4)
    share = np.mean(bad)
    if share > cfg.most_outliers:
        raise GroundingError(
            f"cameras: {100 * share:.0f} % of the tags contradict the rest, allowed {100 * cfg.most_outliers:.0f} %: "
            "tags or cameras moved, tag sizes or poses in the layout are wrong, or joint readings are not of this arm"
        )
    left_out = {name: int(np.sum(bad & (data.camera == k))) // 4 for k, name in enumerate(CAMERAS)}
    return data.chosen(~bad), sigma, left_out


def _held_out(data: BundleData) -> np.ndarray:
    held_out = np.zeros(len(data.camera), dtype=bool)
    for k in range(2):
        frames = np.unique(data.frame[data.still & (data.camera == k)])
        held_out |= (data.camera == k) & data.still & np.isin(data.frame, frames[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY])
    return held_out


def _rms_by_camera(data: BundleData, chain: SerialChain, state: BundleState) -> np.ndarray:
    residuals = BundleModel(data, chain).predict(state).residuals
    parts = [residuals[data.camera == k] for k in range(len(CAMERAS))]
    return np.array([np.sqrt(2.0 * np.mean(part**2)) if len(part) else np.nan for part in parts])


def _warnings(
    data: BundleData,
    solved: Solved,
    chain: SerialChain,
    prior: Prior,
    free: np.ndarray,
    sigma: np.ndarray,
    clocks: bool,
) -> tuple[str, ...]:
    weight = np.sqrt(solved.weight) / data.deviation(sigma)
    jacobian, rows = solved.predicted.jacobian[:, :, free], prior.rows[:, free]
    one_more = OneMore(jacobian, solved.predicted.residuals, weight, data.blocks, rows)
    found = check_tag_sizes(tag_sizes(data, solved.state, chain, one_more))
    return tuple(found if clocks else found + _clock_doubts(data, solved, one_more))


def _covariance(data: BundleData, solved: Solved, prior: Prior, free: np.ndarray, sigma: np.ndarray) -> Covariance:
    # With Cauchy's weight w the force w r grows with the residual at the mean rate w^2. Jacobian and residuals that are
    # multiplied by w and by 1 give that rate as the Hessian and the force as the gradient.
    deviation = data.deviation(sigma)
    jacobian = solved.predicted.jacobian[:, :, free] * (solved.weight / deviation)[:, None, None]
    residuals = (solved.predicted.residuals / deviation[:, None]).ravel()
    jacobian, rows = jacobian.reshape(len(residuals), -1), prior.rows[:, free]
    # Errors are alike within a stop of the arm, and within a tag: its print, its shade. The wider interval holds.
    by_time = sandwich(jacobian, residuals, np.repeat(data.blocks, 2), rows)
    by_tag = sandwich(jacobian, residuals, np.repeat(data.tag_id, 2), rows)
    return by_time.widened(by_tag)
