"""Iterators as data: nothing that looks at their rows takes them away."""

from pathlib import Path

import pytest
from small_tokenizer import small_tokenizer

from easydata import HFDatasetShardedSource, TokenizedShardedSource, TokenizerConfig


@pytest.mark.parametrize("count", [5, 5000])
def test_all_rows_of_an_iterator_are_tokenized(tmp_path: Path, count: int) -> None:
    small_tokenizer(tmp_path / "tok")
    config = TokenizerConfig(str(tmp_path / "tok"))
    rows = [{"text": f"alpha beta {i}"} for i in range(count)]

    def ids(data: object) -> list[list[int]]:
        source = TokenizedShardedSource(HFDatasetShardedSource(data), config.name_or_path, config)
        return [row["input_ids"] for row in source]

    assert ids(row for row in rows) == ids(iter(rows)) == ids(rows)


def test_an_iterator_is_read_once() -> None:
    few = HFDatasetShardedSource(iter([{"n": 1}, {"n": 2}]))
    assert list(few) == list(few) == [{"n": 1}, {"n": 2}]
    many = HFDatasetShardedSource({"n": i} for i in range(3000))
    assert [row["n"] for row in many] == list(range(3000))
    with pytest.raises(ValueError, match=r"can be read once, and this one was: .*list\(rows\)"):
        list(many)
