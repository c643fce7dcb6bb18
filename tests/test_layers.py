"""Imports point down: the layer table of docs/architecture.md, held against the code."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "evalkit"

LAYERS = {
    "errors": 0,
    "contracts": 0,
    "kinds": 1,
    "parameters": 1,
    "registry": 1,
    "schema": 1,
    "reading": 2,
    "writing": 2,
    "runs": 2,
    "records": 2,
    "judgements": 2,
    "cases": 2,
    "fitting": 2,
    "slices": 3,
    "stats": 3,
    "planning": 3,
    "finding": 3,
    "questions": 3,
    "agreement": 3,
    "net": 3,
    "metrics": 4,
    "rules": 4,
    "judges": 4,
    "targets": 4,
    "engines": 5,
    "runner": 5,
    "report": 6,
    "cli": 7,
    "__main__": 8,
}
"""Floor of each part of the package; a part may import from its own file, and from lower floors."""

SAME_FLOOR = {
    ("records", "reading"),
    ("records", "writing"),
    ("cases", "reading"),
    ("fitting", "reading"),
    ("registry", "parameters"),
    ("planning", "stats"),
    ("agreement", "stats"),
    ("judgements", "reading"),
    ("judgements", "records"),
    ("runs", "reading"),
    ("runs", "writing"),
    ("writing", "reading"),
}
"""The few neighbours on one floor that may look at each other, in this direction only."""

CLOSED = ("metrics", "rules", "judges.measures", "targets", "engines")
"""Folders of siblings: a file in one may not import the file beside it (a sub-package is one sibling)."""

SHARED = {
    "engines": {"configured", "local", "overrides", "rules"},
    "rules": {"judged", "params", "scope", "words"},
    "metrics": {"completion"},
    "judges.measures": {"claims", "material"},
    "targets": {"channels", "ragent"},
}
"""Siblings that stand a step below the rest of their folder: the few on which others stand."""

THIRD_PARTY = {
    0: {"pydantic"},
    1: set(),
    2: {"numpy", "pyarrow", "pydantic", "pandas"},
    3: {"numpy"},
    4: {"numpy"},
    5: {"numpy", "httpx"},
    6: {"numpy", "pandas", "pyarrow", "jinja2", "rich"},
    7: {"click", "rich", "httpx"},
    8: set(),
}
"""What each floor may take from outside; the parts of EXTRA may take more."""

EXTRA = {
    "parameters": {"pydantic"},  # parameters are held against the annotations of what they are given to
    "metrics": {"rapidfuzz"},
    "net": {"httpx"},
    "targets": {"httpx", "jmespath", "starlette", "uvicorn", "pydantic"},
    "judges": {"httpx", "pydantic", "xllamacpp"},
    "engines": {"pydantic", "distributed", "fsspec"},
    "rules": {"pydantic"},
}

PURE = {"metrics": {"evalkit.registry", "evalkit.rules", "httpx", "json", "pathlib"}}
"""What a part must not import though its floor would let it."""


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


def imports(name: str, path: Path) -> Iterator[str]:
    """Dotted names of what a module imports, wherever in the file."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, base]).rstrip(".")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def part(name: str) -> str:
    """The part of the package that a dotted name belongs to: `evalkit.metrics.intent` → metrics."""
    return ([*name.split("."), ""])[1]


MODULES = dict(modules())


def test_the_page_has_the_same_floors() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| ((?:`\w+` ?)+)", page, re.MULTILINE)
    told = {part: int(floor) for floor, parts in rows for part in re.findall(r"`(\w+)`", parts)}
    assert told == {part: floor for part, floor in LAYERS.items() if part != "__main__"}


@pytest.mark.parametrize("name", [name for name in MODULES if name != "evalkit"])
def test_imports_point_down(name: str) -> None:
    here = part(name)
    assert here in LAYERS, f"{here} has no floor: add it to LAYERS and to docs/architecture.md"
    for target in imports(name, MODULES[name]):
        if target.split(".")[0] != "evalkit" or part(target) not in LAYERS:
            continue
        there = part(target)
        below = LAYERS[there] < LAYERS[here] or (here, there) in SAME_FLOOR
        assert here == there or below, f"{name} imports {target}: not below it"


@pytest.mark.parametrize("folder", CLOSED)
def test_siblings_do_not_see_each_other(folder: str) -> None:
    inside = f"evalkit.{folder}."
    for name in (name for name in MODULES if name.startswith(inside)):
        for target in imports(name, MODULES[name]):
            if not target.startswith(inside):
                continue
            here, there = (dotted.removeprefix(inside).split(".")[0] for dotted in (name, target))
            assert there == here or there in SHARED.get(folder, set()), f"{name} imports its sibling {target}"


@pytest.mark.parametrize("name", list(MODULES))
def test_third_party_stays_on_its_floor(name: str) -> None:
    here = part(name)
    allowed = THIRD_PARTY[LAYERS.get(here, 0)] | EXTRA.get(here, set())
    for target in imports(name, MODULES[name]):
        root = target.split(".")[0]
        if root == "evalkit" or root in sys.stdlib_module_names:
            continue
        assert root in allowed, f"{name} imports {root}"


@pytest.mark.parametrize("name", [name for name in MODULES if part(name) in PURE])
def test_pure_parts_stay_pure(name: str) -> None:
    for target in imports(name, MODULES[name]):
        banned = [bad for bad in PURE[part(name)] if target == bad or target.startswith(f"{bad}.")]
        assert not banned, f"{name} imports {target}"


def test_there_is_no_cycle() -> None:
    edges = {
        name: {
            found
            for target in imports(name, path)
            for found in (target, target.rpartition(".")[0])
            if found in MODULES and found not in (name, "evalkit")
        }
        for name, path in MODULES.items()
        if name != "evalkit"
    }
    while edges:
        leaves = {name for name, targets in edges.items() if not targets & set(edges)}
        assert leaves, f"an import cycle among {sorted(edges)}"
        edges = {name: targets for name, targets in edges.items() if name not in leaves}
