import hashlib
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from r2s2r.contracts.errors import ConfigError
from r2s2r.contracts.files import file_sha256, whole_file, writable_folder, write_json


def test_file_appears_whole_and_nothing_is_left_beside_it(tmp_path):
    target = tmp_path / "new" / "folder" / "data.bin"
    with whole_file(target) as aside:
        aside.write_bytes(b"whole")
        assert aside.suffix == ".bin"
        assert not target.exists()
    assert target.read_bytes() == b"whole"
    assert os.listdir(target.parent) == ["data.bin"]


def test_failure_keeps_the_old_file_and_cleans_up(tmp_path):
    target = tmp_path / "data.bin"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="half way"), whole_file(target) as aside:
        aside.write_bytes(b"ne")
        raise RuntimeError("half way")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["data.bin"]


def test_killed_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "data.bin"
    target.write_bytes(b"old")
    script = (
        "import os, signal, sys\n"
        "from r2s2r.contracts.files import whole_file\n"
        "with whole_file(sys.argv[1]) as aside:\n"
        "    aside.write_bytes(b'ne')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(target)])
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_permissions_follow_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        with whole_file(tmp_path / "data.bin") as aside:
            aside.write_bytes(b"")
        assert os.umask(umask) == umask  # reading the mask has put it back
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "data.bin").stat().st_mode) == mode


def test_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match=r"folder '.*/file/out' cannot be written: .*; give a writable one"):
        writable_folder(tmp_path / "file" / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigError, match="cannot be written"):
        writable_folder(tmp_path)


def test_json_is_sorted_so_that_equal_content_is_equal_bytes(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": [1.5, None]})
    write_json(tmp_path / "b.json", {"a": [1.5, None], "b": 1})
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [1.5, None], "b": 1}


def test_sha256_of_a_known_message(tmp_path):
    (tmp_path / "abc").write_bytes(b"abc")
    # FIPS 180-4, example of the one-block message "abc".
    assert file_sha256(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    large = bytes(range(256)) * 5000  # more than one read buffer
    (tmp_path / "large").write_bytes(large)
    assert file_sha256(tmp_path / "large") == hashlib.sha256(large).hexdigest()
