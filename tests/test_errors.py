"""Errors tell a person what to do next, and the process ends as their kind says."""

from __future__ import annotations

import pickle

import pytest

from evalkit import errors
from evalkit.errors import BadData, EvalkitError, Fault, UnknownName


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("EvalkitError", 2),
        ("UsageError", 2),
        ("UnknownName", 2),
        ("Incomplete", 3),
        ("BadData", 65),
        ("NoInput", 66),
        ("StorageError", 74),
        ("Locked", 75),
    ],
)
def test_each_kind_ends_the_process_with_its_own_code(name: str, code: int) -> None:
    """65, 66, 74 and 75 are EX_DATAERR, EX_NOINPUT, EX_IOERR and EX_TEMPFAIL of sysexits.h."""
    assert getattr(errors, name).exit_code == code


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    """Each drawn line names a class and its exit code, and no class is missing from the drawing."""
    drawn = {}
    for line in (errors.__doc__ or "").splitlines():
        if "── " in line:
            name, code, *_ = line.partition("── ")[2].split()
            drawn[name] = int(code)
    classes = {
        name: kind.exit_code
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, EvalkitError) and kind is not EvalkitError
    }
    assert drawn == classes


def test_an_unknown_name_suggests_the_nearest_and_lists_all() -> None:
    message = str(UnknownName("metric", "intnet", ["retrieval", "intent"]))
    assert message == "unknown metric 'intnet'. Did you mean 'intent'? Known: intent, retrieval."


def test_an_unknown_name_lists_ten_at_most_and_the_nearest_first() -> None:
    message = str(UnknownName("metric", "name7", [f"name{number}" for number in range(25)]))
    assert message.split("Known: ")[1].startswith("name7, ")
    assert message.count(",") == 9
    assert message.endswith(" and 15 more.")


def test_an_unknown_target_is_told_how_to_name_its_own() -> None:
    assert "module:function" in str(UnknownName("target", "my_bot", ["demo"]))
    assert "module:function" not in str(UnknownName("metric", "my_bot", ["demo"]))


def test_an_unknown_name_far_from_all_suggests_nothing() -> None:
    assert str(UnknownName("metric", "zzz", [])) == "unknown metric 'zzz'. Known: none."


def test_a_fault_is_one_line_with_place_finding_and_wish() -> None:
    fault = Fault("cases.jsonl", 3, "query", "nothing", "a value")
    assert str(fault) == "cases.jsonl:3: query: found nothing, wanted a value"


@pytest.mark.parametrize(
    ("count", "last"), [(100, "f:99"), (101, "… and 1 more"), (5_000, "… and 4,900 more")]
)
def test_bad_data_shows_a_hundred_faults_and_counts_the_rest(count: int, last: str) -> None:
    error = BadData([Fault("f", number, "x", "a", "b") for number in range(count)])
    shown = str(error).splitlines()
    assert len(error.faults) == count
    assert len(shown) == min(count, 101)
    assert shown[-1].startswith(last)


@pytest.mark.parametrize(
    "error",
    [
        UnknownName("metric", "intnet", ["intent"]),
        BadData([Fault("f", 1, "x", "a", "b"), Fault("f", 2, "x", "a", "b")]),
        errors.NoInput("no file"),
    ],
    ids=["unknown name", "bad data", "no input"],
)
def test_errors_cross_the_border_of_a_process(error: EvalkitError) -> None:
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 what was just pickled
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert getattr(back, "faults", None) == getattr(error, "faults", None)
