"""What is written says how many tokens of each source are in it."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from small_data import jsonl

from easydata import (
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    WriteStats,
    save_dataset,
)

EOS = 1
# All tokens of a source are one number.
TOKEN = {"code": 10, "prose": 20, "multi": 30}


def mixed() -> MixedShardedSource:
    sources = {
        name: HFDatasetShardedSource(
            [
                {"input_ids": [token] * (n % 9 + 1), "n": n, "key": n % 7}
                for n in range(200 * token)
            ],
            name,
        )
        for name, token in TOKEN.items()
    }
    return MixedShardedSource(
        sources,
        {"code": 5, "prose": 3, "multi": 1},
        stop_strategy="first_exhausted",
        block_size=30,
        seed=3,
    )


def rows_in(folder: Path) -> list[dict[str, Any]]:
    return [
        row for file in sorted(folder.glob("*.parquet")) for row in pq.read_table(file).to_pylist()
    ]


def counted(rows: list[dict[str, Any]]) -> dict[str, int]:
    found = Counter(token for row in rows for token in row["input_ids"])
    return {name: found[token] for name, token in sorted(TOKEN.items())}


def recorded(folder: Path) -> dict[str, Any]:
    metadata: dict[str, Any] = json.loads((folder / ".metadata.json").read_text())
    return metadata


@pytest.mark.parametrize(
    "options",
    [{}, {"max_shard_rows": 100}, {"num_shards": 3}, {"num_shards": 3, "shard_column": "key"}],
    ids=["one shard", "many", "dealt", "by value"],
)
def test_rows_of_a_mix_are_counted_by_source(tmp_path: Path, options: dict[str, Any]) -> None:
    written = save_dataset(mixed(), tmp_path / "out", **options)
    assert written.source_tokens == counted(rows_in(tmp_path / "out"))
    assert sum(written.source_tokens.values()) == written.num_tokens
    metadata = recorded(tmp_path / "out")
    assert metadata["source_tokens"] == written.source_tokens
    for shard in metadata["shards"]:
        of_file = counted(pq.read_table(tmp_path / "out" / shard["name"]).to_pylist())
        assert {name: shard["source_tokens"].get(name, 0) for name in TOKEN} == of_file


@pytest.mark.parametrize("strategy", ["greedy", "first_fit"])
def test_packed_rows_are_counted_by_segment(tmp_path: Path, strategy: str) -> None:
    packed = PackedShardedSource(mixed(), 16, EOS, pad_token_id=0, strategy=strategy)
    written = save_dataset(packed, tmp_path / "out")
    found: Counter[str] = Counter()
    names = {token: name for name, token in TOKEN.items()}
    for row in rows_in(tmp_path / "out"):
        source: dict[int, str] = {}
        segments = list(
            zip(row["segment_ids"], row["input_ids"], row["attention_mask"], strict=True)
        )
        for segment, token, _ in segments:
            if token in names:
                source[segment] = names[token]
        # A document's end alone, in a row that the document no longer fits in, has no other token.
        found.update(source.get(segment, "?") for segment, _, live in segments if live)
    assert found["?"] <= found.total() // 50
    assert sum(written.source_tokens.values()) == written.num_tokens == found.total()
    for name in TOKEN:
        assert 0 <= written.source_tokens[name] - found[name] <= found["?"]


def test_units_are_counted(tmp_path: Path) -> None:
    for name, token in TOKEN.items():
        jsonl(tmp_path / f"{name}.jsonl", [{"input_ids": [token] * (n % 5)} for n in range(90)])
    source = JsonShardedSource([str(tmp_path / f"{name}.jsonl") for name in TOKEN])
    written = save_dataset(source, tmp_path / "units", units=3)
    assert list(written.source_tokens.values()) == [written.num_tokens]


breaks_at: list[int] = []


def broken(row: dict[str, Any]) -> dict[str, Any]:
    """The row, or an error where the test wants one."""
    if row["n"] in breaks_at:
        raise RuntimeError("stopped here")
    return row


def job(folder: Path) -> WriteStats:
    return save_dataset(mixed().map(broken), folder, max_shard_rows=200)


def test_a_resumed_job_counts_what_was_written_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "breaks_at", [1500])
    with pytest.raises(RuntimeError, match="stopped here"):
        job(tmp_path / "out")
    monkeypatch.undo()
    resumed = job(tmp_path / "out")
    assert resumed.kept_shards > 0
    assert resumed.source_tokens == counted(rows_in(tmp_path / "out"))


def test_rows_without_tokens_have_none(tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", [{"text": "words"}])
    assert (
        save_dataset(JsonShardedSource(str(tmp_path / "a.jsonl")), tmp_path / "out").source_tokens
        == {}
    )
