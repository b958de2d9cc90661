import os

import av
import numpy as np
import pytest

from r2s2r.contracts.errors import ConfigError, MissingDependencyError, RecordingError
from r2s2r.evaluation.clips import border, grid, label, read_clip, write_clip

GREEN, ORANGE = (0, 158, 115), (213, 94, 0)


def _moving_square(steps=10, height=48, width=64):
    """A square on a plain ground, moving by 4 px a frame."""
    frames = np.full((steps, height, width, 3), GREEN, dtype=np.uint8)
    for t in range(steps):
        frames[t, 16:32, 4 * t : 4 * t + 16] = ORANGE
    return frames


def test_clip_is_read_back_as_written(tmp_path):
    frames = _moving_square()
    path = write_clip(tmp_path / "new" / "clip.mp4", frames, fps=30)
    read, fps = read_clip(path)
    assert fps == 30.0
    assert read.shape == frames.shape
    error = np.abs(read.astype(int) - frames)
    # Plain areas: 8-bit YCbCr of limited range has steps of up to 255/219*1.86 = 2.2 levels. Edges blur in colour.
    assert np.median(error) <= 2
    assert (error <= 4).all(axis=-1).mean() > 0.85


def test_colours_are_those_of_the_standard_that_the_file_states(tmp_path):
    """Without the tag, players take small pictures for BT.601 and the green of success turns 19 levels too bright."""
    path = write_clip(tmp_path / "clip.mp4", _moving_square(), fps=30)
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        assert (context.colorspace, context.color_primaries, context.color_trc, context.color_range) == (1, 1, 1, 1)
        luma = next(container.decode(video=0)).to_ndarray()[2, 2]
    red, green, blue = np.array(GREEN) / 255
    assert luma == pytest.approx(16 + 219 * (0.2126 * red + 0.7152 * green + 0.0722 * blue), abs=1.5)


def test_file_plays_in_every_browser_and_before_it_is_loaded(tmp_path):
    path = write_clip(tmp_path / "clip.mp4", _moving_square(), fps=30)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert "creation_time" not in container.metadata
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_same_frames_give_the_same_bytes_however_they_come(tmp_path):
    frames = _moving_square()
    whole = write_clip(tmp_path / "whole.mp4", frames, fps=30)
    streamed = write_clip(tmp_path / "streamed.mp4", (frame for frame in frames), fps=30)
    assert whole.read_bytes() == streamed.read_bytes()


@pytest.mark.parametrize("fps", [7.5, 30000 / 1001, 120])
def test_frame_rate_is_kept(tmp_path, fps):
    assert read_clip(write_clip(tmp_path / "clip.mp4", _moving_square(3), fps))[1] == pytest.approx(fps, rel=1e-6)


@pytest.mark.parametrize(("height", "width"), [(33, 47), (1, 1), (16, 31)])
def test_odd_sizes_are_padded_by_their_edge(tmp_path, height, width):
    frames = np.full((2, height, width, 3), 200, dtype=np.uint8)
    read, _ = read_clip(write_clip(tmp_path / "clip.mp4", frames, fps=10))
    assert read.shape == (2, height + height % 2, width + width % 2, 3)
    assert np.abs(read.astype(int) - 200).max() <= 4


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([], "no frames, at least one"),
        (np.zeros((0, 4, 4, 3), np.uint8), "no frames, at least one"),
        (np.zeros((2, 4, 4, 3)), r"frame 0: float64 of shape \(4, 4, 3\), allowed is uint8 \(H, W, 3\)"),
        (np.zeros((2, 4, 4), np.uint8), r"frame 0: uint8 of shape \(4, 4\), allowed is uint8 \(H, W, 3\)"),
        (np.zeros((2, 4, 4, 4), np.uint8), r"frame 0: uint8 of shape \(4, 4, 4\), allowed is uint8 \(H, W, 3\)"),
        (np.zeros((2, 0, 4, 3), np.uint8), "frame 0: .*not empty"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 6, 3), np.uint8)], r"frame 1 has shape \(4, 6, 3\), frame 0"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 3))], "frame 1: float64"),
    ],
)
def test_wrong_frames_are_refused_and_the_old_file_kept(tmp_path, frames, message):
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"old")
    with pytest.raises(ConfigError, match=message):
        write_clip(path, frames, fps=30)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["clip.mp4"]


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf")])
def test_wrong_frame_rate_is_refused(tmp_path, fps):
    with pytest.raises(ConfigError, match=rf"clip\.mp4: fps is {fps}, allowed are positive numbers"):
        write_clip(tmp_path / "clip.mp4", _moving_square(1), fps)


def test_missing_encoder_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("r2s2r.evaluation.clips._ENCODER", "libx999")
    with pytest.raises(MissingDependencyError, match="no libx999 encoder"):
        write_clip(tmp_path / "clip.mp4", _moving_square(1), fps=30)


@pytest.mark.parametrize("content", [None, b"", b"not a clip", "cut"])
def test_missing_or_damaged_file_is_told_in_one_line(tmp_path, content):
    path = tmp_path / "clip.mp4"
    if content == "cut":
        whole = write_clip(path, _moving_square(), fps=30).read_bytes()
        content = whole[: len(whole) // 4]
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"clip\.mp4: (missing, damaged or no clip|no pictures)"):
        read_clip(path)


def test_grid_places_clips_row_by_row_with_gaps_between_only(rng):
    clips = rng.integers(0, 255, (5, 2, 4, 6, 3), dtype=np.uint8)
    sheet = grid(clips, columns=3, gap=1, background=(1, 2, 3))
    assert sheet.shape == (2, 2 * 4 + 1, 3 * 6 + 2, 3)
    for index, clip in enumerate(clips):
        row, column = divmod(index, 3)
        assert (sheet[:, 5 * row : 5 * row + 4, 7 * column : 7 * column + 6] == clip).all()
    assert (sheet[:, 4] == (1, 2, 3)).all()
    assert (sheet[:, :, [6, 13]] == (1, 2, 3)).all()
    assert (sheet[:, 5:, 14:] == (1, 2, 3)).all()


def test_grid_of_few_clips_is_no_wider_than_they_are(rng):
    clip = rng.integers(0, 255, (1, 2, 4, 6, 3), dtype=np.uint8)
    assert (grid(clip, columns=4) == clip[0]).all()


@pytest.mark.parametrize(("columns", "gap"), [(0, 1), (2, -1)])
def test_grid_out_of_range_is_refused(columns, gap):
    with pytest.raises(ConfigError, match=rf"columns {columns} and gap {gap}, allowed"):
        grid(np.zeros((2, 1, 4, 4, 3), np.uint8), columns, gap)


def test_grid_without_clips_is_refused():
    with pytest.raises(ConfigError, match=r"grid: uint8 of shape \(0, 1, 4, 4, 3\)"):
        grid(np.zeros((0, 1, 4, 4, 3), np.uint8), 2)


def test_border_paints_the_rim_of_every_picture_and_nothing_else(rng):
    frames = rng.integers(0, 200, (2, 3, 10, 12, 3), dtype=np.uint8)
    before = frames.copy()
    framed = border(frames, ORANGE, width=2)
    assert (framed[..., 2:-2, 2:-2, :] == frames[..., 2:-2, 2:-2, :]).all()
    painted = (framed == ORANGE).all(axis=-1)
    assert painted.sum() == 2 * 3 * (10 * 12 - 6 * 8)
    assert (frames == before).all()


@pytest.mark.parametrize("width", [0, 6])
def test_border_wider_than_half_the_picture_is_refused(width):
    with pytest.raises(ConfigError, match=rf"border: width {width} in pictures of \(10, 12\)"):
        border(np.zeros((10, 12, 3), np.uint8), ORANGE, width)


def test_label_writes_white_on_a_dark_strip_in_the_lower_left_corner():
    frames = np.full((2, 120, 160, 3), 150, dtype=np.uint8)
    labelled = label(frames, ["box 3", ""])
    assert (labelled[1] == frames[1]).all()
    rows, columns = np.nonzero((labelled[0] != 150).any(axis=-1))
    assert columns.min() == 0 and rows.max() == 119
    assert rows.min() > 90 and columns.max() < 80
    strip = labelled[0, rows.min() :, : columns.max()]
    assert strip.min() == 50
    assert strip.max() > 200
    assert (frames == 150).all()


def test_one_text_labels_the_whole_clip_and_a_long_one_shrinks_into_the_picture():
    frames = np.full((3, 120, 160, 3), 150, dtype=np.uint8)
    labelled = label(frames, "a caption that would not fit at the usual size")
    assert (labelled[0] == labelled[2]).all()
    letters = labelled[0].max(axis=-1) > 180
    assert letters[:, :4].sum() < 3 and letters[:, 150:].sum() < letters.sum() / 10


@pytest.mark.parametrize("size", [1, 5, 12])
def test_label_on_a_tiny_picture_is_cut_not_refused(size):
    assert label(np.zeros((1, size, size, 3), np.uint8), "env 12").shape == (1, size, size, 3)


def test_another_number_of_texts_is_refused():
    with pytest.raises(ConfigError, match="label: 2 texts for 3 pictures"):
        label(np.zeros((3, 8, 8, 3), np.uint8), ["a", "b"])
