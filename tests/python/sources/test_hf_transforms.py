"""Rows of Hugging Face's data sets with a transform of their own are what iterating gives."""

from typing import Any

import pytest

from easydata import AsyncDataLoader, HFDatasetShardedSource

datasets = pytest.importorskip("datasets")


def shouted(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {"text": [text.upper() for text in rows["text"]]}


def test_a_transform_acts() -> None:
    data = datasets.Dataset.from_dict({"text": [f"t{n}" for n in range(8)], "n": range(8)})
    other = data.select([7, 1, 3])
    other.set_transform(shouted)
    for given in (data.with_transform(shouted), other):
        expected = [row["text"] for row in given]
        assert expected[0].startswith("T")
        source = HFDatasetShardedSource(given)
        assert [row["text"] for row in source] == expected
        assert [row["text"] for row in source.open_shard_at_row("hf_dataset:0", 2)] == expected[2:]
        with AsyncDataLoader(source, 1) as loader:
            assert [batch["text"][0] for batch in loader] == expected
        assert sorted(row["text"] for row in source.shuffle("rows", seed=1)) == sorted(expected)
    # Formats are another look at the same values.
    assert [row["text"] for row in HFDatasetShardedSource(data.with_format("numpy"))] == data[
        "text"
    ][:]
