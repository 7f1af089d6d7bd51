"""What people look at first: help(), dir(), what an object shows of itself (N5, N25, N30, C6)."""

import json
import pickle
import pydoc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
from programs import run_python

import easydata
from easydata import (
    AsyncDataLoader,
    DatasetConfig,
    JsonShardedSource,
    PackStageConfig,
    PipelineConfig,
    ShardedDataSource,
    create_pipeline,
    create_source,
    save_dataset,
)

# As if no library that is an extra were installed.
WITHOUT_EXTRAS = """
import importlib, sys
for name in ("jax", "torch", "datasets", "transformers", "tokenizers", "pandas", "polars", "ray",
             "grain", "array_record", "huggingface_hub", "fsspec", "trl", "tqdm"):
    sys.modules[name] = None
import easydata
"""


def without_extras(code: str) -> str:
    return run_python("-c", WITHOUT_EXTRAS + code).stdout.strip()


def test_help_and_dir_work_without_extras() -> None:  # N5
    said = without_extras(
        "import inspect, pydoc\n"
        "text = pydoc.render_doc(easydata, renderer=pydoc.plaintext)\n"
        "print('class AsyncDataLoader' in text, 'EasyData: the data engine' in text)\n"
        "print(hasattr(easydata, 'torch'), hasattr(easydata, 'jax'))\n"
        "found = dict(inspect.getmembers(easydata))\n"
        "print(set(easydata.__all__) <= set(found), {'jax', 'torch'} & set(dir(easydata)))\n"
        "for name in easydata.__all__:\n"
        "    member = getattr(easydata, name)\n"
        "    if inspect.ismodule(member):\n"
        "        inspect.getmembers(member)\n"
        "        pydoc.render_doc(member)\n"
        "print('all')"
    )
    assert said.splitlines() == ["True True", "False False", "True set()", "all"]


def test_an_adapter_without_its_library_is_no_attribute_and_says_why() -> None:  # N5
    said = without_extras(
        "try:\n"
        "    easydata.jax\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
        "try:\n"
        "    from easydata import torch\n"
        "except ImportError as error:\n"
        "    print(error)"
    )
    jax, torch = said.splitlines()
    assert jax.startswith("module 'easydata' has no attribute 'jax': easydata.jax needs jax; pip")
    assert torch.startswith("easydata.torch needs torch; pip install")


def test_adapters_are_listed_where_their_libraries_are() -> None:
    pytest.importorskip("torch")
    assert "torch" in dir(easydata)
    assert "class LoaderDataset" in pydoc.render_doc(easydata.torch, renderer=pydoc.plaintext)


def test_the_package_runs_as_the_command() -> None:  # C12
    assert run_python("-m", "easydata", "--help").stdout.strip().startswith("Usage: easydata")
    done = run_python("-m", "easydata", "verify", "there is none", status=1)
    assert "there is none" in done.stderr


def test_config_errors_are_public() -> None:  # N30
    with pytest.raises(easydata.ConfigError, match="did you mean") as failed:
        PipelineConfig.from_dict({"datasets": [{"data_files": "a", "tokeniser": "b"}]})
    assert failed.value.problems


def test_the_text_of_a_key_error_is_a_sentence(folder: Path) -> None:  # N30
    Path("a.jsonl").write_text('{"text": "it\'s"}\n', encoding="utf-8")
    source = JsonShardedSource("a.jsonl")
    with pytest.raises(KeyError) as of_python:
        source.open_shard("b's.jsonl")
    assert str(of_python.value).startswith("there is no shard b's.jsonl among the 1 of this")
    with pytest.raises(KeyError) as of_engine:
        save_dataset(easydata.ParquetShardedSource(parquet()), "out", columns=["it's"])
    assert str(of_engine.value).startswith("columns: there is no column 'it's'; there are")
    again = pickle.loads(pickle.dumps(of_engine.value))
    assert (type(again), str(again)) == (type(of_engine.value), str(of_engine.value))


def parquet() -> str:
    pd.DataFrame({"text": ["a"]}).to_parquet("a.parquet")
    return "a.parquet"


class Numbers(ShardedDataSource[dict[str, int]]):
    @property
    def shard_names(self) -> Sequence[str]:
        raise AssertionError("nothing is asked for what is shown")

    def num_shards(self) -> int:
        raise AssertionError

    def open_shard(self, shard_name: str) -> Iterator[dict[str, int]]:
        raise AssertionError


ROWS = [{"text": "it is long " * 50, "id": i} for i in range(3000)]

# What is made, and what it shows (C6, N25).
SHOWN: dict[str, Any] = {
    "JsonShardedSource('a.jsonl')": lambda: files("a"),
    "JsonShardedSource(['a.jsonl', 'b.jsonl', 'c.jsonl', 'd.jsonl', ... (5)])": lambda: files(
        "abcde"
    ),
    "Numbers()": Numbers,
    "MappedShardedDataSource(Numbers(), sorted)": lambda: Numbers().map(sorted),
    "ShuffledShardedSource(Numbers(), 'rows', 3)": lambda: Numbers().shuffle("rows", 3),
    "LimitedShardedSource(Numbers(), 3)": lambda: easydata.LimitedShardedSource(Numbers(), 3),
    "HFDatasetShardedSource(<list of 3,000 rows: text, id>)": lambda: easydata.wrap_hf_dataset(
        ROWS
    ),
    "HFDatasetShardedSource(<Dataset of 3,000>)": lambda: easydata.wrap_hf_dataset(
        datasets.Dataset.from_list(ROWS)
    ),
    "DatasetConfig(data_files=<list of 3,000 rows: text, id>)": lambda: DatasetConfig(ROWS),
    "DatasetConfig(data_files=<DataFrame of 3,000>)": lambda: DatasetConfig(pd.DataFrame(ROWS)),
    "PackStageConfig(enabled=True, seq_length=128)": lambda: PackStageConfig(True, 128),
    "PipelineConfig(datasets=[DatasetConfig(data_files='a', name='dataset_0')], seed=7)": (
        lambda: PipelineConfig(datasets=[DatasetConfig("a")], seed=7)
    ),
    "AsyncDataLoader(JsonShardedSource('a.jsonl'), batch_size=2)": lambda: AsyncDataLoader(
        files("a"), batch_size=2
    ),
    "iter(AsyncDataLoader(JsonShardedSource('a.jsonl'), batch_size=2))": lambda: iter(
        AsyncDataLoader(files("a"), batch_size=2)
    ),
    "Pipeline(['dataset_0'], stages=[])": lambda: create_pipeline([{"data_files": "a.jsonl"}]),
    "Pipeline(['n'], stages=['source', 'load'])": lambda: (
        create_pipeline([{"data_files": str(files("a").shard_names[0]), "name": "n"}])
        .source()
        .load()
    ),
    "MixedShardedSource(['a', 'b'], weights=[1, 2], unit='tokens')": (
        lambda: easydata.MixedShardedSource(
            {"a": Numbers(), "b": Numbers()}, {"a": 1, "b": 2}, unit="tokens"
        )
    ),
    "ParquetWriter('out', num_shards=3, columns=['text'])": lambda: easydata.ParquetWriter(
        "out", num_shards=3, columns=["text"]
    ),
    "WriteStats(num_examples=6, num_shards=6, total_bytes=...)": lambda: save_dataset(
        create_source(DatasetConfig(ROWS[:6])), "out", num_shards=6
    ),
    "DiskCache('kept')": lambda: easydata.DiskCache("kept"),
}


def files(names: str) -> JsonShardedSource:
    for name in names:
        Path(f"{name}.jsonl").write_text(json.dumps({"text": "a"}) + "\n", encoding="utf-8")
    return JsonShardedSource([f"{name}.jsonl" for name in names])


@pytest.mark.parametrize("shown", SHOWN)
def test_an_object_shows_what_it_is_and_no_data(shown: str, folder: Path) -> None:
    made = SHOWN[shown]()
    start, _, _ = shown.partition("...)")
    assert repr(made).startswith(start), repr(made)
    assert len(repr(made)) < 300
    assert "it is long" not in repr(made)
    if not hasattr(made, "_repr_html_"):
        return
    page = made._repr_html_()
    assert page.startswith(f"<table><caption>{type(made).__name__}</caption>")
    assert "it is long" not in page
    assert len(page) < 2000


def test_what_is_shown_in_a_notebook_is_text_not_markup(folder: Path) -> None:
    page = DatasetConfig("<script>.jsonl", content_field="<b>")._repr_html_()  # type: ignore[attr-defined]
    assert "<script>" not in page
    assert "&lt;script&gt;.jsonl" in page


def test_credentials_are_not_shown() -> None:
    config = DatasetConfig(
        {"train": "https://user:hush@example.org/a.jsonl?sig=hush"},
        tokenizer_kwargs={"name_or_path": "a"},
    )
    assert "hush" not in repr(config) + config._repr_html_()  # type: ignore[attr-defined]
    assert "example.org" in repr(config)


def test_a_source_of_a_users_own_may_name_its_columns_itself() -> None:
    class Named(easydata.ShardedDataSource[dict[str, int]]):
        shard_names = ("only",)

        def __init__(self) -> None:
            self.column_names = ["n", "more"]

        def num_shards(self) -> int:
            return 1

        def open_shard(self, shard_name: str) -> Any:
            yield {"n": 1}

        def open_shard_at_row(self, shard_name: str, row: int) -> Any:
            yield from list(self.open_shard(shard_name))[row:]

    assert Named().column_names == ["n", "more"]
    assert easydata.wrap_hf_dataset([{"n": 1}]).column_names == ["n"]
