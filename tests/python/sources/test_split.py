"""split(): every row is in one part, and stays there."""

import json
import pickle
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from easydata.cli.flags import Choice, UsageError, config_values
from easydata.core.config import ConfigError
from easydata.sources import JsonShardedSource, ParquetShardedSource
from easydata.sources.sharded_source import ShardedDataSource
from programs import run_python

from easydata import (
    AsyncDataLoader,
    DatasetConfig,
    MixedShardedSource,
    create_source,
    save_dataset,
    wrap_hf_dataset,
)

PARTS = {"train": 0.9, "validation": 0.07, "test": 0.03}
ROWS = 4000
Row = dict[str, Any]


def write(folder: Path, kind: str, rows: int = ROWS) -> ShardedDataSource[Row]:
    (folder / "sub").mkdir(parents=True)
    made = [{"n": n, "text": f"{n % 50} " + "x" * 700} for n in range(rows)]
    for name, part in (("a", made[: rows // 4]), ("sub/b", made[rows // 4 :])):
        if kind == "parquet":
            pq.write_table(
                pa.Table.from_pylist(part), folder / f"{name}.parquet", row_group_size=100
            )
        else:
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    return opened(folder, kind)


def opened(folder: Path, kind: str) -> ShardedDataSource[Row]:
    source = ParquetShardedSource if kind == "parquet" else JsonShardedSource
    return source(f"{folder}/**")


def numbers(source: ShardedDataSource[Row]) -> list[int]:
    return [row["n"] for row in source]


def joined(parts: Iterable[ShardedDataSource[Row]]) -> list[int]:
    return [n for part in parts for n in numbers(part)]


def loaded(source: ShardedDataSource[Row], **options: Any) -> list[int]:
    found: list[int] = []
    with AsyncDataLoader(source, 16, drop_last=False, **options) as loader:
        for batch in loader:
            found += [int(n) for n in batch["n"]]
    return found


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_parts_are_disjoint_complete_and_stay(kind: str, tmp_path: Path) -> None:
    source = write(tmp_path / "data", kind)
    assert numbers(source) == list(range(ROWS))
    parts = {name: numbers(part) for name, part in source.split(PARTS, seed=3).items()}
    assert sorted([n for found in parts.values() for n in found]) == list(range(ROWS))
    assert all(found == sorted(found) for found in parts.values())
    if kind == "parquet":
        assert [len(found) for found in parts.values()] == [3600, 280, 120]
        assert [len(part) for part in source.split(PARTS, seed=3).values()] == [3600, 280, 120]
    else:
        assert abs(len(parts["train"]) - 3600) < 60
        assert 60 < len(parts["test"]) < 190
    assert numbers(source.split(PARTS, seed=4)["test"]) != parts["test"]
    # Whatever reads them, in whatever order.
    part = source.split(PARTS, seed=3)["validation"]
    assert loaded(part) == loaded(pickle.loads(pickle.dumps(part))) == parts["validation"]
    for order in ("blocks", "rows"):
        for shuffled in (
            part.shuffle(order, seed=1),
            source.shuffle(order, seed=1).split(PARTS, 3)["validation"],
        ):
            found = loaded(shuffled)
            assert sorted(found) == parts["validation"] != found
            assert loaded(shuffled, num_threads=3) == found
    if kind == "parquet":  # the types of JSON rows show in a whole step
        lanes: list[int] = []
        for rank in range(2):
            lanes += loaded(part, rank=rank, world_size=2, lanes=2, steps=4)
        assert len(set(lanes)) == 64
        assert set(lanes) < set(parts["validation"])
    # Data that moved keep their parts.
    shutil.move(tmp_path / "data", tmp_path / "elsewhere")
    assert (
        numbers(opened(tmp_path / "elsewhere", kind).split(PARTS, seed=3)["test"]) == parts["test"]
    )


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_rows_made_of_rows_are_in_their_part(kind: str, tmp_path: Path) -> None:
    source = write(tmp_path / "data", kind)
    expected = numbers(source.split(PARTS)["test"])
    assert numbers(source.map(lambda row: {"n": row["n"]}).split(PARTS)["test"]) == expected
    odd = source.filter(lambda row: row["n"] % 2 == 1).split(PARTS)["test"]
    assert numbers(odd) == [n for n in expected if n % 2 == 1]
    for _ in range(2):
        cached = source.cache(tmp_path / "kept")
        assert numbers(cached.split(PARTS)["test"]) == expected
        assert sorted(loaded(cached.shuffle("blocks", 1).split(PARTS)["test"])) == expected
    taken = source.take(900).split(PARTS)
    assert sorted(joined(taken.values())) == list(range(900))
    mixed = MixedShardedSource({"a": source, "b": source}, stop_strategy="all_exhausted")
    assert set(numbers(mixed.split(PARTS)["test"])) == set(expected)


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_part_goes_on_where_it_was(kind: str, tmp_path: Path) -> None:
    source = write(tmp_path / "data", kind)
    for part in (source.split(PARTS)["train"], source.split(PARTS)["train"].shuffle("blocks", 1)):
        with AsyncDataLoader(part, 16) as loader:
            batches = iter(loader)
            for _ in range(100):
                next(batches)
            state = loader.state_dict()
            expected = [list(batch["n"]) for batch in batches]
        with AsyncDataLoader(part, 16) as loader:
            loader.load_state_dict(state)
            assert [list(batch["n"]) for batch in loader] == expected
    other = source.split(PARTS)["test"]
    with AsyncDataLoader(other, 16) as loader, pytest.raises(ValueError, match="part"):
        loader.load_state_dict(state)


def test_by_value(tmp_path: Path) -> None:
    by_kind = {}
    for kind in ("json", "parquet"):
        source = write(tmp_path / kind, kind)
        parts = source.split(PARTS, by="text")
        found = {name: {row["text"] for row in part} for name, part in parts.items()}
        assert sum(map(len, found.values())) == 50, "one text is in one part"
        by_kind[kind] = found
        shuffled = parts["train"].shuffle("blocks", 2)
        assert sorted(numbers(shuffled)) == numbers(parts["train"]) != numbers(shuffled)
        with_ids = source.split(PARTS, by="n")["test"]
        assert numbers(with_ids.select_fields(["n"])) == numbers(with_ids)
        by_kind[kind]["ids"] = set(numbers(with_ids))
        assert loaded(parts["train"].select_fields(["n"])) == numbers(parts["train"])
    assert by_kind["json"] == by_kind["parquet"], "whatever the format"
    few = wrap_hf_dataset([{"text": "a"}, {"text": None}])
    with pytest.raises(ValueError, match=r'row 1.*has no "text" to tell its part by'):
        list(few.split(PARTS, by="text")["train"])
    with pytest.raises(TypeError, match='"text" is \\[1\\], expected text'):
        list(wrap_hf_dataset([{"text": [1]}]).split(PARTS, by="text")["train"])


def test_rows_in_memory() -> None:
    rows = [{"n": n} for n in range(1000)]
    of_list = wrap_hf_dataset(rows).split(PARTS, seed=5)
    of_table = wrap_hf_dataset(pa.Table.from_pylist(rows)).split(PARTS, seed=5)
    for name, share in PARTS.items():
        assert len(of_list[name]) == len(of_table[name]) == round(1000 * share)
        assert numbers(of_list[name]) == numbers(of_table[name])
    assert sorted(joined(of_list.values())) == list(range(1000))
    assert sorted(loaded(of_table["test"].shuffle("rows", 1))) == numbers(of_table["test"])


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_units_of_a_part_are_all_of_it(kind: str, tmp_path: Path) -> None:
    part = write(tmp_path / "data", kind).split(PARTS)["validation"]
    save_dataset(part, str(tmp_path / "units"), units=400_000 if kind == "json" else 10_000)
    shards = sorted((tmp_path / "units").glob("*.parquet"))
    assert len(shards) > 2, "files are cut into units"
    saved = [n for shard in shards for n in pq.read_table(shard)["n"].to_pylist()]
    assert saved == numbers(part)


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_in_a_config(kind: str, tmp_path: Path) -> None:
    source = write(tmp_path / "data", kind)
    expected = {name: numbers(part) for name, part in source.split(PARTS, seed=2).items()}
    files = f"{tmp_path}/data/**"
    for name in PARTS:
        config = DatasetConfig(data_files=files, parts=PARTS, part=name, part_seed=2)
        assert numbers(create_source(config)) == list(map(int, loaded(create_source(config))))
        assert numbers(create_source(config)) == expected[name]
    shuffled = DatasetConfig(
        data_files=files, parts=PARTS, part="test", part_seed=2, shuffle="rows"
    )
    assert sorted(numbers(create_source(shuffled, seed=9))) == expected["test"]
    assert loaded_rows is not None
    for wrong, match in [
        ({"parts": {"a": 0.5}}, r"make up 0.5"),
        ({"parts": PARTS}, r"part is required with parts"),
        ({"parts": PARTS, "part": "tset"}, r'did you mean "test"'),
        ({"parts": {"a": 0, "b": 1}, "part": "a"}, r"a share is above 0"),
        ({"part": "test"}, r"names one of parts, which are unset"),
        ({"part_seed": 3}, r"part_seed"),
    ]:
        with pytest.raises(ConfigError, match=match):
            create_source(DatasetConfig(data_files=files, **wrong))


def test_what_is_no_split_says_what_is() -> None:
    source = wrap_hf_dataset([{"n": 1}])
    with pytest.raises(TypeError, match=r'\{"train": 0.98, "validation": 0.02\}, not float'):
        source.split(0.05)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"make up 0\.9"):
        source.split({"a": 0.9})
    with pytest.raises(ValueError, match="no parts"):
        source.split({})


def test_parts_are_those_of_every_version(tmp_path: Path) -> None:
    """A row that was validated on is never trained on by a later version."""
    rows = [{"n": n} for n in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files, parts = JsonShardedSource(str(tmp_path / "a.jsonl")), {"train": 0.8, "test": 0.2}
    assert numbers(files.split(parts, 7)["test"]) == [2, 4, 6, 7, 21, 22, 24, 27, 32]
    assert numbers(files.split(parts, 7, by="n")["test"]) == [0, 10, 13, 17, 21, 24, 25]
    in_memory = wrap_hf_dataset(rows).split(parts, 7)["test"]
    assert numbers(in_memory) == [6, 8, 9, 17, 18, 29, 34, 39]


def test_rows_that_python_shuffles_are_split_before() -> None:
    shuffled = wrap_hf_dataset([{"n": n} for n in range(100)]).shuffle("rows", 1)
    assert sorted(numbers(shuffled.split(PARTS)["test"])) == numbers(
        wrap_hf_dataset([{"n": n} for n in range(100)]).split(PARTS)["test"]
    )
    with pytest.raises(ValueError, match=r"split them before they are shuffled"):
        numbers(shuffled.take(50).split(PARTS)["test"])


def test_parts_are_flags_too(tmp_path: Path) -> None:
    source = write(tmp_path / "in", "jsonl", 300)
    parts = source.split({"train": 0.9, "validation": 0.1}, seed=3)
    command = f"-m easydata.cli convert {tmp_path}/in/** --format jsonl --part-seed 3".split()

    def convert(out: str, *flags: str, status: int = 0) -> Any:
        folder = ["--output-dir", str(tmp_path / out)]
        return run_python(*command, *folder, *flags, status=status)

    for number, given in enumerate((["train=0.9,validation=0.1"], ["train=0.9", "validation=0.1"])):
        name = ("train", "validation")[number]
        flags = [flag for each in given for flag in ("--parts", each)]
        convert(name, *flags, "--part", name)
        shards = sorted((tmp_path / name).rglob("*.jsonl"))
        written = [json.loads(line) for shard in shards for line in shard.read_text().splitlines()]
        assert sorted(row["n"] for row in written) == sorted(numbers(parts[name]))
    said = convert("no", "--parts", "train=9,validation=1", "--part", "train", status=2).stderr
    assert "a share is above 0, and 1 at most" in said
    for wrong, says in {
        "train=x": "--parts takes NAME=NUMBER, such as train=0.98, not 'train=x'",
        "a=0.5,a=0.5": "--parts names 'a' twice",
    }.items():
        with pytest.raises(UsageError, match=says):
            config_values(["x"], None, {"parts": [wrong]}, Choice(("DatasetConfig",)))
    for wrong in ("train", "=0.5"):
        with pytest.raises(UsageError, match="--parts takes NAME="):
            config_values(["x"], None, {"parts": [wrong]}, Choice(("DatasetConfig",)))
