"""Values go into requests once, as data, with their JSON types; nothing in a value is read as a template."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import UsageError
from evalkit.targets.http.paths import select
from evalkit.targets.http.templates import address, filled, placeholders

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values.filter(lambda value: value is not None))
def test_one_placeholder_alone_is_the_value_itself(value: Any) -> None:
    assert filled({"a": ["{x}"]}, {"x": value}) == {"a": [value]}


@given(st.text())
def test_a_value_is_never_read_as_a_template(value: str) -> None:
    assert filled("<{x}>", {"x": value, "secret": "no"}) == f"<{value}>"
    assert filled("<{x}>", {"x": "{secret} {{x}}", "secret": "no"}) == "<{secret} {{x}}>"


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        pytest.param("{{x}}", "{x}", id="braces"),
        pytest.param("n={n}, l={l}", 'n=3, l=["一"]', id="written-as-json-inside-text"),
        pytest.param({"a": "{none}", "b": 1}, {"b": 1}, id="null-is-left-out"),
        pytest.param(["{none}", "{n}"], [3], id="null-is-left-out-of-lists"),
        pytest.param({"{n}": "{case.extra}"}, {}, id="keys-are-no-templates-and-missing-fields-are-null"),
        pytest.param("{", "{", id="a-brace-alone"),
    ],
)
def test_filled(template: Any, wanted: Any) -> None:
    assert filled(template, {"n": 3, "l": ["一"], "none": None}) == wanted


def test_a_placeholder_without_value_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"no value for \{y\}"):
        filled("{y} ", {"x": 1})


def test_values_in_an_address_are_one_segment_each() -> None:
    values = {"base_url": "http://h/api/", "id": "a/../b?c=退"}
    assert address("{base_url}/chats/{id}", values) == "http://h/api/chats/a%2F..%2Fb%3Fc%3D%E9%80%80"


def test_placeholders_are_found_at_any_depth() -> None:
    assert list(placeholders({"a": ["{x}", {"b": "{y} {{z}}"}], "c": 1})) == ["x", "y"]


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        pytest.param(
            "a[?type=='x'].v | [0]", {"a": [{"type": "y", "v": 1}, {"type": "x", "v": 2}]}, 2, id="filter"
        ),
        pytest.param('"意图"."一级"', {"意图": {"一级": "S"}}, "S", id="chinese-keys"),
        pytest.param("from_json(a).b", {"a": '{"b": 1}'}, 1, id="json-in-json"),
        pytest.param("from_json(a)", {}, None, id="json-of-null"),
        pytest.param("json_or_text(a)", {"a": "no json"}, "no json", id="json-or-text"),
        pytest.param("split(a, ';')", {"a": "x; y;"}, ["x", "y"], id="split"),
        pytest.param("by_name(['x'], a)", {"a": "t"}, [{"name": "x", "value": "t"}], id="one-name-takes-all"),
        pytest.param("a.b.c", {"a": [1]}, None, id="nothing-there"),
    ],
)
def test_paths(path: str, value: Any, wanted: Any) -> None:
    assert select(path, value) == wanted


@pytest.mark.parametrize("path", ["from_json(a)", "join(',', a)"])
def test_what_a_function_does_not_take_is_an_error_and_no_null(path: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        select(path, {"a": "{broken"})
