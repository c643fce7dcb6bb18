"""What a module offers is what its sorted `__all__` says, and every offer is documented."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import evalkit

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(evalkit.__path__, "evalkit.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["evalkit", *MODULES])
def test_all_is_sorted_and_exact(name: str) -> None:
    module = importlib.import_module(name)
    offered = getattr(module, "__all__", None)
    defined = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == name
    }
    if offered is None:
        assert not defined, f"{name} defines {sorted(defined)} and has no __all__"
        return
    assert offered == sorted(offered)
    missing = [key for key in offered if not hasattr(module, key)]
    assert not missing
    assert defined <= set(offered), f"{name}: public but not in __all__: {sorted(defined - set(offered))}"


@pytest.mark.parametrize("name", ["evalkit", *MODULES])
def test_public_names_are_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert inspect.getdoc(module), f"{name} does not say its part of the theory"
    for key in getattr(module, "__all__", ()):
        value = getattr(module, key)
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{name}.{key} has no docstring"


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("evalkit", ("numpy", "pandas", "pydantic", "httpx")),
        ("evalkit.runner", ("numpy", "pandas", "pyarrow")),
        ("evalkit.runner.working", ("numpy", "pandas", "pyarrow")),
    ],
)
def test_importing_is_cheap(module: str, heavy: tuple[str, ...]) -> None:
    """What only tables need is not held by a process that asks, of which a run may have many."""
    import subprocess
    import sys

    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
