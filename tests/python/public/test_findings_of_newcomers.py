"""Findings of look 3 (N) and of the trials (C), by their numbers, that no other file names."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from easydata.sources import wrap_hf_dataset
from easydata.sources.schedule_ramps import steps_to_new_mix
from small_data import jsonl

import easydata
from easydata import (
    AsyncDataLoader,
    CsvShardedSource,
    DatasetConfig,
    FilterNonEmpty,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    PadSpec,
    TextShardedSource,
    create_pipeline,
    create_source,
    save_dataset,
)

ROWS = [{"text": f"row {number}", "id": number} for number in range(4)]


def of_duckdb(rows: Any) -> Any:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(pa.Table.from_pylist(rows))


def of_polars(rows: Any) -> Any:
    return pytest.importorskip("polars").DataFrame(rows)


@pytest.mark.parametrize(
    "made",
    [
        pd.DataFrame,
        of_polars,
        pa.Table.from_pylist,
        of_duckdb,
        lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
        lambda rows: pa.Table.from_pylist(rows).to_reader(),
    ],
    ids=["pandas", "polars", "pyarrow", "duckdb", "columns", "batches"],
)
def test_tables_are_data(made: Callable[[Any], Any]) -> None:  # N13, C10
    assert list(create_source(DatasetConfig(made(ROWS)))) == ROWS


def test_columns_of_one_length_are_padded_alike_or_named() -> None:  # N17
    rows = [{"input_ids": [1] * n, "attention_mask": [1] * n} for n in (2, 3)]
    source = wrap_hf_dataset(rows)
    with pytest.raises(ValueError, match=r"'input_ids' is brought to 8 .*'attention_mask'"):
        next(iter(AsyncDataLoader(source, 2, padding={"input_ids": PadSpec(length=8)})))
    both = {name: PadSpec(length=8) for name in rows[0]}
    batch = next(iter(AsyncDataLoader(source, 2, padding=both)))
    assert {value.shape for value in batch.values()} == {(2, 8)}
    with pytest.raises(TypeError, match=r"'len'; did you mean \"length\"|'len'; there are: value"):
        PadSpec(len=8)  # type: ignore[call-arg]


class InPython(easydata.ShardedDataSource[dict[str, Any]]):
    @property
    def shard_names(self) -> list[str]:
        return ["all"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Any:
        return iter(ROWS)


# What is done to a source, the fields of a config that do it, and what is said (N18).
FIELDS: dict[str, tuple[Callable[[Any], Any], dict[str, Any], str]] = {
    "a text for names": (
        lambda source: source.select_fields("text"),
        {"columns": "text"},
        r"takes a list of names|must be a list",
    ),
    "no such field": (
        lambda source: source.select_fields(["txt"]),
        {"columns": ["txt"]},
        r"'txt', but no row has it; did you mean \"text\"",
    ),
    "onto a field that is there": (
        lambda source: source.rename_fields({"id": "text"}),
        {"format_fields": {"id": "text"}},
        r"'id' onto 'text', which rows have beside it",
    ),
    "a class for a transform": (
        lambda source: source.transform(FilterNonEmpty),
        {"transform": FilterNonEmpty},
        r"not the class FilterNonEmpty; make one of it",
    ),
    "a class for a function": (
        lambda source: source.map(FilterNonEmpty),
        {"format_callback": FilterNonEmpty},
        r"not the class FilterNonEmpty; make one of it",
    ),
    "text for a row": (
        lambda source: source.map(lambda row: "text"),
        {"format_callback": lambda row: "text"},
        r"returned a? ?str",
    ),
}


@pytest.mark.parametrize("kind", FIELDS)
def test_what_makes_other_rows_is_checked_alike(kind: str, folder: Path) -> None:  # N18
    do, options, said = FIELDS[kind]
    source = JsonShardedSource(jsonl("a.jsonl", ROWS))
    makers: list[Callable[[], Any]] = [
        lambda: list(do(source)),
        lambda: list(do(InPython())),
        lambda: list(create_source(DatasetConfig("a.jsonl", **options))),
        lambda: list(create_pipeline([DatasetConfig("a.jsonl", **options)]).source().build()),
        lambda: list(AsyncDataLoader(do(source), batch_size=2)),
    ]
    for make in makers:
        with pytest.raises((TypeError, ValueError), match=said):
            make()


def test_none_drops_rows_of_a_callback_and_not_of_map(folder: Path) -> None:  # N18
    jsonl("a.jsonl", ROWS)
    kept = DatasetConfig("a.jsonl", format_callback=lambda row: row if row["id"] else None)
    assert list(create_source(kept)) == ROWS[1:]
    for source in (JsonShardedSource("a.jsonl"), InPython()):
        with pytest.raises(TypeError, match=r"map\(\): the function returned None.*filter\(\)"):
            list(source.map(lambda row: None))


def test_records_of_ours_are_decoded_as_their_metadata_says(folder: Path) -> None:  # N28
    save_dataset(wrap_hf_dataset(ROWS), "out", format="array_record", encode="json")
    assert list(create_source("out")) == ROWS


def test_errors_count_rows_from_0_and_lines_from_1(folder: Path) -> None:  # C14
    jsonl("a.jsonl", ROWS)
    Path("b.jsonl").write_text('{"a": 1}\n{"a": 2}\n{"a": \n', encoding="utf-8")
    Path("b.csv").write_text("a,b\n1,2\n3,4\n5,6,7\n", encoding="utf-8")
    Path("b.txt").write_bytes(b"a\nb\n\xff\n")

    def fails(row: Any) -> Any:
        return {**row, "x": 1 // (2 - row["id"])}

    third = "row 2"
    for source, said in {
        JsonShardedSource("b.jsonl"): f"b.jsonl {third}: line 3",
        CsvShardedSource("b.csv"): f"b.csv {third}: line 4",
        TextShardedSource("b.txt"): f"b.txt {third}: line 3",
        JsonShardedSource("a.jsonl").map(fails): f"a.jsonl {third}",
        InPython().map(fails): f"all {third}",
        wrap_hf_dataset(ROWS).map(fails): third,
        wrap_hf_dataset([*ROWS[:2], 3]): third,  # type: ignore[list-item]
    }.items():
        with pytest.raises(Exception) as failed:
            list(AsyncDataLoader(source, batch_size=1))
        notes = getattr(failed.value, "__notes__", ())
        assert said in "\n".join([str(failed.value), *notes]), source


def test_rows_are_taken_skipped_and_divided(folder: Path) -> None:  # C16
    source = JsonShardedSource(jsonl("a.jsonl", ROWS))
    assert source.head(2) == ROWS[:2]
    assert list(source.take(2)) == ROWS[:2]
    assert list(source.skip(3)) == ROWS[3:]
    assert source[-1] == ROWS[-1]
    assert list(source[1:3]) == ROWS[1:3]
    parts = source.split({"train": 0.75, "validation": 0.25}, seed=0)
    ids = [sorted(row["id"] for row in part) for part in parts.values()]
    assert sorted(itertools.chain(*ids)) == [0, 1, 2, 3]


BLOCK, BATCH = 80, 8
# Where a mix is edited: the packer, and options of the loader (C8).
EDITED: dict[str, tuple[dict[str, Any] | None, dict[str, Any]]] = {
    "rows": (None, {}),
    "shuffled rows": (None, {"shuffle_buffer_size": 48, "seed": 0}),
    "packed": ({"shuffle": False}, {}),
    "packed in windows": ({"shuffle": False, "strategy": "first_fit", "pack_window": 40}, {}),
    "packed and shuffled": ({"shuffle_buffer_factor": 1}, {}),
}


@pytest.mark.parametrize("name", EDITED)
def test_an_edit_of_a_mix_shows_in_full_when_it_is_said_to(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:  # C8
    packing, load = EDITED[name]

    def loader(weights: list[float]) -> AsyncDataLoader:
        rows = [[{"input_ids": [value] * 10}] * 50 for value in (1, 2)]
        source: Any = MixedShardedSource(
            dict(zip("ab", map(wrap_hf_dataset, rows), strict=True)), weights, block_size=BLOCK
        )
        if packing is not None:
            source = PackedShardedSource(source, 64, eos_token_id=3, **packing)
        return AsyncDataLoader(source, batch_size=BATCH, **load)

    latest = 0
    said = 0
    for before in (1, 4, 9, 15):
        with loader([1, 0]) as one:
            for _ in zip(range(before), one, strict=False):
                pass
            state = one.state_dict()
        with loader([0, 1]) as two:
            with pytest.raises(ValueError, match=r'allow=\("mix",\)') as refused:
                two.load_state_dict(state)
            caplog.clear()
            two.load_state_dict(state, allow=("mix",))
            steps = [
                int(found[1].replace(",", ""))
                for text in (str(refused.value), caplog.text)
                if (found := re.search(r"shows in full within about ([\d,]+) steps", text))
            ]
            assert len(steps) == 2
            said = steps[0]
            assert steps[1] == said == steps_to_new_mix(two._source, two._options)
            old = [
                number
                for number, batch in enumerate(itertools.islice(two, 4 * said), 1)
                if (batch["input_ids"] == 1).any()
            ]
            latest = max(latest, *old, 0)
    assert latest < said
    # It is no more than is needed: a block, and each window twice.
    assert said <= 3 * latest + 2


def test_nothing_is_said_where_the_mix_is_the_same(caplog: pytest.LogCaptureFixture) -> None:  # C8
    source = wrap_hf_dataset(ROWS)
    one = AsyncDataLoader(MixedShardedSource([source, source], [1, 2]), batch_size=2)
    next(iter(one))
    again = AsyncDataLoader(MixedShardedSource([source, source], [1, 2]), batch_size=2)
    again.load_state_dict(one.state_dict(), allow=("mix",))
    assert "edited mix" not in caplog.text
