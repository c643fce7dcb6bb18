"""[judges.NAME] of a configuration: keys by reference only, unknown settings refused, no value repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalkit.errors import NoInput, UnknownName, UsageError
from evalkit.judges.config import choose, read
from evalkit.net.keys import mask_of, resolved

CANARY = "sk-canary-0123456789abcdef"
GOOD = '[judges.main]\nbase_url = "https://h/v1"\nmodel = "m"\n'


def config(folder: Path, text: str) -> Path:
    path = folder / "evalkit.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_judge_needs_an_address_and_a_model(tmp_path: Path) -> None:
    judges = read(
        config(tmp_path, GOOD + '[judges.vectors]\nrole = "embedding"\nbase_url = "http://h"\nmodel = "e"\n')
    )
    assert choose(judges, "main", role="judge").parameters == {
        "temperature": 0,
        "seed": 0,
        "max_tokens": 1024,
    }
    with pytest.raises(UnknownName, match=r"unknown judge 'vectors'\..* Known: main"):
        choose(judges, "vectors", role="judge")


def test_other_tables_are_not_our_business(tmp_path: Path) -> None:
    assert read(config(tmp_path, "[gate]\nx = 1\n")) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(GOOD + f'key = "{CANARY}"\n', "wanted env:NAME or file:PATH", id="a-key-itself"),
        pytest.param(GOOD + f'api_key = "{CANARY}"\n', "api_key", id="an-unknown-setting"),
        pytest.param(GOOD + f'concurrency = "{CANARY}"\n', "concurrency", id="a-wrong-type"),
        pytest.param(
            f'[judges.m]\nbase_url = "https://u:{CANARY}@h/v1"\nmodel = "m"\n', "without login", id="a-login"
        ),
        pytest.param(
            f'[judges.m]\nbase_url = "https://h/v1?key={CANARY}"\nmodel = "m"\n',
            "without login",
            id="a-query",
        ),
        pytest.param('[judges.m]\nbase_url = "h/v1"\nmodel = "m"\n', "wanted http", id="no-address"),
        pytest.param('[judges.m]\nbase_url = "http://h"\n', "model", id="no-model"),
        pytest.param("judges = 1", "wanted tables", id="no-tables"),
        pytest.param("[judges", "found no TOML", id="no-toml"),
    ],
)
def test_what_cannot_hold_is_named_without_its_value(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        read(config(tmp_path, text))
    assert CANARY not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="found no such file"):
        read(tmp_path / "evalkit.toml")


def test_a_key_comes_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("SOME_KEY", f"{CANARY}\n")
    (tmp_path / "key").write_text(CANARY, encoding="utf-8")
    assert resolved("env:SOME_KEY", place="x") == CANARY
    assert resolved(f"file:{tmp_path}/key", place="x") == CANARY
    assert resolved(None, place="x") == ""


@pytest.mark.parametrize("reference", ["env:NOT_SET_ANYWHERE", "file:/no/such/file", "env:WIDE", "plain"])
def test_a_reference_that_leads_nowhere_is_an_error(reference: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("WIDE", "密钥密钥密钥")
    with pytest.raises(UsageError):
        resolved(reference, place="x")


def test_everything_named_like_a_secret_is_masked() -> None:
    mask = mask_of("first-secret", environment={"RAGENT_PASSWORD": "second-secret", "HOME": "/home/somebody"})
    assert mask.text("first-secret second-secret /home/somebody") == "*** *** /home/somebody"
