"""E7, E8: data that is no longer what a state was saved over, bad labels, edited mixes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from easydata import (
    AsyncDataLoader,
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
)

SIZE = 40_000
Make = Callable[[], AsyncDataLoader]


def write(kind: str, documents: int) -> Any:
    """A file of the same size and time, whatever it holds."""
    rows = [{"input_ids": [3 + i % 7] * 5, "pad": ""} for i in range(documents)]
    if kind == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
        rows[-1]["pad"] = "x" * (SIZE - len(text))
        text = "".join(json.dumps(row) + "\n" for row in rows)
        assert len(text) == SIZE
        Path("a.jsonl").write_text(text)
        os.utime("a.jsonl", (1e9, 1e9))
        return JsonShardedSource("a.jsonl")
    pq.write_table(pa.Table.from_pylist(rows), "a.parquet", row_group_size=16, compression="none")
    with open("a.parquet", "ab") as file:
        assert file.tell() <= SIZE
    # Room between the pages and the footer, which is found from the end.
    data = Path("a.parquet").read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    Path("a.parquet").write_bytes(data[:-footer] + bytes(SIZE - len(data)) + data[-footer:])
    os.utime("a.parquet", (1e9, 1e9))
    return ParquetShardedSource("a.parquet")


def packed(source: Any, strategy: Any, *, shuffle: bool = False) -> PackedShardedSource:
    return PackedShardedSource(source, 16, 2, strategy=strategy, pack_window=30, shuffle=shuffle)


def pipeline(name: str, source: Any) -> AsyncDataLoader:
    if name in ("greedy", "best_fit", "pool"):
        return AsyncDataLoader(packed(source, name), 2, drop_last=False)
    if name == "shuffled rows":
        return AsyncDataLoader(packed(source, "greedy", shuffle=True), 2, drop_last=False)
    if name == "mix":
        mixed = MixedShardedSource({"a": source}, block_size=10, stop_strategy="first_exhausted")
        return AsyncDataLoader(mixed, 4, drop_last=False)
    if name == "window":
        return AsyncDataLoader(source, 4, drop_last=False, shuffle_buffer_size=30)
    if name in ("blocks", "rows"):
        return AsyncDataLoader(source.shuffle(name, 1), 4, drop_last=False)
    if name == "filter":
        return AsyncDataLoader(source.filter(lambda row: True), 4, drop_last=False)
    return AsyncDataLoader(source, 4, drop_last=False)


NAMES = ("plain", "filter", "greedy", "best_fit", "pool", "shuffled rows", "mix", "window")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", [*NAMES, "blocks", "rows"])
def test_fewer_documents_in_a_file_of_equal_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pipeline(name, write(kind, 400)) as loader:
        iterator = iter(loader)
        for _ in range(50):
            next(iterator)
        state = json.loads(json.dumps(loader.state_dict()))
        rest = sum(len(batch["input_ids"]) for batch in iterator)
    assert rest > 0
    # The same file again: the rest is there.
    with pipeline(name, write(kind, 400)) as loader:
        loader.load_state_dict(state)
        assert sum(len(batch["input_ids"]) for batch in loader) == rest

    def go_on() -> int:
        with pipeline(name, write(kind, 40)) as loader:
            loader.load_state_dict(state)
            return sum(len(batch["input_ids"]) for batch in loader)

    with pytest.raises((ValueError, OSError), match=r"chang|saved|other"):
        go_on()


BAD = {
    "null": [1, None, 3],
    "too large": [1, 2**31, 3],
    "too small": [1, -(2**31) - 1, 3],
    "too few": [1, 2],
    "text": [1, "a", 3],
    "fraction": [1, 2.5, 3],
    "truth": [1, True, 3],
}


@pytest.mark.parametrize("column", ["labels", "input_ids"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet", "memory"])
@pytest.mark.parametrize("case", BAD)
def test_one_bad_list_is_an_error_at_its_row(
    tmp_path: Path, case: str, kind: str, column: str
) -> None:
    rows: list[dict[str, Any]] = [
        {"input_ids": [5, 6, 7], "labels": [1, 2, 3]} for _ in range(3000)
    ]
    rows[2500][column] = BAD[case]
    source: Any = HFDatasetShardedSource(rows)
    if kind == "jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "a.jsonl").write_text(text)
        source = JsonShardedSource(str(tmp_path / "a.jsonl"))
    elif kind == "parquet":
        if case in ("text", "truth", "fraction"):
            pytest.skip("a column has one type")
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=700)
        source = ParquetShardedSource(str(tmp_path / "a.parquet"))
    packed = PackedShardedSource(source, 16, 2, shuffle=False)
    with AsyncDataLoader(packed, 1, drop_last=False) as loader:
        batches: list[Any] = []
        with pytest.raises((ValueError, TypeError), match=r"row 2500\b"):
            batches.extend(loader)
    # All rows that are full before it came: 2500 documents of four tokens, in rows of 16.
    assert len(batches) == 2500 * 4 // 16


def mixed(weights: dict[str, float], **options: Any) -> AsyncDataLoader:
    sources = {
        name: HFDatasetShardedSource([{"k": name, "i": i} for i in range(10)]) for name in weights
    }
    return AsyncDataLoader(MixedShardedSource(sources, weights, 10, **options), 5)


def sources_in(state: dict[str, Any]) -> list[str]:
    """Names of the sources that a state has positions of (see FoldObjects)."""
    known: list[str] = state["mix"]["mix.sources"]
    names = [name for name in state["cursor"]["sources"] if name != "<folded>"]
    for folded in state["cursor"]["sources"].get("<folded>", ()):
        given = folded["names"]
        names += known if given == "known" else [known[i] for i in given]
    return sorted(names)


def test_the_keys_of_a_state_when_an_edit_has_acted() -> None:
    """E8: while the old mix is in force the state has it; behind it nothing of it is left."""
    with mixed({"a": 0.5, "b": 0.3, "c": 0.2}) as loader:
        iterator = iter(loader)
        for _ in range(3):
            next(iterator)
        state = loader.state_dict()
    assert set(state["cursor"]["mix"]) == {
        "block",
        "examples",
        "carry",
        "epoch",
        "offset",
        "tokens",
    }
    weights = {"a": 0.1, "b": 0.2, "c": 0.0, "d": 0.7}
    with mixed(weights) as loader:
        loader.load_state_dict(state, allow=("mix",))
        seen = []
        for _ in zip(loader, range(200), strict=False):
            seen.append(json.loads(json.dumps(loader.state_dict())))
    acted = ["before" not in each["cursor"]["mix"] for each in seen]
    first = acted.index(True)
    assert acted == [False] * first + [True] * (len(acted) - first)
    for each in seen[first:]:
        assert set(each["cursor"]["mix"]) == set(state["cursor"]["mix"])
        assert sources_in(each) == sorted(weights)
        assert each["mix"]["mix.sources"] == list(weights)
    # Then the state is the new mix's own: it loads without leave, also where "c" is gone.
    with mixed(weights) as loader:
        loader.load_state_dict(seen[-1])
        after = [name for batch, _ in zip(loader, range(20), strict=False) for name in batch["k"]]
    assert "c" not in after
    assert {name: after.count(name) for name in "abd"} == {"a": 10, "b": 20, "d": 70}
    without = {"a": 0.1, "b": 0.2, "d": 0.7}
    with mixed(without) as loader:
        loader.load_state_dict(seen[-1], allow=("mix",))
        for _ in zip(loader, range(200), strict=False):
            pass
        state = loader.state_dict()
    assert sources_in(state) == sorted(without)
    assert "before" not in state["cursor"]["mix"]
