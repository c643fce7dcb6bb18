"""Work over several processes: results in order, deaths told and made good once, errors as they are."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalkit.engines.pool import mapped, reduced
from evalkit.errors import BadData, Fault, Incomplete


@dataclass(frozen=True)
class Work:
    """Squares of numbers; the process of the number `dies` is killed, once where there is a folder to note it in."""

    dies: int = -1
    noted: Path | None = None
    refused: int = -1

    def __call__(self, number: int) -> int:
        if number == self.refused:
            raise BadData([Fault("run.jsonl", number, "line", "nothing", "something")])
        if number == self.dies and not (self.noted and self.noted.exists()):
            if self.noted:
                self.noted.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_stand_in_the_order_of_the_items(workers: int) -> None:
    assert list(mapped(Work(), range(30), workers=workers)) == [n * n for n in range(30)]


def test_what_a_dead_worker_had_in_hand_is_done_again(tmp_path: Path) -> None:
    told: list[str] = []
    work = Work(dies=7, noted=tmp_path / "died")
    assert list(mapped(work, range(20), workers=2, tell=told.append)) == [n * n for n in range(20)]
    assert len(told) == 1
    assert "a worker died" in told[0]


def test_a_worker_that_dies_each_time_ends_it() -> None:
    with pytest.raises(Incomplete, match="dead twice"):
        list(mapped(Work(dies=3), range(8), workers=2))


def test_what_is_raised_in_a_worker_is_raised_here() -> None:
    with pytest.raises(BadData, match=r"run\.jsonl:5"):
        list(mapped(Work(refused=5), range(8), workers=2))


def spelled(number: int) -> str:
    return f"{number} "


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 21])
def test_what_is_added_up_stands_in_the_order_of_the_items(n: int, workers: int) -> None:
    found = reduced(spelled, str.__add__, range(n), workers=workers)
    assert found == "".join(map(spelled, range(n)))
