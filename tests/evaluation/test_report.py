import base64
import os
import re
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from r2s2r.contracts.errors import ConfigError
from r2s2r.evaluation.charts import rate_by_group, svg
from r2s2r.evaluation.clips import write_clip
from r2s2r.evaluation.report import Report, value_text

VOID = {"meta", "img", "br", "link"}


class _Page(HTMLParser):
    """Collects elements and visible text, and checks that every element is closed in order."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.seen = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style" and data.strip():
            self.seen.append(data.strip())

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def _embedded(uri, media_type):
    head, _, content = uri.partition(",")
    assert head == f"data:{media_type};base64"
    return base64.b64decode(content, validate=True)


@pytest.fixture
def picture(rng):
    return rng.integers(0, 255, (20, 30, 3), dtype=np.uint8)


@pytest.fixture
def clip(tmp_path, picture):
    return write_clip(tmp_path / "clip.mp4", [picture, picture], fps=30)


@pytest.fixture
def full(picture, clip):
    """A report with one of everything."""
    report = Report("Run & test", "seed 7")
    report.section("Result")
    report.key_figures({"attempts": 2560, "yield": None}, {"yield": "95 %: n/a"})
    report.text("First.\n\nSecond.")
    report.chart(svg(rate_by_group({"box": (4, 5)})), "Rates")
    report.picture(picture, "Camera", wide=True)
    report.clip(clip, "Clip")
    report.section("Data set")
    report.table([{"class": "box", "frames": 12}, {"class": "round", "seconds": 0.5}], "Episodes")
    report.data("Provenance", {"seed": 7, "note": "</pre><script>"})
    report.section("End")
    return report


def test_pictures_clips_and_charts_are_inside_unchanged(full, picture, clip):
    page = _Page(full.html())
    chart, camera = page.all("img")
    (video,) = page.all("video")
    assert _embedded(chart["src"], "image/svg+xml").decode() == svg(rate_by_group({"box": (4, 5)}))
    assert (np.asarray(Image.open(BytesIO(_embedded(camera["src"], "image/png")))) == picture).all()
    assert _embedded(video["src"], "video/mp4") == clip.read_bytes()
    assert {"controls", "loop", "muted", "autoplay"} <= set(video)
    assert (chart["alt"], camera["alt"], video["aria-label"]) == ("Rates", "Camera", "Clip")


def test_nothing_is_fetched_and_nothing_runs(full):
    html = full.html()
    page = _Page(html)
    addresses = [value for _, attrs in page.elements for key, value in attrs.items() if key in ("src", "href")]
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert not page.all("script") and not page.all("link")
    assert not [key for _, attrs in page.elements for key in attrs if key.startswith("on")]
    assert not re.search(r"url\(|@import|https?:", html)
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("add", ["title", "section", "text", "key", "note", "cell", "column", "caption", "data"])
def test_every_text_is_shown_literally(add, picture):
    evil = '<script>alert("&amp;")</script>\'"'
    report = Report(evil if add == "title" else "t")
    report.section(evil if add == "section" else "s")
    if add == "text":
        report.text(evil)
    elif add in ("key", "note"):
        report.key_figures({"k": evil} if add == "key" else {"k": 1}, {"k": evil} if add == "note" else None)
    elif add in ("cell", "column"):
        report.table([{"c": evil} if add == "cell" else {evil: 1}])
    elif add == "caption":
        report.picture(picture, evil)
    elif add == "data":
        report.data(evil, {"a": "b"})
    page = _Page(report.html())
    assert not page.all("script")
    assert evil in page.seen


def test_sections_are_linked_and_neighbouring_figures_share_a_row(full):
    page = _Page(full.html())
    targets = [attrs["href"] for attrs in page.all("a")]
    assert targets == [f"#{attrs['id']}" for attrs in page.all("section")] == ["#section-1", "#section-2", "#section-3"]
    assert [attrs["class"] for attrs in page.all("div") if attrs.get("class") == "figures"] == ["figures"]
    assert [attrs.get("class") for attrs in page.all("figure")] == [None, "wide", None]


def test_missing_values_read_n_a(full):
    seen = _Page(full.html()).seen
    start = seen.index("Episodes") + 1
    header_and_rows = ["class", "frames", "seconds", "box", "12", "n/a", "round", "n/a", "0.500"]
    assert seen[start : start + 9] == header_and_rows
    assert seen[seen.index("yield") + 1] == "n/a"


def test_b48_report_of_an_empty_run_is_written(tmp_path):
    report = Report("nothing tried")
    report.section("Result")
    report.key_figures({"attempts": 0, "successes": 0, "yield": None})
    report.chart(svg(rate_by_group({"all": (0, 0)})))
    report.table([])
    seen = _Page(report.write(tmp_path / "report.html").read_text(encoding="utf-8")).seen
    assert "n/a" in seen and "no rows" in seen


def test_report_without_sections_is_a_page():
    assert "only a title" in _Page(Report("only a title").html()).seen


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"),
        (float("nan"), "n/a"),
        (np.float32("nan"), "n/a"),
        (True, "yes"),
        (np.bool_(False), "no"),
        (1234567, "1,234,567"),
        (np.int64(-1024), "-1,024"),
        (0.0, "0.00"),
        (0.5, "0.500"),
        (123.4, "123"),
        (999.4, "999"),
        (999.6, "1,000"),
        (-12345.6, "-12,346"),
        (1.5e-7, "1.50e-07"),
        (3e14, "3.00e+14"),
        (float("inf"), "inf"),
        ("as it is", "as it is"),
        ([1, 2], "[1, 2]"),
    ],
)
def test_values_are_formatted(value, text):
    assert value_text(value) == text


def test_file_appears_whole_and_two_runs_write_the_same(tmp_path, full):
    target = tmp_path / "out" / "report.html"
    assert full.write(target) == target
    assert os.listdir(target.parent) == ["report.html"]
    first = target.read_bytes()
    assert full.write(target).read_bytes() == first
    assert first.startswith(b"<!doctype html>")


def test_a_demo_s_pictures_and_clips_stay_small(tmp_path, rng):
    """A noisy VGA grid clip of 10 s and four pictures: far below the 15 MB of a report that is passed around."""
    ground = np.kron(rng.integers(60, 200, (15, 20, 3)), np.ones((32, 32, 1))).astype(np.uint8)
    frames = (np.roll(ground, 2 * t, axis=1) + rng.integers(0, 4, ground.shape, dtype=np.uint8) for t in range(60))
    clip = write_clip(tmp_path / "grid.mp4", frames, fps=30)
    assert clip.stat().st_size * 5 < 6e6
    report = Report("size")
    report.section("s")
    for _ in range(4):
        report.picture(ground)
    report.clip(clip)
    assert report.write(tmp_path / "report.html").stat().st_size < 3e6


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((4, 4, 3)), r"picture is float64 of shape \(4, 4, 3\), allowed is uint8 \(H, W, 3\)"),
        (np.zeros((4, 4), np.uint8), r"picture is uint8 of shape \(4, 4\)"),
        (np.zeros((0, 4, 3), np.uint8), r"picture is uint8 of shape \(0, 4, 3\)"),
        (b"\xff\xd8\xff a JPEG", "picture 'Head' is not a PNG file"),
    ],
)
def test_wrong_pictures_are_refused(image, message):
    report = Report("t")
    report.section("s")
    with pytest.raises(ConfigError, match=message):
        report.picture(image, "Head")


def test_wrong_clips_charts_data_and_notes_are_refused(tmp_path):
    report = Report("t")
    report.section("s")
    (tmp_path / "clip.mp4").write_bytes(b"something else")
    with pytest.raises(ConfigError, match="clip 'Grid' is not an MP4 file"):
        report.clip(tmp_path / "clip.mp4", "Grid")
    with pytest.raises(ConfigError, match=r"clip .*none\.mp4 cannot be read \(No such file"):
        report.clip(tmp_path / "none.mp4")
    with pytest.raises(ConfigError, match="chart 'Rates' is not SVG"):
        report.chart("a path.svg", "Rates")
    with pytest.raises(ConfigError, match="data 'Provenance' cannot be written as JSON"):
        report.data("Provenance", {"path": object()})
    with pytest.raises(ConfigError, match="notes to yeild, allowed are yield"):
        report.key_figures({"yield": 1}, {"yeild": "typing error"})


def test_content_before_any_section_is_refused():
    with pytest.raises(ConfigError, match=r"text before any section; call section\(title\) first"):
        Report("t").text("lost")


def test_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="cannot be written"):
        Report("t").write(tmp_path / "file" / "report.html")
