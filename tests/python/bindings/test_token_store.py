"""Stores of tokens as Python holds them."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import run_python

from easydata import _native


def test_opens_and_counts(tmp_path: Path) -> None:
    store = _native.TokenStore(str(tmp_path / "tokens"), compression="zstd", max_bytes=10**9)
    store.flush()
    stats = store.stats()
    assert set(stats) == {
        "hits",
        "misses",
        "hit_bytes",
        "written_blocks",
        "written_bytes",
        "dropped_blocks",
        "damaged_blocks",
        "evicted_files",
        "waited",
    }
    assert set(stats.values()) == {0}
    assert _native.list_store(str(tmp_path / "tokens")) == []
    assert _native.verify_store(str(tmp_path / "tokens")) == []
    assert _native.prune_store(str(tmp_path / "tokens"), max_bytes=0, older_than_seconds=5) == 0


def test_refuses_what_means_nothing(tmp_path: Path) -> None:
    folder = str(tmp_path / "tokens")
    with pytest.raises(ValueError, match="max_bytes"):
        _native.TokenStore(folder, max_bytes=-1)
    with pytest.raises(ValueError, match="compression"):
        _native.TokenStore(folder, compression="rar")
    with pytest.raises(ValueError, match="say how many"):
        _native.TokenStore("")
    with pytest.raises(ValueError, match="there is no cache of tokens"):
        _native.list_store(folder)
    (tmp_path / "tokens").mkdir()
    (tmp_path / "tokens" / "token_store.json").write_text('{"version": 2}')
    with pytest.raises(ValueError, match="made by a later EasyData"):
        _native.TokenStore(folder)


def test_what_a_script_holds_at_its_end_is_written(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n' * 100)
    script = (
        "from easydata import JsonShardedSource\n"
        f"held = JsonShardedSource({str(tmp_path / 'rows.jsonl')!r})"
        f".cache({str(tmp_path / 'kept')!r})\n"
        "assert len(list(held)) == 100\n"
    )
    run_python("-c", script)
    assert list((tmp_path / "kept").glob("*.tokens"))
