"""The report as one page: no network, no script, nothing in it but text and measured bars.

Every text is escaped by the template engine and its unseen characters are spelled out before; the page
forbids itself to load anything (CSP `default-src 'none'`) but its own style, named by hash.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import shlex
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from evalkit.report.digest import Digest
from evalkit.report.failures import Failure
from evalkit.report.figures import NOTHING, Figure, figures, milliseconds, percent, share
from evalkit.report.fix_first import fix_first
from evalkit.report.gains import points
from evalkit.report.notes import notes
from evalkit.report.reasons import GATES
from evalkit.report.sample import layout
from evalkit.report.summary import facts, state
from evalkit.report.text import CAP_BYTES, capped, is_chinese, visible
from evalkit.report.tree import tree
from evalkit.report.verdict import Verdict
from evalkit.report.verdict_rows import changed_rows, flips_by_metric
from evalkit.report.wording import probability

__all__ = ["SHOWN", "page"]

SHOWN = 200
"""How many failed samples, and rows of any one table, the page holds; the files beside it hold all."""

_BESIDE = ("recall@5", "mrr@10", "completion")


def page(digest: Digest, verdict: Verdict | None = None) -> bytes:
    """The report as one HTML file in UTF-8, with the verdict and the flips where there is one.

    The same run and verdict give the same bytes.
    """
    comparison = verdict.comparison if verdict else None
    environment = _environment()
    style = environment.get_template("report.css").render()
    text = environment.get_template("report.html.j2").render(
        digest=digest,
        run=digest.run,
        state=state(digest.run, digest.charged.n_total),
        facts=facts(digest.run),
        verdict=verdict,
        comparison=comparison,
        changes=changed_rows(comparison) if comparison else ([], []),
        flips=flips_by_metric(comparison) if comparison else {},
        notes=notes(digest),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        beside=_beside(digest),
        tree=tree(digest, others=_beside(digest)),
        fixing=fix_first(digest),
        keys=_keys(digest),
        latency=digest.tables.latency.to_pylist(),
        dimensions=[(name, _by(digest, name)) for name in digest.by],
        failed=_by_gate(digest),
        shown=SHOWN,
        cap=CAP_BYTES,
    )
    return text.encode("utf-8", "backslashreplace")


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("evalkit", "report/templates"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["chinese"] = is_chinese
    environment.filters |= {
        "anchor": _anchor,
        "capped": capped,
        "layout": layout,
        "ms": milliseconds,
        "percent": percent,
        "points": points,
        "q": probability,
        "shell": shlex.quote,
    }
    environment.globals |= {"nothing": NOTHING, "share": share}
    return environment


def _seen(value: Any) -> Any:
    """What a template prints: texts with their unseen characters spelled out, markup of its own as it is."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _anchor(key: str) -> str:
    """A name within the page for a sample, whatever characters its id has."""
    return "s" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _beside(digest: Digest) -> tuple[str, ...]:
    """The metrics that stand beside the main one in the tree, as far as anything was counted for them."""
    return tuple(figure.metric for figure in digest.overall if figure.metric in _BESIDE and figure.n_counted)


def _keys(digest: Digest) -> dict[tuple[str, str | None], list[str]]:
    """The samples that went each way."""
    return {(row["gold"], row["predicted"]): row["keys"] for row in digest.tables.confusions.to_pylist()}


def _by(digest: Digest, dimension: str) -> dict[str, list[Figure]]:
    """The headline figures of each label of a dimension."""
    names = [figure.metric for figure in digest.headline]
    rows = [figure for figure in figures(digest.tables.slices, dimension=dimension) if figure.metric in names]
    rows.sort(key=lambda figure: (figure.slice, names.index(figure.metric)))
    return {label: list(of_label) for label, of_label in groupby(rows, key=lambda figure: figure.slice)}


def _by_gate(digest: Digest) -> list[tuple[str, list[tuple[int, Failure]]]]:
    """The failures to show under each gate, each with its line in `failures.jsonl`."""
    numbered = list(enumerate(digest.failures.failed, 1))
    numbered.sort(key=lambda pair: GATES.index(pair[1].gate))
    return [
        (gate, list(of_gate)) for gate, of_gate in groupby(numbered[:SHOWN], key=lambda pair: pair[1].gate)
    ]
