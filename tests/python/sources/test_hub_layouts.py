"""Data sets of the Hub, however their files are laid out, are what `datasets` makes of them."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import HubServer

from easydata import AsyncDataLoader, DatasetConfig, HuggingFaceShardedSource, create_source

datasets = pytest.importorskip("datasets")
snapshot_download = pytest.importorskip("huggingface_hub").snapshot_download

TEST_SIZE = {"name": "test", "num_examples": 9, "num_bytes": 1}
Row = dict[str, Any]
Files = dict[str, bytes]


def rows_of(name: str, count: int = 25) -> list[Row]:
    """Rows that tell where they are from."""
    return [{"text": f"{name} {i}", "n": i, "score": i / 4} for i in range(count)]


def jsonl(rows: list[Row]) -> bytes:
    """Rows as lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def parquet(rows: list[Row]) -> bytes:
    """Rows in groups of ten."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=10)
    return file.getvalue()


def arrow(rows: list[Row]) -> bytes:
    """Rows as `datasets` writes them: a stream."""
    file = io.BytesIO()
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def csv(rows: list[Row], sep: str = ",") -> bytes:
    """Rows with a header."""
    lines = [sep.join(rows[0])] + [sep.join(str(value) for value in row.values()) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def card(head: str) -> bytes:
    """A card with a head, and text that nobody reads."""
    return f"---\n{head.strip()}\n---\n# A data set\n".encode()


def numbered(split: str, shards: int) -> Files:
    """Shards as push_to_hub names them."""
    return {
        f"data/{split}-{i:05}-of-{shards:05}.parquet": parquet(rows_of(f"{split}{i}"))
        for i in range(shards)
    }


CONFIGS = """
configs:
- config_name: en
  data_files:
  - {split: train, path: [en/b.jsonl, en/a.jsonl]}
  - {split: test, path: "en/t*.jsonl"}
- config_name: de
  default: true
  data_files: "de/*.jsonl"
"""
FEATURES = """
dataset_info:
  features:
  - {name: text, dtype: string}
  - {name: n, dtype: string}
  - {name: score, dtype: float32}
  - {name: label, dtype: {class_label: {names: {"0": bad, "1": good}}}}
  - {name: late, dtype: int64}
  - {name: parts, list: [{name: a, dtype: int8}, {name: b, dtype: string}]}
"""
LABELLED = [
    {**row, "label": row["n"] % 2, "parts": [{"a": row["n"], "b": None}]} for row in rows_of("f")
]

LAYOUTS: dict[str, tuple[Files, list[tuple[str, str | None]]]] = {
    "plain files": (
        {"train.parquet": parquet(rows_of("a")), "test.parquet": parquet(rows_of("b", 3))},
        [("train", None), ("test", None)],
    ),
    "one file": ({"x.jsonl": jsonl(rows_of("x")), "README.md": b"# text"}, [("train", None)]),
    "numbered shards": (
        {**numbered("train", 3), **numbered("validation", 1)},
        [("train", None), ("validation", None), ("train+validation", None)],
    ),
    "configs of a card": (
        {
            "README.md": card(CONFIGS),
            **{f"en/{name}.jsonl": jsonl(rows_of(name)) for name in ("a", "b", "t1", "t2")},
            **{f"de/{name}.jsonl": jsonl(rows_of(name)) for name in ("c", "d")},
            "other.jsonl": jsonl(rows_of("o")),
        },
        [("train", "en"), ("test", "en"), ("train", None), ("train", "de")],
    ),
    "folders": (
        {
            "train/a.csv": csv(rows_of("a")),
            "train/deep/b.csv": csv(rows_of("b")),
            "dev/c.csv": csv(rows_of("c")),
        },
        [("train", None), ("validation", None)],
    ),
    "compressed lines": (
        {
            "train-0.jsonl.gz": gzip.compress(jsonl(rows_of("g"))),
            "train-1.jsonl.gz": gzip.compress(jsonl(rows_of("h"))),
        },
        [("train", None)],
    ),
    "options of a reader": (
        {
            "README.md": card("configs:\n- {config_name: default, data_files: a.csv, sep: ';'}"),
            "a.csv": csv(rows_of("a"), ";"),
        },
        [("train", None)],
    ),
    "text": (
        {"train.txt": "one\ntwo\n\nthree ü".encode(), "test.txt": b"four\n"},
        [("train", None), ("test", None)],
    ),
    "arrow": ({"data-0.arrow": arrow(rows_of("a")), "data-1.arrow": arrow(rows_of("b"))},
              [("train", None)]),
    "features": (
        {"README.md": card(FEATURES), "train.jsonl": jsonl(LABELLED)},
        [("train", None)],
    ),
    "a folder as subset": (
        {"python/a.parquet": parquet(rows_of("py")), "go/a.parquet": parquet(rows_of("go"))},
        [("train", "python"), ("train", "go"), ("train", None)],
    ),
}  # fmt: skip
CASES = [
    pytest.param(name, split, subset, id=f"{name}, {split}, {subset}")
    for name, (_, asked) in LAYOUTS.items()
    for split, subset in asked
]


def theirs(name: str, split: str, subset: str | None) -> list[Row]:
    """What `datasets` reads; of the folder of that name where there is no such config."""
    known = datasets.get_dataset_config_names(name)
    where = {"name": subset} if subset in known else {"data_dir": subset}
    return list(datasets.load_dataset(name, **where, split=split, streaming=True))


@pytest.mark.parametrize(("layout", "split", "subset"), CASES)
def test_rows_are_those_of_datasets(
    layout: str, split: str, subset: str | None, hub_here: HubServer
) -> None:
    hub_here.repo("datasets", "org/data", LAYOUTS[layout][0])
    source = HuggingFaceShardedSource("org/data", split, subset)
    assert source.shard_names == (f"org/data:{split}",)
    rows = list(source)
    if "+" in split:
        expected = [row for part in split.split("+") for row in theirs("org/data", part, subset)]
    else:
        expected = theirs("org/data", split, subset)
    assert rows == expected
    # What lines lack comes last.
    assert layout == "features" or list(rows[0]) == list(expected[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_state_goes_on_and_local_copies_have_the_same_rows(
    layout: str, hub_here: HubServer, tmp_path: Path
) -> None:
    files, asked = LAYOUTS[layout]
    hub_here.repo("datasets", "org/data", files)
    split, subset = asked[0]
    made = HuggingFaceShardedSource("org/data", split, subset)
    expected = list(made)
    with AsyncDataLoader(HuggingFaceShardedSource("org/data", split, subset), 4) as batches:
        state = None
        texts: list[str] = []
        for number, batch in enumerate(batches):
            texts += list(batch["text"])
            if number == 1 and len(expected) > 8:
                state = json.loads(json.dumps(batches.state_dict()))
    assert texts == [row["text"] for row in expected][: len(texts)]
    if state is not None:
        with AsyncDataLoader(made, 4) as batches:
            batches.load_state_dict(state)
            assert [text for batch in batches for text in batch["text"]] == texts[8:]
    snapshot = Path(snapshot_download("org/data", repo_type="dataset", local_dir=tmp_path / "copy"))
    copies = [str(snapshot / uri.split("@", 1)[1].split("/", 1)[1]) for uri in made.listing.uris]
    read_as = made.splits.options
    rows = [row for copy in copies for row in create_source(DatasetConfig(copy, **read_as))]
    assert [row["text"] for row in rows] == [row["text"] for row in expected]


SLICES = [
    "train[:1%]",
    "train[5:12]",
    "train[-7:]",
    "train[:50%](pct1_dropremainder)",
    "train[30:60]",
    "train[33%:66%]",
    "test+train",
    "train[10:20]+test[:2]+train[-3:]",
    "train+train",
]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "card"])
@pytest.mark.parametrize("split", SLICES)
def test_slices_are_those_of_datasets(split: str, kind: str, hub_here: HubServer) -> None:
    write = parquet if kind == "parquet" else jsonl
    suffix = "parquet" if kind == "parquet" else "jsonl"
    files = {f"train-{i}.{suffix}": write(rows_of(f"t{i}", 53)) for i in range(3)}
    files[f"test.{suffix}"] = write(rows_of("test", 9))
    if kind == "card":
        sizes = [{"name": "train", "num_examples": 159, "num_bytes": 1}, TEST_SIZE]
        head = {"dataset_info": {"splits": sizes}}
        files["README.md"] = card(json.dumps(head))
    hub_here.repo("datasets", "org/data", files)
    source = HuggingFaceShardedSource("org/data", split)
    if kind == "jsonl" and "%" in split:
        with pytest.raises(ValueError, match=r"percentage of rows that nobody counted.*num_rows"):
            next(iter(source))
        return
    expected = list(datasets.load_dataset("org/data", split=split))
    assert list(source) == expected
    for row in (1, len(expected) // 2, len(expected)):
        assert list(source.open_shard_at_row("any", row)) == expected[row:]


def test_a_slice_without_rows_is_refused(hub_here: HubServer) -> None:
    hub_here.repo("datasets", "org/data", {"train.parquet": parquet(rows_of("t", 20))})
    with pytest.raises(ValueError, match=r"'train\[20:\]' has no rows; there are 20 in 'train'"):
        next(iter(HuggingFaceShardedSource("org/data", "train[20:]")))
    with pytest.raises(ValueError, match="corresponds to no data"):
        datasets.load_dataset("org/data", split="train[20:]")
