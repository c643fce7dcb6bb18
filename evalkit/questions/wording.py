"""What a judge is told, word for word: files of `texts`, and their version.

The version is the hash of all of them, so that no verdict outlives the words that it was asked with.
"""

from __future__ import annotations

import functools
import hashlib
import json
import types
from collections.abc import Mapping
from importlib import resources

from evalkit.contracts import Question

__all__ = ["messages", "named", "phrase", "text", "version"]

_FILES = resources.files("evalkit.questions").joinpath("texts")

_KINDS = (
    ("dimensions", "要打分的维度（名称：标准），每项给 0 到 10 的整数，10 最好"),
    ("labels", "可选标签（名称：含义），只能选其中一个"),
    ("items", "要逐条判断真假的说法（名称：说法）"),
    ("lists", "要列出的内容（名称：应包含什么）"),
)
_ANSWERS = {
    "dimensions": '"dimensions"：对象，键为上面每个维度的名称，值为 0 到 10 的整数',
    "labels": '"label"：上面某一个标签的名称',
    "items": '"items"：对象，键为上面每条说法的名称，值为 true 或 false',
    "lists": '"lists"：对象，键为上面每个列表的名称，值为字符串数组',
}


@functools.cache
def text(name: str) -> str:
    """The text of that name."""
    return _FILES.joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()


@functools.cache
def named(name: str) -> Mapping[str, str]:
    """The table of that name: names with their meanings."""
    table: dict[str, str] = json.loads(_FILES.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return types.MappingProxyType(table)


def phrase(name: str, /, **filled: str) -> str:
    """The phrase of that name, with what stands in its braces."""
    return named("phrases")[name].format(**filled)


@functools.cache
def version() -> str:
    """Twelve hexadecimal digits of the hash of all texts and of the layout around them."""
    files = sorted(_FILES.iterdir(), key=lambda file: file.name)
    told = [[file.name, file.read_text(encoding="utf-8").strip()] for file in files]
    layout = messages(Question(name="", task="", **{kind: {"x": "x"} for kind, _ in _KINDS}), nonce="")
    return hashlib.sha256(json.dumps([told, layout], ensure_ascii=False).encode("utf-8")).hexdigest()[:12]


def messages(question: Question, *, nonce: str, complaint: str = "") -> list[dict[str, str]]:
    """The question as chat messages, its material fenced by the nonce; with what was wrong with a first reply.

    Everything that somebody else may have written is a JSON string without angle brackets, so that it can
    neither end its fence nor look like one of our lines.
    """
    parts = [f"任务：{question.task}"]
    parts += [_named(title, getattr(question, kind)) for kind, title in _KINDS if getattr(question, kind)]
    parts += [text("material")]
    parts += [_fenced(role, material, nonce) for role, material in question.material.items()]
    answers = [_ANSWERS[kind] for kind, _ in _KINDS if getattr(question, kind)]
    parts.append(
        "\n".join([text("answer"), f'- "nonce"：字符串 {nonce}', *(f"- {line}" for line in answers)])
    )
    if complaint:
        parts.append(f"你上一次的回复无法采用：{complaint}。请严格按上述格式重新回答。")
    return [
        {"role": "system", "content": text("system")},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


def _named(title: str, meanings: Mapping[str, str]) -> str:
    lines = [f"- {_quoted(name)}：{_quoted(meaning)}" for name, meaning in meanings.items()]
    return "\n".join([f"{title}：", *lines])


def _fenced(role: str, material: str, nonce: str) -> str:
    return f"<material {nonce} {_quoted(role)}>\n{_quoted(material)}\n</material {nonce}>"


def _quoted(part: str) -> str:
    whole = json.dumps(part, ensure_ascii=False)
    return whole.replace("<", "\\u003c").replace(">", "\\u003e").encode("utf-8", "backslashreplace").decode()
