"""A folder that all workers see: on this machine or by its URL, gone when it is not needed any more."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from evalkit.engines.shared import shared_folder
from evalkit.errors import StorageError, UsageError

pytest.importorskip("fsspec", reason="needs the extra dask")


@pytest.mark.parametrize(
    "where", [None, "{folder}", "{folder}/new/one", "file://{folder}/url", "memory://a/b"]
)
def test_what_was_put_is_read_and_leaves_nothing(tmp_path: Path, where: str | None) -> None:
    with shared_folder(where and where.format(folder=tmp_path)) as folder:
        folder.put("one", b"1")
        folder.put("one", b"2")
        with folder.open("one") as file:
            assert file.read() == b"2"
        with pytest.raises(StorageError, match="nothing"):
            folder.open("nothing")
    with pytest.raises(StorageError):
        folder.open("one")
    assert not [*tmp_path.rglob(".parts-*")]


def test_two_runs_at_once_have_a_folder_each(tmp_path: Path) -> None:
    with shared_folder(f"file://{tmp_path}") as one, shared_folder(f"file://{tmp_path}") as other:
        one.put("name", b"1")
        with pytest.raises(StorageError):
            other.open("name")


def test_it_is_gone_where_the_work_failed(tmp_path: Path) -> None:
    with contextlib.suppress(StorageError), shared_folder(f"file://{tmp_path}") as folder:
        folder.put("name", b"1")
        folder.open("another")
    assert not [*tmp_path.iterdir()]


def test_a_url_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="nowhere://x"), shared_folder("nowhere://x"):
        pass
