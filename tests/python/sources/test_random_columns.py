"""Random columns over files of random formats: every verb has their union, or says why not."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.cli import main

import easydata
from easydata import DatasetConfig, create_source

Rows = list[dict[str, Any]]

# Types of a column, from which each file takes one; a value that any of them holds.
FAMILIES: dict[str, tuple[list[pa.DataType], Callable[[random.Random], Any]]] = {
    "text": (
        [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
        lambda rng: rng.choice(["", "a", "é", "words of a text"]),
    ),
    "integers": ([pa.int8(), pa.int32(), pa.int64(), pa.uint8()], lambda rng: rng.randrange(100)),
    "floats": ([pa.float32(), pa.float64()], lambda rng: rng.randrange(100) / 4),
    "lists": (
        [pa.list_(pa.int32()), pa.large_list(pa.int64())],
        lambda rng: [rng.randrange(9) for _ in range(rng.randrange(4))],
    ),
    "objects": (
        [
            pa.struct([("a", pa.int32())]),
            pa.struct([("a", pa.int64()), ("b", pa.string())]),
            pa.struct([("b", pa.large_string()), ("a", pa.int32())]),
        ],
        lambda rng: {"a": rng.randrange(9)},
    ),
}
OF_CSV = ["text"]


def column(family: str, kind: pa.DataType, count: int, rng: random.Random) -> pa.Array:
    """Values of a type, some of them null."""
    make = FAMILIES[family][1]
    values = [None if rng.random() < 0.2 else make(rng) for _ in range(count)]
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, kind)


def write(path: Path, table: pa.Table) -> None:
    """A file of the format that its name tells."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=2)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, table.column_names)
            writer.writeheader()
            writer.writerows(table.to_pylist())


def files_of(folder: Path, kind: str, rng: random.Random) -> tuple[list[str], Rows]:
    """Some files, and the rows that they mean."""
    families = OF_CSV if kind == "csv" else list(FAMILIES)
    columns = {f"c{n}": rng.choice(families) for n in range(rng.randrange(1, 6))}
    paths, tables = [], []
    for n in range(rng.randrange(2, 6)):
        mine = [name for name in columns if rng.random() < 0.6]
        rng.shuffle(mine)
        count = rng.randrange(1, 5)
        made: dict[str, pa.Array] = {"n": pa.array([str(n * 10 + i) for i in range(count)])}
        for name in mine:
            made[name] = column(columns[name], rng.choice(FAMILIES[columns[name]][0]), count, rng)
        table = pa.table(made)
        path = folder / f"{n}.{kind}"
        write(path, table)
        paths.append(str(path))
        tables.append(table)
    everywhere = list(dict.fromkeys(name for table in tables for name in table.column_names))
    keys: dict[str, list[str]] = {}
    for table in tables:
        for field in table.schema:
            if pa.types.is_struct(field.type):
                known = keys.setdefault(field.name, [])
                known += [key.name for key in field.type if key.name not in known]
    rows: Rows = []
    for table in tables:
        for row in table.to_pylist():
            whole = {name: row.get(name) for name in everywhere}
            for name, names in keys.items():
                if whole[name] is not None:
                    whole[name] = {key: whole[name].get(key) for key in names}
            if kind == "csv":  # which has no nulls
                lacking = set(everywhere) - set(table.column_names)
                whole = {
                    name: "" if value is None and name not in lacking else value
                    for name, value in whole.items()
                }
            rows.append(whole)
    return paths, rows


def identity(row: dict[str, Any]) -> dict[str, Any]:
    """A function of the user's."""
    return row


def saved(source: Any, folder: Path, name: str = "parquet") -> Rows:
    """What saving a source writes, as rows."""
    stats = easydata.save_dataset(source, str(folder), format=name)
    rows: Rows = []
    for path in stats.output_paths:
        if name == "parquet":
            rows += pq.read_table(path).to_pylist()
        elif name == "arrow":
            with pa.OSFile(path) as file:
                rows += pa.ipc.open_file(file).read_all().to_pylist()
        else:
            rows += [json.loads(line) for line in Path(path).read_text().splitlines()]
    return rows


def loaded(source: Any) -> Rows | None:
    """What a loader gives of a source, one row a batch; None where it refuses a null by name."""
    with easydata.AsyncDataLoader(source, 1, drop_last=False) as loader:
        try:
            return [{"n": str(batch["n"][0]), "columns": sorted(batch)} for batch in loader]
        except ValueError as error:
            if "has no value here, and an array cannot hold that" in str(error):
                return None
            raise


def converted(paths: list[str], folder: Path) -> Rows:
    """What the command `convert` writes of files."""
    assert main(["convert", *paths, "--output-dir", str(folder)]) == 0
    return [row for path in sorted(folder.glob("*.parquet")) for row in read(path)]


def read(path: Path) -> Rows:
    """The rows of a Parquet file."""
    rows: Rows = pq.read_table(path).to_pylist()
    return rows


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("seed", range(4))
def test_packing_has_the_tokens_of_all_files(kind: str, seed: int, tmp_path: Path) -> None:
    """Files whose other columns differ, of which the first has no labels."""
    rng = random.Random(f"pack {kind} {seed}")
    paths, documents = [], []
    for n in range(rng.randrange(2, 5)):
        mine = [[rng.randrange(2, 99) for _ in range(rng.randrange(1, 9))] for _ in range(3)]
        columns: dict[str, Any] = {"input_ids": pa.array(mine, pa.list_(pa.int32()))}
        family = rng.choice(list(FAMILIES))
        if n > 0:
            columns[f"c{n % 2}"] = column("text", pa.string(), 3, rng)
            columns[f"d{n}"] = column(family, FAMILIES[family][0][0], 3, rng)
        write(tmp_path / f"{n}.{kind}", pa.table(columns))
        paths.append(str(tmp_path / f"{n}.{kind}"))
        documents += mine
    source = create_source(DatasetConfig(paths))
    packed = easydata.PackedShardedSource(source, 16, eos_token_id=1, shuffle=False)
    tokens = [
        token
        for row in packed
        for token, is_used in zip(row["input_ids"], row["attention_mask"], strict=True)
        if is_used
    ]
    assert tokens == [token for document in documents for token in (*document, 1)]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("seed", range(12))
def test_no_verb_loses_a_column(kind: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{kind} {seed}")
    folder = tmp_path / "in"
    folder.mkdir()
    paths, rows = files_of(folder, kind, rng)
    source = create_source(DatasetConfig(paths))
    assert list(source) == rows
    assert list(source.map(identity)) == rows
    shuffled = list(source.shuffle("rows", seed=seed))
    assert sorted(shuffled, key=lambda row: int(row["n"])) == rows
    assert saved(source, tmp_path / "out") == rows
    assert saved(source, tmp_path / "lines", "jsonl") == rows
    assert saved(source.map(identity), tmp_path / "mapped") == rows
    assert converted(paths, tmp_path / "converted") == rows
    batches = loaded(source)
    if batches is not None:
        assert [row["n"] for row in batches] == [row["n"] for row in rows]
        assert all(row["columns"] == sorted(rows[0]) for row in batches)
    wanted = rng.sample(sorted(rows[0]), rng.randrange(1, len(rows[0]) + 1))
    selected = list(create_source(DatasetConfig(paths, columns=wanted)))
    assert selected == [{name: row[name] for name in wanted} for row in rows]
    # Some of its files, in another order, have the columns of these.
    some = rng.sample(paths, rng.randrange(1, len(paths) + 1))
    numbers = {row["n"] for row in rows}
    got = list(create_source(DatasetConfig(some)))
    assert {row["n"] for row in got} <= numbers
    whole = {row["n"]: row for row in rows}
    for row in got:
        assert row == {name: whole[row["n"]][name] for name in row} or kind != "csv"
