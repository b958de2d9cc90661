"""Blur of a lens from slanted edges: the black square of tags against their white margin.

An edge that is slanted against the pixel grid is sampled at all fractions of a pixel (ISO 12233). Its profile is a step
blurred by the lens (Gaussian), by the pixel (a box, seen along the edge's normal) and developed by the camera's tone
curve, which is not known: the same curve for all edges, a power with a foot,

    grey = low + (high - low) ((l + e)^p - e^p) / ((1 + e)^p - e^p),   l the light from 0 (ink) to 1 (paper).

Blur, p and e are fitted to all edges at once; each edge has its grey levels and a place of its own, straight or bent.
Blur is symmetric about an edge and a power is not, which keeps the two apart. A curve that is symmetric between ink and
paper would look like blur: no picture of two tones can tell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from r2s2r.contracts.checks import set_number, set_vector
from r2s2r.contracts.errors import GroundingError
from r2s2r.world.edge_profile import LOCAL, Edge, predicted
from r2s2r.world.tag_prints import MODULES, tag_print
from r2s2r.world.tag_refinement import RefinedTag, print_coordinates
from r2s2r.world.tags import TagObservations
from r2s2r.world.uncertainty import sandwich

_STEPS = 30
_CONVERGED_PX = 1e-4
_CLEAR = 3.2
"""Distance that a sample keeps from the next edge, in standard deviations of blur and pixel together."""

_FIRST_SIGMA = 0.7
"""Blur [px] for which samples are chosen at first."""

_REACH = 5.0
"""Largest distance of a sample from its edge [px]."""

_FEWEST = 12
"""Samples that an edge needs on either side, a pixel and more from it."""

_OUTLIER = 1.5
"""An edge with this many times the usual residual is left out: covered, in shadow, bent too much."""

_MODEL_PX = 0.008
"""Half width [px] that no number of edges undercuts: what is left on synthetic pictures whose tone curve fits."""


@dataclass(frozen=True)
class EdgeBlurCfg:
    """Which edges are taken.

    Raises:
        ConfigError: a value is not allowed.
    """

    min_module_px: float = 4.0
    """Smallest module [px]: below it neighbouring edges overlap."""
    min_slant_deg: float = 4.0
    """Smallest angle of an edge with rows or columns [deg]; ISO 12233 takes 5."""
    max_tag_residual: float = 0.06
    """Tags that fit their print worse are left out: moving, covered."""
    min_edges: int = 8
    """Fewest edges for a measurement."""
    max_edges: int = 400
    """Most edges that are fitted, spread over the pictures."""
    exponent_prior: tuple[float, float] = (0.45, 0.15)
    """Mean and standard deviation of the tone curve's exponent; cameras follow sRGB within that."""
    foot_prior: tuple[float, float] = (0.03, 0.7)
    """Median of e, and standard deviation of its logarithm: ink reflects 1 to 5 % of what paper does."""

    def __post_init__(self):
        set_number(self, "min_module_px", 2.0, 100.0)
        set_number(self, "min_slant_deg", 0.5, 44.0)
        set_number(self, "max_tag_residual", 1e-3, 1.0)
        set_number(self, "min_edges", 2, 10_000)
        set_number(self, "max_edges", self.min_edges, 100_000)
        set_vector(self, "exponent_prior", 2, 0.01, 2.0)
        set_vector(self, "foot_prior", 2, 1e-3, 2.0)


@dataclass(frozen=True)
class BlurEstimate:
    """A lens's blur."""

    sigma_px: float
    """Standard deviation of the Gaussian [px], without the pixel's own box."""
    half_width_px: float
    """Half of its 95 % interval [px]."""
    tone_exponent: float
    """p of the tone curve."""
    edges: int
    """How many edges were used."""
    residual: float
    """RMS residual over the contrast of ink and paper."""


def edge_blur(pictures: Sequence[tuple[np.ndarray, TagObservations]], cfg: EdgeBlurCfg | None = None) -> BlurEstimate:
    """Return the blur of the lens that took `pictures`.

    Args:
        pictures: grey values (H, W) as the camera gave them, and the refined tags in them; camera and tags stood still.
        cfg: which edges are taken.

    Raises:
        GroundingError: there are too few slanted edges near enough.
    """
    cfg = cfg or EdgeBlurCfg()
    first = _Fit(_chosen(pictures, _FIRST_SIGMA, cfg), cfg).solved()
    # Chosen again for the blur found: a softer lens needs more room between edges, a sharper one less.
    return _Fit(_chosen(pictures, max(first.sigma_px, 0.3), cfg), cfg).solved()


def _chosen(pictures: Sequence[tuple[np.ndarray, TagObservations]], sigma: float, cfg: EdgeBlurCfg) -> list["Edge"]:
    clear = _CLEAR * np.sqrt(sigma**2 + 1.0 / 12.0)
    edges = [edge for k, (grey, tags) in enumerate(pictures) for edge in _edges(k, grey, tags, clear, cfg)]
    if len(edges) < cfg.min_edges:
        raise GroundingError(
            f"blur: received {len(edges)} usable edges in {len(pictures)} still pictures, needed are "
            f"{cfg.min_edges:g}: tags with modules of {cfg.min_module_px:g} px and more, turned by "
            f"{cfg.min_slant_deg:g} degrees and more"
        )
    if len(edges) <= cfg.max_edges:
        return edges
    return [edges[k] for k in np.linspace(0, len(edges) - 1, int(cfg.max_edges)).astype(int)]


def _edges(picture: int, grey: np.ndarray, tags: TagObservations, needed: float, cfg: EdgeBlurCfg) -> Iterator[Edge]:
    for tag_id, corners, fit in zip(tags.ids, tags.corners, tags.fits, strict=True):
        if fit is None or fit.residual > cfg.max_tag_residual:
            continue
        surroundings = _surroundings(grey, int(tag_id), fit)
        for k in range(4):
            edge = _edge(picture, *surroundings, np.roll(corners, -k, axis=0), needed, cfg)
            if edge is not None:
                yield edge


def _surroundings(grey: np.ndarray, tag_id: int, fit: RefinedTag) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return grey values (h, w) of a tag and its margin, the pixels' places (h, w, 2) and how far each is from
    anything but the border of the black square (h, w) [px]: a white module, or what lies beyond the margin."""
    corners, last = fit.corners, np.array([grey.shape[1], grey.shape[0]]) - 1
    reach = 1.5 * np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1).max() / MODULES + 2.0
    low = np.clip(np.floor(corners.min(axis=0) - reach), 0, last).astype(int)
    high = np.clip(np.ceil(corners.max(axis=0) + reach), 0, last).astype(int) + 1
    rows, columns = np.mgrid[low[1] : high[1], low[0] : high[0]]
    pixels = np.stack([columns, rows], axis=-1).astype(float)
    module = np.floor((print_coordinates(pixels, corners, fit.bend) + 1.0) * (0.5 * MODULES)).astype(int)
    inside = np.clip(module, 0, MODULES - 1)
    white = tag_print(tag_id)[::-1][inside[..., 1], inside[..., 0]] == 1
    other = np.where(
        (inside == module).all(axis=-1), white, (module < -1).any(axis=-1) | (module > MODULES).any(axis=-1)
    )
    # Distances are between centres; the nearest other thing may begin half a pixel before the centre of its own.
    clear = cv2.distanceTransform((~other).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE) - 0.5
    return grey[low[1] : high[1], low[0] : high[0]], pixels, clear


def _edge(
    picture: int,
    grey: np.ndarray,
    pixels: np.ndarray,
    clear: np.ndarray,
    corners: np.ndarray,
    needed: float,
    cfg: EdgeBlurCfg,
) -> Edge | None:
    """Return the samples of the edge from the first to the second corner, None when it is short, not slanted, or has
    too little beside it."""
    start, end = corners[0], corners[1]
    length = float(np.linalg.norm(end - start))
    direction, outward = _frame(start, end)
    slant = np.rad2deg(np.arcsin(np.abs(direction).min()))
    if length < cfg.min_module_px * MODULES or slant < cfg.min_slant_deg:
        return None
    offset = pixels - 0.5 * (start + end)
    along, distance = offset @ direction / (0.5 * length), offset @ outward
    chosen = (np.abs(distance) < _REACH) & (clear > needed)
    for side, first, last in ((start, corners[3], start), (end, end, corners[2])):
        # Away from the square's two neighbouring edges, and from where they go on beyond their corner.
        chosen &= (pixels - side) @ _frame(first, last)[1] < -needed
    chosen &= np.abs(along) < 1.0
    seen, apart = grey[chosen].astype(float), distance[chosen]
    if (apart < -1.0).sum() < _FEWEST or (apart > 1.0).sum() < _FEWEST:
        return None
    local = np.zeros(LOCAL)
    local[3], local[4] = np.median(seen[apart < -1.0]), np.median(seen[apart > 1.0])
    return Edge(picture, seen, apart, along[chosen], np.abs(outward), local)


def _frame(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors along an edge and out of the square.

    Corners run counter-clockwise on the print and y is down in the picture: paper lies to the right of the way.
    """
    direction = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    return direction, np.array([-direction[1], direction[0]])


class _Fit:
    """Gauss-Newton on (blur, exponent, logarithm of the foot), the edges' own numbers eliminated edge by edge."""

    def __init__(self, edges: list[Edge], cfg: EdgeBlurCfg):
        self.edges = edges
        self.prior_mean = np.array([0.6, cfg.exponent_prior[0], np.log(cfg.foot_prior[0])])
        self.prior_sd = np.array([np.inf, cfg.exponent_prior[1], cfg.foot_prior[1]])
        self.shared = self.prior_mean.copy()
        self.noise = 3.0

    def solved(self) -> BlurEstimate:
        self._settle()
        rms = np.array([np.sqrt(np.mean((edge.grey - predicted(edge, self.shared)[0]) ** 2)) for edge in self.edges])
        self.edges = [edge for edge, own in zip(self.edges, rms, strict=True) if own < _OUTLIER * np.median(rms)]
        self._settle()
        projected, errors, groups = self._projected()
        covariance = sandwich(projected / self.noise, errors / self.noise, groups, np.diag(1.0 / self.prior_sd)[1:])
        contrast = np.median([edge.local[4] - edge.local[3] for edge in self.edges])
        return BlurEstimate(
            float(self.shared[0]),
            float(np.hypot(covariance.half_width[0], _MODEL_PX)),
            float(self.shared[1]),
            len(self.edges),
            float(self.noise / contrast),
        )

    def _settle(self) -> None:
        for _ in range(_STEPS):
            if abs(self._advance()[0]) < _CONVERGED_PX:
                break

    def _advance(self) -> np.ndarray:
        """Move all numbers by one step, return that of the shared ones."""
        normal, slope, parts, square, count = np.diag(self.prior_sd**-2.0), np.zeros(3), [], 0.0, 0
        slope += normal @ (self.prior_mean - self.shared)
        for edge in self.edges:
            model, own, common = predicted(edge, self.shared)
            error = edge.grey - model
            inverse = np.linalg.pinv(own.T @ own, rcond=1e-10, hermitian=True) @ own.T
            left = common - own @ (inverse @ common)
            normal = normal + left.T @ left / self.noise**2
            slope = slope + left.T @ error / self.noise**2
            parts.append((edge, inverse, common, error))
            square, count = square + float(error @ error), count + len(error)
        step = np.clip(np.linalg.solve(normal, slope), [-0.15, -0.1, -0.5], [0.15, 0.1, 0.5])
        for edge, inverse, common, error in parts:
            own_step = inverse @ (error - common @ step)
            own_step[:3] = np.clip(own_step[:3], -0.3, 0.3)
            edge.local = edge.local + own_step
        self.shared = np.clip(self.shared + step, [0.1, 0.15, -7.0], [3.0, 1.6, 0.0])
        self.noise = max(np.sqrt(square / max(count - LOCAL * len(self.edges), 1)), 1e-6)
        return step

    def _projected(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the shared derivative without what edges absorb (M, 3), residuals (M,) and their groups (M,)."""
        columns, errors, groups = [], [], []
        pictures = len({edge.picture for edge in self.edges})
        for k, edge in enumerate(self.edges):
            model, own, common = predicted(edge, self.shared)
            columns.append(common - own @ (np.linalg.pinv(own, rcond=1e-8) @ common))
            errors.append(edge.grey - model)
            groups.append(np.full(len(model), edge.picture if pictures > 4 else k))
        return np.concatenate(columns), np.concatenate(errors), np.concatenate(groups)
