"""Names to functions: what is registered, what is refused, and what a wrong call is told."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from evalkit import register, registry
from evalkit.errors import UnknownName, UsageError
from evalkit.registry import Spec, bind, lookup, names


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    """Each test starts from what is built in, and leaves no trace."""
    before = dict(registry._registered)
    registry._registered.clear()
    registry._entry_points.cache_clear()
    yield
    registry._registered.clear()
    registry._registered.update(before)
    registry._entry_points.cache_clear()


def _gadget(
    data: object,
    *,
    text: str | None = None,
    count: int = 0,
    share: float = 0,
    on: bool = False,
    how: Literal["a", "b"] = "a",
    many: tuple[str, ...] = (),
    open_: object = None,
) -> bool:
    """A function with a parameter of each type."""
    return True


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("text", 5, "found 5, wanted text or null"),
        ("text", "\udc80", "wanted text that UTF-8 can hold"),
        ("count", "2", "found '2', wanted a whole number"),
        ("count", 2.5, "found 2.5, wanted a whole number"),
        ("count", True, "found true, wanted a whole number"),
        ("count", None, "found null, wanted a whole number"),
        ("share", "abc", "found 'abc', wanted a number"),
        ("share", math.nan, "found nan, wanted a number"),
        ("share", math.inf, "found inf, wanted a number"),
        ("on", "no", "found 'no', wanted true or false"),
        ("on", 1, "found 1, wanted true or false"),
        ("how", "c", "found 'c', wanted a or b"),
    ],
)
def test_a_parameter_of_a_plain_type_is_held_against_it(name: str, value: object, told: str) -> None:
    register("gadget", "typed")(_gadget)
    with pytest.raises(UsageError, match=f"gadget 'typed': {name}: .*{told}"):
        bind("gadget", Spec("typed", {name: value}))


@pytest.mark.parametrize(
    "given",
    [
        {"text": None},
        {"text": "x", "count": 3, "share": 1, "on": True, "how": "b"},
        {"share": 0.5},
        {"many": ["x"]},
        {"many": 5},
        {"open_": 5},
    ],
)
def test_what_fits_and_what_has_no_plain_type_passes(given: dict[str, object]) -> None:
    register("gadget", "typed")(_gadget)
    assert bind("gadget", Spec("typed", given))(None)


def test_what_the_environment_decides_is_settled_when_it_is_bound() -> None:
    def placed(*, address: str | None = None) -> str | None:
        return address

    placed.settle = lambda given: {"address": given.get("address") or "http://there"}  # type: ignore[attr-defined]
    register("gadget", "placed")(placed)
    assert bind("gadget", Spec("placed"))() == "http://there"
    assert bind("gadget", Spec("placed", {"address": "http://here"}))() == "http://here"


def test_a_registered_function_is_found_as_it_is() -> None:
    @register("gadget", "polite")
    def polite(case: object, dialog: object, *, words: tuple[str, ...] = ("请",)) -> bool:
        return bool(words)

    assert lookup("gadget", "polite") is polite
    assert names("gadget") == ["polite"]


def test_a_second_function_of_the_same_name_is_refused() -> None:
    register("gadget", "polite")(len)
    with pytest.raises(UsageError, match=r"gadget 'polite' is registered twice"):
        register("gadget", "polite")(max)
    assert lookup("gadget", "polite") is len


def test_registering_the_same_function_again_changes_nothing() -> None:
    register("gadget", "polite")(len)
    register("gadget", "polite")(len)
    assert names("gadget") == ["polite"]


def test_a_built_in_name_is_taken() -> None:
    with pytest.raises(UsageError, match="registered twice"):
        register("metric", "intent")(len)


def test_the_same_name_may_stand_under_two_kinds() -> None:
    register("gadget", "polite")(len)
    register("judge", "polite")(max)
    assert lookup("judge", "polite") is max


def test_an_unknown_name_is_told_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match=r"unknown metric 'retreival'. Did you mean 'retrieval'\?"):
        lookup("metric", "retreival")


def test_built_in_names_stand_first_and_the_others_are_sorted() -> None:
    register("metric", "z_mine")(len)
    register("metric", "a_mine")(max)
    listed = names("metric")
    assert listed[0] == "intent"
    assert listed[-2:] == ["a_mine", "z_mine"]


def test_a_built_in_is_imported_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._BUILT_IN, "codec", {"json": "json:dumps"})
    assert lookup("codec", "json") is importlib.import_module("json").dumps


def _package(folder: Path, entry: str, code: str) -> None:
    """An installed package in `folder` that announces one rule."""
    (folder / "their_rules.py").write_text(code, encoding="utf-8")
    info = folder / "their_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their-rules\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(f"[evalkit.gadget]\ntheirs = {entry}\n", encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder from which packages are imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("their_rules", None)


def test_an_installed_package_announces_its_own(site: Path) -> None:
    _package(site, "their_rules:theirs", "def theirs(case, dialog, *, least=1):\n    return least\n")
    assert names("gadget") == ["theirs"]
    assert bind("gadget", Spec("theirs", {"least": 2}))(None, None) == 2


@pytest.mark.parametrize(
    ("entry", "code"),
    [("their_rules:theirs", "import no_such_module_at_all\n"), ("their_rules:gone", "")],
    ids=["import", "attribute"],
)
def test_an_installed_package_that_cannot_be_imported_is_named(site: Path, entry: str, code: str) -> None:
    _package(site, entry, code)
    with pytest.raises(UsageError, match=rf"gadget 'theirs': {entry} cannot be imported \(.+\); mend"):
        lookup("gadget", "theirs")


def test_a_function_may_be_named_by_its_module(site: Path) -> None:
    (site / "their_rules.py").write_text("def mine(case, dialog):\n    return 3\n", encoding="utf-8")
    assert lookup("gadget", "their_rules:mine")(None, None) == 3
    assert names("gadget") == []


@pytest.mark.parametrize(
    "name", ["no_such_module_at_all:f", "json:gone", ":", "json:", ".:x", "a b:c", "json:dumps:x"]
)
def test_a_module_and_function_that_cannot_be_imported_are_named(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be imported"):
        lookup("gadget", name)


def test_what_is_no_function_is_refused(site: Path) -> None:
    (site / "their_rules.py").write_text("mine = 3\n", encoding="utf-8")
    with pytest.raises(UsageError, match="gadget 'their_rules:mine': found 3, wanted a function"):
        lookup("gadget", "their_rules:mine")


def test_what_is_registered_by_hand_goes_before_what_is_installed(site: Path) -> None:
    _package(site, "their_rules:theirs", "def theirs(case, dialog):\n    return 1\n")
    register("gadget", "theirs")(len)
    assert lookup("gadget", "theirs") is len
    assert names("gadget") == ["theirs"]


def _score(text: str, *, client: object, model: str, top: int = 3) -> tuple[str, object, str, int]:
    return text, client, model, top


def test_bind_fills_parameters_and_resources_in() -> None:
    register("judge", "score")(_score)
    client = object()
    bound = bind("judge", Spec("score", {"model": "m"}), client=client, cache=object())
    assert bound("x") == ("x", client, "m", 3)


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"model": "m", "tpo": 1}, "unknown tpo"),
        ({}, "missing model"),
        ({"text": "x", "b": 1, "a": 2}, "unknown a, unknown b, unknown text, missing model"),
    ],
    ids=["unknown", "missing", "both"],
)
def test_parameters_that_do_not_fit_are_named_and_the_wanted_shown(
    params: dict[str, object], found: str
) -> None:
    register("judge", "score")(_score)
    with pytest.raises(UsageError) as error:
        bind("judge", Spec("score", params), client=object())
    assert f"judge 'score': parameters do not fit ({found})" in str(error.value)
    assert str(error.value).endswith("Wanted: model=VALUE [top=3]")  # the client is handed in


def test_wanted_parameters_stand_as_a_person_writes_them() -> None:
    def gadget(
        *, url: str, on: bool = False, how: str = "a", many: tuple[str, ...] = ("x",), note: str | None = None
    ) -> None:
        """Do nothing."""

    register("gadget", "written")(gadget)
    register("gadget", "plain")(lambda: None)
    with pytest.raises(UsageError) as error:
        bind("gadget", Spec("written"))
    assert str(error.value).endswith('Wanted: url=VALUE [on=false] [how="a"] [many=["x"]] [note=VALUE]')
    with pytest.raises(UsageError, match=r"unknown x.*Wanted: none"):
        bind("gadget", Spec("plain", {"x": 1}))


def test_a_spec_has_no_parameters_unless_told() -> None:
    assert Spec("intent") == Spec("intent", {})
    with pytest.raises(AttributeError):
        Spec("intent").type = "x"  # type: ignore[misc]
