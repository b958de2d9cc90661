"""A report of one run: a single HTML file with its pictures, clips and charts inside, readable offline and for years.

Nothing in it is fetched or executed: no scripts, and a content security policy that forbids outside resources. It holds
no clock time, so the same run writes the same bytes.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from PIL import Image

import r2s2r
from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.files import whole_file
from r2s2r.evaluation import palette

NOT_AVAILABLE = "n/a"
"""Shown for a missing value."""

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ENLARGED_BELOW_PX = 320
"""Pictures narrower than this are shown enlarged, with their pixels kept sharp."""


@dataclass(frozen=True)
class _Block:
    """One thing of a section: which part of the template shows it, and what that part is given."""

    kind: str
    content: dict[str, Any]


@dataclass(frozen=True)
class _Section:
    title: str
    blocks: list[_Block] = field(default_factory=list)

    def groups(self) -> list[tuple[bool, list[_Block]]]:
        """Return the blocks in order, neighbouring figures together: (are figures, blocks)."""
        return [(figures, list(blocks)) for figures, blocks in groupby(self.blocks, lambda b: b.kind == "figure")]


class Report:
    """Collects what a report shows, from top to bottom; `write` makes the file.

    What is added belongs to the section begun last. Figures (pictures, clips, charts) added one after the other stand
    side by side where the window is wide enough. All texts are shown literally.
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self._title = title
        self._subtitle = subtitle
        self._sections: list[_Section] = []

    def section(self, title: str) -> None:
        """Begin a section."""
        self._sections.append(_Section(title))

    def text(self, text: str) -> None:
        """Add paragraphs; empty lines part them."""
        self._add("text", paragraphs=[part.strip() for part in text.split("\n\n") if part.strip()])

    def key_figures(self, figures: Mapping[str, Any], notes: Mapping[str, str] | None = None) -> None:
        """Add a row of big numbers.

        Args:
            figures: {label: value}; a value is formatted as by :func:`value_text`.
            notes: {label: small print under its value}, e.g. an interval or a unit.

        Raises:
            ConfigError: a note to a figure that is not there.
        """
        notes = notes or {}
        unknown = sorted(set(notes) - set(figures))
        if unknown:
            raise ConfigError(f"report: notes to {', '.join(unknown)}, allowed are {', '.join(figures)}")
        self._add("key_figures", figures=[(k, value_text(v), notes.get(k, "")) for k, v in figures.items()])

    def table(self, rows: Sequence[Mapping[str, Any]], caption: str = "") -> None:
        """Add a table. Its columns are the keys of all rows in order of appearance; a missing value reads `n/a`."""
        columns = list(dict.fromkeys(key for row in rows for key in row))
        cells = [[value_text(row.get(column)) for column in columns] for row in rows]
        numeric = [all(_is_number_or_missing(row.get(column)) for row in rows) for column in columns]
        self._add("table", columns=columns, rows=cells, numeric=numeric, caption=caption)

    def picture(self, image: np.ndarray | bytes, caption: str = "", wide: bool = False) -> None:
        """Add a picture.

        Args:
            image: uint8 (H, W, 3) in RGB, or the bytes of a PNG file.
            caption: Text below it.
            wide: Over the whole width instead of beside its neighbours.

        Raises:
            ConfigError: neither of the two.
        """
        content = image if isinstance(image, bytes) else _png(image)
        if not content.startswith(_PNG_SIGNATURE):
            raise ConfigError(
                f"report: picture {caption!r} is not a PNG file; give PNG bytes or a uint8 (H, W, 3) array"
            )
        small = Image.open(BytesIO(content)).width < _ENLARGED_BELOW_PX
        self._add_figure("picture", _data_uri("image/png", content), caption, wide, small=small)

    def chart(self, svg: str, caption: str = "", wide: bool = False) -> None:
        """Add a chart made by `charts.svg`.

        Raises:
            ConfigError: the text is no SVG.
        """
        if "<svg" not in svg:
            raise ConfigError(f"report: chart {caption!r} is not SVG; charts.svg makes it of a figure")
        # As a picture of its own, identifiers of several charts cannot meet and nothing in it can run.
        self._add_figure("chart", _data_uri("image/svg+xml", svg.encode()), caption, wide)

    def clip(self, clip: Path | str | bytes, caption: str = "", wide: bool = False) -> None:
        """Add a clip that plays silently over and over.

        Args:
            clip: An MP4 file (`clips.write_clip`) or its bytes.
            caption: Text below it.
            wide: Over the whole width instead of beside its neighbours.

        Raises:
            ConfigError: the file cannot be read or is no MP4.
        """
        content = clip if isinstance(clip, bytes) else _read(Path(clip))
        if content[4:8] != b"ftyp":
            raise ConfigError(f"report: clip {caption or clip!r} is not an MP4 file; clips.write_clip makes one")
        self._add_figure("clip", _data_uri("video/mp4", content), caption, wide)

    def data(self, title: str, content: Any) -> None:
        """Add JSON-able content under a title that unfolds it.

        Raises:
            ConfigError: it cannot be written as JSON.
        """
        try:
            text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"report: data {title!r} cannot be written as JSON ({error})") from error
        self._add("data", title=title, text=text)

    def html(self) -> str:
        """Return the whole report as HTML."""
        return _template().render(
            title=self._title,
            subtitle=self._subtitle,
            sections=self._sections,
            colours={name.lower(): value for name, value in vars(palette).items() if name.isupper()},
            version=r2s2r.__version__,
        )

    def write(self, path: Path | str) -> Path:
        """Write the report to `path`, replaced whole, and return the path.

        Raises:
            ConfigError: the folder cannot be written.
        """
        path = Path(path)
        content = self.html()
        with whole_file(path) as aside:
            aside.write_text(content, encoding="utf-8")
        return path

    def _add(self, kind: str, **content: Any) -> None:
        if not self._sections:
            raise ConfigError(f"report: {kind} before any section; call section(title) first")
        self._sections[-1].blocks.append(_Block(kind, content))

    def _add_figure(self, medium: str, uri: str, caption: str, wide: bool, small: bool = False) -> None:
        self._add("figure", medium=medium, uri=uri, caption=caption, wide=wide, small=small)


def value_text(value: Any) -> str:
    """Return a value as a report shows it: numbers with three digits and thousands parted, None and NaN as `n/a`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOT_AVAILABLE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if 999.5 <= abs(value) < 1e12 else f"{value:#.3g}".removesuffix(".")
    return str(value)


def _is_number_or_missing(value: Any) -> bool:
    return value is None or (isinstance(value, int | float | np.number) and not isinstance(value, bool))


def _png(image: np.ndarray) -> bytes:
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[-1] != 3 or image.size == 0:
        raise ConfigError(f"report: picture is {image.dtype} of shape {image.shape}, allowed is uint8 (H, W, 3) in RGB")
    content = BytesIO()
    Image.fromarray(image).save(content, format="PNG", optimize=True)
    return content.getvalue()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"report: clip {path} cannot be read ({error.strerror})") from error


def _data_uri(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("r2s2r.evaluation"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja")
