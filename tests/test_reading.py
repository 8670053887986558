"""The one way a file is opened: regular files within a limit, and nothing else, without waiting."""

import os
import re
import socket
from pathlib import Path

import pytest

import sugenet
from sugenet.errors import FileError
from sugenet.reading import open_file, open_text, read_file


def test_a_file_within_the_limit_is_read_whole(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "empty").touch()
    assert read_file(tmp_path / "a", 3) == read_file(tmp_path / "link", 3) == b"abc"
    assert read_file(tmp_path / "empty", 0) == b""
    with open_file(tmp_path / "a", 3) as stream:
        assert (stream.read(1), stream.read(), stream.read()) == (b"a", b"bc", b"")
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\r\nb")
    with open_text(tmp_path / "text", 9) as text:
        assert list(text) == ["a\r\n", "b"]


def test_a_file_beyond_the_limit_is_refused_before_it_is_read(tmp_path):
    with open(tmp_path / "a", "wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(FileError, match="it has more than 1,000 bytes, the limit for such a file"):
        open_file(tmp_path / "a", 1000)


def test_a_file_that_grows_is_refused_at_the_limit(tmp_path):
    (tmp_path / "a").write_bytes(bytes(10))
    for read in (lambda stream: stream.read(), lambda stream: [stream.read(5) for _ in range(9)]):
        (tmp_path / "a").write_bytes(bytes(10))
        with open_file(tmp_path / "a", 20) as stream:
            with open(tmp_path / "a", "ab") as other:
                other.write(bytes(30))
            with pytest.raises(FileError, match="more than 20 bytes"):
                read(stream)


def test_a_file_may_be_longer_than_it_says(tmp_path):
    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc")
    assert os.stat("/proc/self/status").st_size == 0
    assert read_file("/proc/self/status", 1 << 20).endswith(b"\n")
    with pytest.raises(FileError, match="more than 100 bytes"):
        read_file("/proc/self/status", 100)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    here = os.getcwd()
    os.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    os.chdir(here)
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, kind in (("pipe", "a pipe"), ("zero", "a device")):
        with pytest.raises(FileError, match=f"it is not a file but {kind}. Give the path of a file."):
            open_file(tmp_path / name, 100)
    for name, words in (("socket", "No such device"), (".", "directory"), ("missing", "No such file")):
        with pytest.raises(OSError, match=words):  # the system refuses these itself
            open_file(tmp_path / name, 100)


SOURCE = Path(sugenet.__file__).parent
OPENS = re.compile(
    r"(?<![\w.])open\(|os\.open\(|\.open\(\"r|read_bytes\(|read_text\(|np\.load\(|torch\.load\(|onnx\.load\("
    r"|(?:ZipFile|Image\.open|h5py\.File|loadtxt)\((?!stream|packed|lines)"
)
ELSEWHERE = {
    "compiling.py",  # what the system says of its memory
    "nn/arrays.py",  # what the system says of its memory
    "cli/output.py",  # /dev/null
    "data/models.py",  # shipped
    "files.py",  # for writing
    "io/hdf5.py",  # by path, after `check_file`, in a process whose memory is limited
    "reading.py",
    "sweeps/store.py",  # SQLite reads the file; its head is looked at first
    "web/bundle.py",  # shipped
    "web/widget.py",  # shipped
}


def test_only_one_file_opens_files_for_reading():
    found = set()
    for path in SOURCE.rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if ">>>" not in line and "... " not in line]
        if any(OPENS.search(line) and "def open(" not in line for line in lines):
            found.add(path.relative_to(SOURCE).as_posix())
    assert found == ELSEWHERE


@pytest.mark.parametrize(
    "line", ['open(p, "rb")', "p.read_bytes()", "np.load(p)", "h5py.File(p)", "ZipFile(p)"]
)
def test_an_opened_file_is_seen(line):
    assert OPENS.search(line)
