"""Products as people name them: a model, part of its name, or just the kind of thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.targets.demo.words import folded, terms

__all__ = ["Products", "same_product"]

_VERSION = re.compile(r"\s*\d+GB\+\S+$")
_BRAND = "星河"
_KINDS = (
    "扫地机器人", "扫地机", "机器人", "笔记本电脑", "笔记本", "电脑", "平板电脑", "平板", "手机", "头戴耳机",
    "耳机", "手表", "手环", "路由器", "路由", "打印机", "显示器", "音箱", "充电宝", "移动电源", "充电器",
    "手写笔",
)  # fmt: skip
_KIND = {kind: "手机(?!号)" if kind == "手机" else kind for kind in _KINDS}
_LEAD = 8


class Products:
    """The shop's models, and how to find one in what a user says."""

    def __init__(self, names: Iterable[str]) -> None:
        models = {_VERSION.sub("", name) for name in names}
        self._named = _pattern(models)
        self._spellings = sorted(
            ((spelling, model) for model in models for spelling in _spellings(model)),
            key=lambda pair: -len(pair[0]),
        )

    def named(self, text: str) -> str | None:
        """The model that `text` names, the longest name first; else the kind of product it names, else None."""
        said = _squeezed(text)
        for spelling, model in self._spellings:
            if re.search(rf"(?<![a-z0-9]){re.escape(spelling)}(?![a-z0-9])", said):
                return model
        return next((kind for kind in _KINDS if re.search(_KIND[kind], said)), None)

    def refines(self, name: str, before: str) -> bool:
        """Whether `name` is a model where only the kind of thing had been said."""
        return before in _KINDS and name not in _KINDS

    def replaced(self, text: str, other: str) -> str | None:
        """`text` about the product that `other` names; None where either of them names none.

        `耳机拆封后能退吗` after `那手机呢` becomes `手机拆封后能退吗`.
        """
        new = self._named.search(other)
        return self._named.sub(new[0].strip(), text) if new and self._named.search(text) else None

    def after_name(self, text: str) -> str:
        """What `text` says after the product that it names first: `X5手机的屏幕碎了` → `屏幕碎了`."""
        name = self._named.search(text)
        rest = text[name.end() :].lstrip(" 的") if name and name.start() <= _LEAD else ""
        return rest if len(rest) > 1 else text


def same_product(product: str, orders: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The order whose product and category share most with `product`; None where none is such a thing.

    Every letter and number of a model's name must be there. The first of equally good ones, so the newest where
    the orders come newest first.
    """
    wanted = {term for term in terms(product.replace(_BRAND, "")) if len(term) > 1}
    model = {term for term in wanted if term.isascii()}
    shared = []
    for order in orders:
        has = set(terms(f"{order['product'].replace(_BRAND, '')} {order.get('category', '')}"))
        shared.append(len(wanted & has) if model <= has else 0)
    best = max(shared, default=0)
    return orders[shared.index(best)] if best else None


def _spellings(model: str) -> set[str]:
    """A model's full name, and its name without the brand where that still says something."""
    whole = _squeezed(model)
    bare = whole.removeprefix(_BRAND)
    latin = "".join(re.findall(r"[a-z0-9.]+", bare))
    found = {whole, bare} | ({latin} if re.search(r"[a-z]", latin) and re.search(r"\d", latin) else set())
    return {spelling for spelling in found if len(spelling) > 1}


def _pattern(models: Iterable[str]) -> re.Pattern[str]:
    """A model or a kind of product as it stands in a text, spaces or not, the kind after the model included."""
    names = sorted({spelling for model in models for spelling in _spellings(model)}, key=len, reverse=True)
    spaced = "|".join(r"\s*".join(map(re.escape, name)) for name in names)
    kinds = "|".join(_KIND.values())
    return re.compile(rf"(?<![a-z0-9])(?:(?:{spaced})(?![a-z0-9])(?:\s*(?:{kinds}))?|{kinds})", re.IGNORECASE)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", folded(text))
