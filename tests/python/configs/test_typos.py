"""A14: options that name what is not there, tokenizers that nobody named, no batch at all."""

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.core.config import ConfigError, DatasetConfig
from easydata.sources import create_source
from small_data import jsonl, tokens

from easydata import AsyncDataLoader, create_pipeline

ROWS: list[dict[str, Any]] = [{"text": f"row {i}", "label": i, "meta": {"x": i}} for i in range(20)]


@pytest.fixture(params=["jsonl", "parquet", "csv", "memory"])
def data(request: pytest.FixtureRequest, folder: Path) -> Any:
    if request.param == "memory":
        return ROWS
    if request.param == "jsonl":
        return jsonl("a.jsonl", ROWS)
    if request.param == "csv":
        lines = ["text,label,meta", *(f"row {i},{i},m" for i in range(20))]
        Path("a.csv").write_text("\n".join(lines) + "\n")
        return "a.csv"
    pq.write_table(pa.Table.from_pylist(ROWS), "a.parquet")
    return "a.parquet"


@pytest.mark.parametrize("option", ["additional_fields", "columns", "format_fields"])
def test_a_typo_in_a_field_of_a_dataset(data: Any, tiny: str, option: str) -> None:
    values: dict[str, Any] = {
        "additional_fields": ["label", "lable"],
        "columns": ["text", "lable"],
        "format_fields": {"lable": "y"},
    }
    pipeline = create_pipeline([{"data_files": data, "tokenizer": tiny, option: values[option]}])
    with pytest.raises((ConfigError, KeyError), match=r"did you mean .?label") as caught:
        list(pipeline.source().tokenize().build())
    assert "lable" in str(caught.value)


def test_right_names_pass(data: Any, tiny: str) -> None:
    dataset = {
        "data_files": data,
        "tokenizer": tiny,
        "columns": ["text", "label"],
        "additional_fields": ["y"],
        "format_fields": {"label": "y"},
    }
    stage = {"remove_columns": ["text", "label", "attention_mask"]}
    rows = list(create_pipeline([dataset], tokenize=stage).source().tokenize().build())
    assert [set(row) for row in rows] == [{"input_ids", "y"}] * 20
    assert [int(row["y"]) for row in rows] == list(range(20))


def test_a_field_that_comes_later_is_no_typo(folder: Path, tiny: str) -> None:
    rows = [{"text": "a"} for _ in range(900)] + [{"text": "b", "late": 1}]
    dataset = {
        "data_files": jsonl("a.jsonl", rows),
        "tokenizer": tiny,
        "additional_fields": ["late"],
    }
    made = list(create_pipeline([dataset]).source().tokenize().build())
    assert made[-1]["late"] == 1
    dataset["additional_fields"] = ["lte"]
    with pytest.raises(ConfigError, match=r"additional_fields of dataset 'dataset_0'.*'lte'"):
        create_pipeline([dataset]).source().tokenize()


def test_a_field_that_a_callback_makes_is_no_typo(folder: Path, tiny: str) -> None:
    dataset = {
        "data_files": jsonl("a.jsonl", ROWS),
        "tokenizer": tiny,
        "format_callback": lambda row: {"body": row["text"], "made": 1},
        "format_fields": {"body": "text"},
        "additional_fields": ["made"],
    }
    stage = {"remove_columns": ["label", "meta"]}
    (row, *_) = create_pipeline([dataset], tokenize=stage).source().tokenize().build()
    assert row["made"] == 1


def test_empty_data_has_no_typos(folder: Path, tiny: str) -> None:
    dataset = {"data_files": jsonl("a.jsonl", []), "tokenizer": tiny, "additional_fields": ["x"]}
    assert list(create_pipeline([dataset]).source().tokenize().build()) == []


def test_a_typo_in_remove_columns(data: Any, tiny: str) -> None:
    datasets = [{"data_files": data, "tokenizer": tiny, "name": name} for name in "ab"]
    for wrong in ("lable", "attention_masks"):
        pipeline = create_pipeline(datasets, tokenize={"remove_columns": ["text", wrong]}).source()
        with pytest.raises(ConfigError, match=f"tokenize.remove_columns.*'{wrong}'"):
            pipeline.tokenize()
        with pytest.raises(ConfigError, match=f"tokenize.remove_columns.*'{wrong}'"):
            create_pipeline(
                datasets,
                tokenize={"remove_columns": ["text", wrong]},
                mix={"weights": {"a": 0.5, "b": 0.5}},
            ).source().mix().tokenize()


def test_columns_of_a_source(data: Any) -> None:
    with pytest.raises((ConfigError, KeyError), match="lable"):
        list(create_source(DatasetConfig(data, columns=["lable"])))
    if data is ROWS:
        return
    kept = list(create_source(DatasetConfig(data, columns=["label"])))
    assert [set(row) for row in kept] == [{"label"}] * 20


def test_tokenize_without_a_tokenizer(folder: Path, tiny: str) -> None:
    text = {"data_files": jsonl("a.jsonl", ROWS), "name": "text"}
    ready = {"data_files": tokens("t.jsonl", 5), "name": "ready"}
    with pytest.raises(ConfigError, match=r"dataset 'text': names no tokenizer.*default_tokenizer"):
        create_pipeline([text]).source().tokenize()
    with pytest.raises(ConfigError, match="dataset 'text': names no tokenizer"):
        create_pipeline([ready, text]).source().tokenize()
    # Tokens that are there already need none.
    assert len(list(create_pipeline([ready]).source().tokenize().build())) == 5
    both = create_pipeline([ready, {**text, "tokenizer": tiny}]).source().tokenize()
    assert sum("input_ids" in row for row in both.build()) == 25


@pytest.mark.parametrize("drop_last", [True, False])
def test_batches_that_never_come(
    folder: Path, drop_last: bool, caplog: pytest.LogCaptureFixture
) -> None:
    from easydata.sources import JsonShardedSource

    source = JsonShardedSource(tokens("t.jsonl", 5))
    with caplog.at_level(logging.WARNING, "easydata"):
        with AsyncDataLoader(source, batch_size=8, drop_last=drop_last) as loader:
            for _ in range(3):
                assert len(list(loader)) == (0 if drop_last else 1)
        said = [record.getMessage() for record in caplog.records]
        assert len(said) == (1 if drop_last else 0)
        if drop_last:
            assert "there are 5 rows, batch_size is 8" in said[0]
            assert "drop_last=False" in said[0]
        caplog.clear()
        with AsyncDataLoader(source, batch_size=2, drop_last=drop_last) as loader:
            list(loader)
        assert not caplog.records
