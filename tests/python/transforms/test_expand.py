"""ExpandTransform: one row becomes several, with addresses of their own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batches import loaded_rows
from easydata.sources import JsonShardedSource
from easydata.transforms import (
    ExpandTransform,
    FilterTransform,
    MapField,
    TransformedShardedSource,
)


class Words(ExpandTransform):
    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for index, word in enumerate(example["text"].split()):
            yield {"word": word, "index": index}


class Broken(ExpandTransform):
    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield {"n": 0}
        if example["text"] == "bad":
            raise RuntimeError("in the middle")
        yield {"n": 1}


def source(path: Path, texts: list[str]) -> JsonShardedSource:
    file = path / "a.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return JsonShardedSource(str(file))


def test_last_in_the_middle_and_first(tmp_path: Path) -> None:
    """D20: EasyDeL emits the generator as a row, or stops with AttributeError."""
    rows = source(tmp_path, ["a bb", "", "ccc d e"])
    upper = MapField("text", str.upper)
    long = FilterTransform(lambda row: len(row["word"]) > 1)
    for chain, expected in (
        (Words(), ["a", "bb", "ccc", "d", "e"]),
        (upper >> Words(), ["A", "BB", "CCC", "D", "E"]),
        (upper >> Words() >> long, ["BB", "CCC"]),
        (Words() >> long >> MapField("word", lambda word: word * 2), ["bbbb", "cccccc"]),
    ):
        transformed = TransformedShardedSource(rows, chain)
        assert [row["word"] for row in transformed] == expected
        assert [row["word"] for row in loaded_rows(transformed)] == expected
        one_by_one = rows
        for step in chain if hasattr(chain, "__iter__") else [chain]:
            one_by_one = TransformedShardedSource(one_by_one, step)
        assert [row["word"] for row in one_by_one] == expected


def test_exception_names_the_row_it_came_from(tmp_path: Path) -> None:
    rows = TransformedShardedSource(source(tmp_path, ["ok", "ok", "bad", "ok"]), Broken())
    seen: list[int] = []
    with pytest.raises(RuntimeError, match="in the middle") as error:
        seen.extend(row["n"] for row in loaded_rows(rows))
    assert seen == [0, 1, 0, 1]
    assert any("row 2" in note for note in error.value.__notes__)


def test_rows_must_be_dicts(tmp_path: Path) -> None:
    class Wrong(ExpandTransform):
        def __call__(self, example: dict[str, Any]) -> Iterator[Any]:
            yield example["text"]

    rows = TransformedShardedSource(source(tmp_path, ["a"]), Wrong())
    with pytest.raises(TypeError, match="returned str as a row"):
        list(loaded_rows(rows))
