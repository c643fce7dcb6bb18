"""Bytes reach the disk whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evalkit import writing
from evalkit.contracts.values import Frozen
from evalkit.errors import Locked, StorageError

HOLD = """
import sys, time
from pathlib import Path
from evalkit import writing
from evalkit.contracts.values import Frozen
with writing.lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


class Named(Frozen):
    """The least that a record can be."""

    name: str


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_replace_makes_private_files_in_private_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "report.md"
    writing.replace(path, b"one")
    assert path.read_bytes() == b"one"
    assert (mode(path), mode(path.parent), mode(path.parent.parent)) == (0o600, 0o700, 0o700)


def test_replace_keeps_the_mode_and_follows_the_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    writing.replace(link, b"new")
    assert link.is_symlink()
    assert (real.read_bytes(), mode(real)) == (b"new", 0o640)


def test_links_in_a_circle_are_refused_with_words(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(StorageError, match="found links in a circle"):
        writing.replace(tmp_path / "a", b"new")


@pytest.mark.parametrize("linked", [False, True], ids=["itself", "through a link"])
def test_replace_writes_into_a_fifo_and_leaves_it_one(tmp_path: Path, *, linked: bool) -> None:
    fifo, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(fifo)
    link.symlink_to(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        writing.replace(link if linked else fifo, b"verdict")
        assert os.read(reader, 100) == b"verdict"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert listing(tmp_path) == ["link", "pipe"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_replace_leaves_a_device_one(tmp_path: Path) -> None:
    """A null device of our own: bytes go into it, and it stays."""
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.close(os.open(device, os.O_WRONLY))
    except PermissionError:
        pytest.skip("no devices here")
    writing.replace(device, b"verdict")
    assert stat.S_ISCHR(device.lstat().st_mode)


def test_replace_refuses_a_folder(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(StorageError, match="found a folder, wanted a file"):
        writing.replace(tmp_path / "f", b"1")
    assert listing(tmp_path) == ["f"]


def test_replace_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    for data in (b"1", b"", b"x" * 100_000):
        writing.replace(tmp_path / "f", data)
        assert (tmp_path / "f").read_bytes() == data
        assert listing(tmp_path) == ["f"]


def test_replace_sweeps_the_drafts_of_the_dead_and_spares_other_files(tmp_path: Path) -> None:
    (tmp_path / ".f[1].0a1b2c.tmp").write_bytes(b"half")
    (tmp_path / ".f1.0a1b2c.tmp").write_bytes(b"somebody else's")
    writing.replace(tmp_path / "f[1]", b"whole")
    assert listing(tmp_path) == [".f1.0a1b2c.tmp", "f[1]"]


def test_replace_from_many_threads_leaves_one_whole_file(tmp_path: Path) -> None:
    """Sweeping must not take away the draft of a living writer."""
    contents = [bytes([65 + n]) * 20_000 for n in range(8)]
    failures: list[BaseException] = []

    def write(data: bytes) -> None:
        try:
            for _ in range(10):
                writing.replace(tmp_path / "f", data)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=write, args=(data,)) for data in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (tmp_path / "f").read_bytes() in contents
    assert listing(tmp_path) == ["f"]


def test_a_refused_replacement_leaves_the_old_file(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes the kernel refuse bytes as a full disk does."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StorageError, match="the disk refused") as caught:
            writing.replace(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.exit_code == 74
    assert path.read_bytes() == b"old"
    assert listing(tmp_path) == ["f"]


@pytest.mark.parametrize("limit", range(41))
def test_a_full_disk_leaves_exactly_the_acknowledged_lines(tmp_path: Path, limit: int) -> None:
    """At every size the disk can stop at, short writes included, the file ends in a whole line."""
    path = tmp_path / "f"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    acknowledged: list[bytes] = []

    def fill() -> None:
        for n in range(100):
            file.append(b'{"n": %d}\n' % n)
            acknowledged.append(b'{"n": %d}\n' % n)

    with writing.LineFile(path, new=True) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with pytest.raises(StorageError):
                fill()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"".join(acknowledged)
    assert len(acknowledged) == limit // len(b'{"n": 0}\n')


def test_a_full_device_is_a_storage_error() -> None:
    with (
        writing.LineFile(Path("/dev/full"), new=False) as file,
        pytest.raises(StorageError, match="No space left"),
    ):
        file.append(b"{}\n")


@pytest.mark.parametrize("most", [1, 2, 7, 1000])
def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A kernel may take fewer bytes than it was given; not one may be lost or written twice."""
    take = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: take(descriptor, data[:most]))
    lines = ['{"问": "退货"}\n'.encode(), b"{}\n", b"x" * 500 + b"\n"]
    with writing.LineFile(tmp_path / "f", new=True) as file:
        for line in lines:
            file.append(line)
    assert (tmp_path / "f").read_bytes() == b"".join(lines)


def test_a_line_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take, taken = os.write, []

    def write(descriptor: int, data: bytes) -> int:
        taken.append(take(descriptor, data))
        return taken[-1]

    monkeypatch.setattr(os, "write", write)
    with writing.LineFile(tmp_path / "f", new=True) as file:
        file.append(b"x" * 300_000 + b"\n")
    assert taken == [300_001]


def test_a_new_line_file_is_private_and_must_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with writing.LineFile(path, new=True) as file:
        file.append(b"{}\n")
        file.sync()
    assert mode(path) == 0o600
    with pytest.raises(FileExistsError):
        writing.LineFile(path, new=True)
    with writing.LineFile(path, new=False) as file:
        file.append(b"[]\n")
    assert path.read_bytes() == b"{}\n[]\n"


def test_a_line_file_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        writing.LineFile(tmp_path / "link", new=False)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("before", "after", "fragment"),
    [
        pytest.param(b"", b"", None, id="empty"),
        pytest.param(b"{}\n", b"{}\n", None, id="whole"),
        pytest.param(b'{}\n{"name": "a"}', b'{}\n{"name": "a"}\n', None, id="newline missing"),
        pytest.param(b'{"name": "a"}', b'{"name": "a"}\n', None, id="newline of the only line missing"),
        pytest.param(b'{}\n{"a": 1', b"{}\n", b'{"a": 1\n', id="fragment"),
        pytest.param(b'{"a', b"", b'{"a\n', id="fragment alone"),
        pytest.param(
            '{}\n{"问": "如'.encode()[:-1], b"{}\n", '{"问": "如'.encode()[:-1] + b"\n", id="half a character"
        ),
        pytest.param(b"{}\n\x00\x00\x00", b"{}\n", b"\x00\x00\x00\n", id="zeros after a power cut"),
        pytest.param(b"{}\n{}", b"{}\n", b"{}\n", id="an object that is no record"),
        pytest.param(b"{}\n12", b"{}\n", b"12\n", id="JSON but no object"),
    ],
)
def test_a_torn_tail_is_moved_aside(
    tmp_path: Path, before: bytes, after: bytes, fragment: bytes | None
) -> None:
    path, torn = tmp_path / "f.jsonl", tmp_path / "f.torn"
    path.write_bytes(before)
    assert writing.mend(path, torn=torn, model=Named) == (len(fragment) - 1 if fragment else 0)
    assert path.read_bytes() == after
    assert (torn.read_bytes() if torn.exists() else None) == fragment


def test_fragments_of_several_crashes_are_all_kept(tmp_path: Path) -> None:
    path, torn = tmp_path / "f.jsonl", tmp_path / "f.torn"
    for tail in (b"{1", b"{2"):
        path.write_bytes(b"{}\n" + tail)
        writing.mend(path, torn=torn, model=Named)
    assert torn.read_bytes() == b"{1\n{2\n"


def test_a_second_writer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "r.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == "held\n"
        with pytest.raises(Locked, match=rf"process {child.pid} is writing") as caught, writing.lock(path):
            pass
        assert caught.value.exit_code == 75
        child.send_signal(signal.SIGKILL)
        child.wait()
    with writing.lock(path):
        assert path.read_text() == f"{os.getpid()}\n"
    assert not path.exists()


def test_one_process_cannot_hold_a_lock_twice(tmp_path: Path) -> None:
    with writing.lock(tmp_path / "l"), pytest.raises(Locked), writing.lock(tmp_path / "l"):
        pass


def test_the_lock_admits_one_at_a_time(tmp_path: Path) -> None:
    """Threads that take turns never overlap, though the lock file comes and goes."""
    inside: list[int] = []
    most: list[int] = []

    def turn() -> None:
        done = 0
        while done < 20:
            try:
                with writing.lock(tmp_path / "l"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
                    done += 1
            except Locked:
                time.sleep(0.0005)

    threads = [threading.Thread(target=turn) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 120
    assert max(most) == 1
