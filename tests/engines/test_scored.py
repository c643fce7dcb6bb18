"""A run on file with all that is measured of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from evalkit import EvalRecord
from evalkit.contracts import Manifest
from evalkit.engines.scored import scored
from evalkit.reading import encode


def test_the_manifest_tells_the_target_to_slice_by(tmp_path: Path) -> None:
    """Without a manifest nobody knows it, and no record has such a label."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"".join(encode(EvalRecord(sample_id=name, intent_l1="售后")) for name in "ab"))
    assert scored(path).records.groups("target").labels == ()
    manifest = Manifest(
        run_id="r",
        eval_set="e.jsonl",
        eval_set_sha256="0" * 64,
        target="shop",
        evalkit_version="0",
        started_at=datetime(2026, 8, 26, tzinfo=UTC),
    )
    (tmp_path / "r.meta.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    assert scored(path).records.groups("intent_l1,target").labels == ("售后,shop",)
