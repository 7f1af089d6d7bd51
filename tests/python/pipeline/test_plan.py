"""What a pipeline's plan knows: whether it ends, what a step of it is, which tokenizer packs it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_folders import OWN
from easydata.execution.stages import TokenizeStage
from easydata.transforms import LimitedShardedSource, Transform

from easydata import (
    AsyncDataLoader,
    BaseStage,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    Pipeline,
    ShardedDataSource,
    TokenizeStageConfig,
    WeightSchedulePoint,
    WeightScheduler,
    save_dataset,
    wrap_hf_dataset,
)

ROWS = 1000


def rows(name: str, count: int = ROWS) -> ShardedDataSource[Any]:
    return wrap_hf_dataset([{"name": name, "input_ids": [1, 2, 3]} for _ in range(count)])


def mix_by_steps() -> MixedShardedSource:
    points = [
        WeightSchedulePoint(0, {"a": 1.0, "b": 0.0}),
        WeightSchedulePoint(8, {"a": 0.0, "b": 1.0}),
    ]
    return MixedShardedSource(
        {"a": rows("a"), "b": rows("b")},
        block_size=4,
        schedule_unit="steps",
        weight_scheduler=WeightScheduler(points),
    )


class Same(Transform):
    """Gives rows as they are, under any name."""

    def __init__(self, name: str = "Same()") -> None:
        self.name = name

    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        return example

    def __repr__(self) -> str:
        return self.name


@pytest.mark.parametrize(
    "between",
    [
        lambda mix: mix,
        lambda mix: mix.map(dict),
        lambda mix: mix.transform(Same()),
        lambda mix: mix.select_fields(["name"]),
        lambda mix: LimitedShardedSource(mix, 10_000),
        lambda mix: mix.filter(bool).map(dict),
    ],
)
def test_a_schedule_counts_the_loaders_steps_through_anything(
    between: Callable[[Any], ShardedDataSource[Any]],
) -> None:  # D1 of house.md
    with AsyncDataLoader(between(mix_by_steps()), batch_size=4) as loader:
        names = [batch["name"] for batch in islice(loader, 12)]
    assert names == [["a"] * 4] * 8 + [["b"] * 4] * 4


def test_a_schedule_counts_the_steps_of_packed_rows_through_anything() -> None:  # D1
    for source in (mix_by_steps(), mix_by_steps().map(dict)):
        packed = PackedShardedSource(source, 8, 9, shuffle=False)  # a document takes 4 of a row
        with AsyncDataLoader(packed.map(dict), batch_size=4) as loader:
            taken = sum(1 for _ in islice(loader, 8))
            of = {name: each["tokens"] for name, each in loader.stats()["sources"].items()}
        assert taken == 8
        assert of.get("a", 0) > 0
        assert "b" not in of


def test_a_mix_inside_a_mix_cannot_count_steps() -> None:
    outer = MixedShardedSource({"inner": mix_by_steps(), "b": rows("b")})
    with pytest.raises(ValueError, match=r'sources\["inner"\]: .* a mix inside a mix cannot see'):
        AsyncDataLoader(outer)


@pytest.mark.parametrize("name", ["limit words", "limit 3", '{"limit": 3}'])
def test_a_transforms_name_ends_no_stream(tmp_path: Path, name: str) -> None:  # D2
    endless = MixedShardedSource({"a": rows("a"), "b": rows("b")}).transform(Same(name))
    with pytest.raises(ValueError, match="never ends"):
        save_dataset(endless, tmp_path / "out", "jsonl")
    assert not (tmp_path / "out").exists()


def test_documents_without_tokens_behind_a_limit_are_an_error(tmp_path: Path) -> None:  # D3
    table = pa.table({"input_ids": pa.array([[]] * 20_000, pa.list_(pa.int32()))})
    pq.write_table(table, tmp_path / "empty.parquet")
    empty = ParquetShardedSource(tmp_path / "empty.parquet")
    for source in (empty, LimitedShardedSource(empty, 10_000)):
        packed = PackedShardedSource(source, 8, 2, shuffle=False)
        with (
            AsyncDataLoader(packed, batch_size=1, steps=3) as loader,
            pytest.raises(ValueError, match="token"),
        ):
            next(iter(loader))


def test_a_mix_that_ends_of_one_that_restarts_can_be_saved(tmp_path: Path) -> None:  # D5
    inner = MixedShardedSource({"p": rows("p", 3), "q": rows("q", 3)})
    outer = MixedShardedSource(
        {"i": inner, "b": rows("b", 5)}, stop_strategy="first_exhausted", block_size=2
    )
    with AsyncDataLoader(outer, 1) as loader:
        loaded = sum(1 for _ in loader)
    stats = save_dataset(outer, tmp_path / "out", "jsonl")
    assert stats.num_examples == loaded == 10
    whole = MixedShardedSource({"i": inner, "b": rows("b", 5)}, stop_strategy="all_exhausted")
    with pytest.raises(ValueError, match="never ends"):
        save_dataset(whole, tmp_path / "other", "jsonl")


def packed_ids(pipeline: Pipeline) -> list[int]:
    with pipeline.pack().load().build() as loader:
        return [int(n) for n in next(iter(loader))["input_ids"].ravel()]


def test_a_stage_that_is_applied_packs_as_the_method_does(tmp_path: Path) -> None:  # D4
    data = tmp_path / "a.jsonl"
    data.write_text("".join(json.dumps({"text": f"one two {n}"}) + "\n" for n in range(50)))
    config = {
        "datasets": [{"data_files": str(data), "name": "d"}],
        "pack": {"seq_length": 16, "shuffle_packed": False},
        "load": {"batch_size": 2},
    }
    options = TokenizeStageConfig(default_tokenizer=str(OWN / "tokenizers" / "byte-level"))
    by_method = packed_ids(Pipeline.from_config(config).source().tokenize(options))
    by_stage = packed_ids(Pipeline.from_config(config).source().apply(TokenizeStage(options)))
    assert by_method == by_stage


def test_a_stage_of_ones_own_runs_once(tmp_path: Path) -> None:  # it ran again for a schedule
    files = {}
    for name in "ab":
        files[name] = tmp_path / f"{name}.jsonl"
        files[name].write_text(f'{{"name": "{name}"}}\n' * 100)

    class Counted(BaseStage):
        ran = 0

        @property
        def name(self) -> str:
            return "counted"

        def process(self, data: Any, context: Any) -> Any:
            Counted.ran += 1
            return {name: source.map(dict) for name, source in data.items()}

    config = {
        "datasets": [{"data_files": str(path), "name": name} for name, path in files.items()],
        "mix": {
            "weight_schedule": [
                {"step": 0, "weights": {"a": 1, "b": 0}},
                {"step": 4, "weights": {"a": 0, "b": 1}},
            ],
            "block_size": 2,
        },
        "load": {"batch_size": 2},
    }
    pipeline = Pipeline.from_config(config).source().mix().apply(Counted())
    with pipeline.load().build() as loader:
        names = [batch["name"] for batch in islice(loader, 6)]
    assert names == [["a", "a"]] * 4 + [["b", "b"]] * 2
    assert Counted.ran == 1


def test_a_run_goes_on_with_what_no_other_process_recognises() -> None:
    source = rows("a", 3)
    with AsyncDataLoader(source.map(lambda row: row), 1) as loader:
        next(iter(loader))
        state = loader.state_dict()
        rest = list(loader)
    with AsyncDataLoader(source.map(lambda row: row), 1) as again:
        again.load_state_dict(state)
        assert [b["name"] for b in again] == [b["name"] for b in rest]


def packed(documents: ShardedDataSource[Any]) -> PackedShardedSource:
    return PackedShardedSource(documents, 8, 9, shuffle=False)


def test_packed_rows_go_through_transforms() -> None:  # it ended the process
    documents = wrap_hf_dataset([{"input_ids": [n, n, n]} for n in range(10, 50)])
    plain = [batch["input_ids"].tolist() for batch in AsyncDataLoader(packed(documents), 4)]
    for change in (
        lambda rows: rows.map(dict),
        lambda rows: rows.select_fields(["input_ids"]),
        lambda rows: rows.filter(lambda row: True),
        lambda rows: rows.map(dict).filter(bool).drop_fields(["position_ids"]),
    ):
        with AsyncDataLoader(change(packed(documents)), 4) as loader:
            assert [batch["input_ids"].tolist() for batch in loader] == plain
            assert loader.stats()["tokens"] == 160
            # Each document takes 4 tokens of a row.
            assert sum(each["tokens"] for each in loader.stats()["sources"].values()) == 160


def test_packed_rows_that_a_filter_leaves_out_are_counted_by_source() -> None:
    sources = {
        name: wrap_hf_dataset([{"input_ids": [n, n, n]} for n in range(first, first + 20)])
        for name, first in (("a", 10), ("b", 100))
    }
    mix = MixedShardedSource(sources, stop_strategy="first_exhausted", block_size=4)
    kept = packed(mix).filter(lambda row: row["input_ids"][0] < 100)
    with AsyncDataLoader(kept, 1) as loader:
        rows = [batch["input_ids"][0].tolist() for batch in loader]
        stats = loader.stats()["sources"]
    assert rows
    assert all(row[0] < 100 for row in rows)
    given = Counter("a" if row[k] < 100 else "b" for row in rows for k in (0, 4) if row[k] != 9)
    for name in "ab":
        lost = sum(stats[name]["dropped_tokens"].values())
        assert stats[name]["tokens"] == 4 * given[name]
        assert (stats[name]["tokens"] + lost) % 4 == 0
    assert sum(stats["b"]["dropped_tokens"].values()) > 0


def test_an_error_about_a_packed_row_names_its_first_document() -> None:
    documents = wrap_hf_dataset([{"input_ids": [n, n, n]} for n in range(10, 50)])

    def bad(row: dict[str, Any]) -> dict[str, Any]:
        if row["input_ids"][0] == 16:
            raise RuntimeError("no")
        return row

    with AsyncDataLoader(packed(documents).map(bad), 1) as loader:
        batches = iter(loader)
        assert [next(batches)["input_ids"][0][0] for _ in range(3)] == [10, 12, 14]
        with pytest.raises(RuntimeError, match="no") as caught:
            next(batches)
    assert "row 6" in str(caught.value.__notes__)


@pytest.mark.parametrize("epochs", [1, 3])
def test_epochs_and_steps_are_refused_alike(epochs: int) -> None:  # D6
    said = "has no meaning beside steps"
    with pytest.raises(ValueError, match=said):
        AsyncDataLoader(rows("a", 3), 1, epochs=epochs, steps=3)
    config = {"datasets": [{"data_files": [{"a": 1}]}], "load": {"epochs": epochs, "steps": 3}}
    with pytest.raises(ValueError, match=said):
        Pipeline.from_config(config).source()
