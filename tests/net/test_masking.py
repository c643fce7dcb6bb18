"""A known secret leaves the process in none of the ways it can be written."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest

from evalkit.contracts import ChannelError, Observation
from evalkit.net.masking import Mask

HIDDEN = 'ca+nary/密"7731'


def mask(*secrets: str) -> Mask:
    made = Mask()
    for secret in secrets:
        made.add(secret)
    return made


@pytest.mark.parametrize(
    "form",
    [
        HIDDEN,
        urllib.parse.quote(HIDDEN),
        urllib.parse.quote(HIDDEN, safe=""),
        urllib.parse.quote_plus(HIDDEN),
        base64.b64encode(HIDDEN.encode()).decode(),
        base64.urlsafe_b64encode(HIDDEN.encode()).decode(),
        json.dumps(HIDDEN)[1:-1],
        json.dumps(HIDDEN, ensure_ascii=False)[1:-1],
    ],
)
def test_each_way_to_write_a_secret_is_blacked_out(form: str) -> None:
    masked = mask(HIDDEN).text(f"a {form} b")
    assert masked.startswith("a ***")
    assert "7731" not in masked
    assert form not in masked


def test_a_secret_in_any_field_is_blacked_out_and_told() -> None:
    seen = Observation(
        response=f"你的口令是 {HIDDEN}",
        tool_calls=({"name": "t", "arguments": {"a": [HIDDEN, 12]}, "result": {HIDDEN: None}},),
        answer_error=ChannelError(kind="envelope", body=json.dumps(HIDDEN)),
        trace_ids={"taskId": HIDDEN},
        flags=("lone_surrogate",),
    )
    masked = mask(HIDDEN).observation(seen)
    assert "7731" not in masked.model_dump_json()
    assert masked.response == "你的口令是 ***"
    assert masked.flags == ("lone_surrogate", "secret_in_answer")
    assert masked.tool_calls
    assert masked.tool_calls[0].arguments == {"a": ["***", 12]}


def test_an_observation_without_a_secret_is_left_alone() -> None:
    seen = Observation(response="可以退", ttft_ms=1.5)
    assert mask(HIDDEN).observation(seen) is seen


def test_a_short_password_does_not_tear_holes_into_answers() -> None:
    assert mask("demo").text("a demo of") == "a demo of"


def test_the_mask_does_not_show_what_it_hides() -> None:
    assert "7731" not in repr(mask(HIDDEN))
