"""Sources as data sets of Hugging Face: columns, states, typed rows, a cheap start."""

import json
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.trainers import DPOPreprocessTransform

import easydata
from easydata import ShardedDataSource

pytest.importorskip("datasets")


def pairs(folder: Path, tokenizers: Path, **options: Any) -> Any:
    """Two files of pairs, made ready for a trainer; a third of them is left out."""
    for part in range(2):
        rows = [
            {"prompt": "a " * (n % 3 * 5), "chosen": f"b{part}", "rejected": f"c{n}", "margin": n}
            for n in range(9)
        ]
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    transform = DPOPreprocessTransform(
        str(tokenizers / "split"), layout="trl", max_length=10, **options
    )
    return easydata.JsonShardedSource(str(folder / "*.jsonl")).transform(transform)


def test_columns_are_known_where_rows_have_a_schema(tmp_path: Path, own_tokenizers: Path) -> None:
    made = pairs(tmp_path, own_tokenizers)
    stream = made.to_hf()
    assert stream.column_names == ["prompt_ids", "chosen_ids", "rejected_ids"]
    assert stream.num_shards == 2
    rows = list(stream)
    assert rows == list(made)
    assert len(rows) == 12
    # What JSON says is of any type, and stays as it is.
    kept = pairs(tmp_path, own_tokenizers, keep_columns=["margin"])
    assert kept.to_hf().column_names is None
    assert list(kept.to_hf()) == list(kept)
    assert easydata.JsonShardedSource(str(tmp_path / "*.jsonl")).to_hf().column_names is None


def test_each_iteration_begins_anew(tmp_path: Path, own_tokenizers: Path) -> None:
    made = pairs(tmp_path, own_tokenizers)
    stream = made.to_hf()
    expected = list(made)
    for _ in range(3):
        assert next(iter(stream)) == expected[0]
    running = iter(stream)
    assert [next(running) for _ in range(3)] == expected[:3]
    assert list(stream) == expected
    assert list(running) == expected[3:]


def test_a_state_is_of_the_next_row(tmp_path: Path, own_tokenizers: Path) -> None:
    made = pairs(tmp_path, own_tokenizers)
    expected = list(made)
    running = made.to_hf()
    rows = iter(running)
    for taken in range(len(expected)):
        state = json.loads(json.dumps(running.state_dict()))
        other = made.to_hf()
        other.load_state_dict(state)
        assert list(other) == expected[taken:], taken
        assert next(rows) == expected[taken]


def test_typed_rows_stay_as_they_are(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["a", None, ""],
            "n": pa.array([1, None, 3], pa.int8()),
            "x": pa.array([0.5, None, 2], pa.float32()),
            "b": [True, None, False],
            "ids": pa.array([[1, 2], None, []], pa.list_(pa.uint16())),
            "lists": pa.array([[["a"], None], [], None], pa.large_list(pa.list_(pa.string()))),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    source = easydata.ParquetShardedSource(tmp_path / "rows.parquet")
    stream = source.to_hf()
    assert stream.column_names == table.column_names
    assert list(stream) == list(source) == table.to_pylist()
    # Other types, which `datasets` may see otherwise, are not told.
    dated = table.append_column("day", pa.array([date(2026, 1, 1), None, None]))
    pq.write_table(dated, tmp_path / "dated.parquet")
    source = easydata.ParquetShardedSource(tmp_path / "dated.parquet")
    assert source.to_hf().column_names is None
    assert list(source.to_hf()) == list(source)


def test_labels_of_packed_rows_are_int64(tmp_path: Path) -> None:
    """Torch's losses take no others; the ids stay the engine's int32."""
    rows = [{"input_ids": list(range(1, n % 5 + 2))} for n in range(20)]
    source = easydata.create_source(easydata.DatasetConfig(data_files=rows))
    packed = easydata.PackedShardedSource(source, 8, 0, labels=True, shuffle=False)
    for made, own in zip(packed.to_hf(), packed, strict=True):
        types = {name: str(values.dtype) for name, values in made.items()}
        assert types == {**dict.fromkeys(own, "int32"), "labels": "int64"}
        assert made["labels"].tolist() == own["labels"].tolist()


class CountedSource(ShardedDataSource[dict[str, Any]]):
    """A source in Python, which tells how many rows were read of it."""

    read = 0

    @property
    def shard_names(self) -> Sequence[str]:
        return ["only"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        for n in range(10_000):
            CountedSource.read += 1
            yield {"n": n}


def test_a_look_at_the_first_row_reads_no_others() -> None:
    CountedSource.read = 0
    stream = CountedSource().to_hf()
    assert CountedSource.read <= 1
    CountedSource.read = 0
    assert next(iter(stream)) == {"n": 0}
    assert CountedSource.read == 1
