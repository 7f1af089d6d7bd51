"""Manual page 002, the Pipeline API: every block does what the page says."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from manual_pages import Block, greedy_rows, ids_of, texts, write_jsonl, write_parquet

import easydata

LLAMA = "meta-llama/Llama-2-7b"
CHAT = "meta-llama/Llama-2-7b-chat-hf"


def sorted_rows(batches: list[dict[str, np.ndarray]]) -> list[list[int]]:
    return sorted(row for batch in batches for row in batch["input_ids"].tolist())


def test_the_page_has_the_blocks_that_are_tested(page: list[Block]) -> None:
    assert [block.heading for block in page] == [
        "Overview",
        "PipelineConfig",
        "DatasetConfig",
        "Source Stage",
        "Tokenize Stage",
        "Mix Stage",
        "Pack Stage",
        "Save Stage",
        "Load Stage",
        "SFT Training Pipeline",
        "Multi-Dataset Pre-training",
        "Pre-tokenization Pipeline",
        "Accessing Pipeline State",
        "Error Handling",
        "Custom Stages",
        "create_pipeline",
        "tokenize_and_save",
    ]


def test_overview(page: list[Block]) -> None:
    # No tokenizer is named, so the data comes as tokens, and its files say what they are.
    known = [{"fingerprint": "llama", "id_limit": 32000, "eos_token_id": 2}]
    documents = [[10 + (i * j) % 500 for j in range(1 + (i * 31) % 400)] for i in range(400)]
    table = pa.Table.from_pylist([{"input_ids": document} for document in documents])
    Path("data").mkdir()
    pq.write_table(
        table.replace_schema_metadata({"easydata.vocabulary": json.dumps(known)}), "data/a.parquet"
    )
    batches: list[dict[str, np.ndarray]] = []
    page[0].run({"train_step": batches.append})
    rows = greedy_rows(documents, eos=2, length=2048, pad=2)
    assert len(batches) == len(rows) // 8 > 2
    assert all(batch["input_ids"].shape == (8, 2048) for batch in batches)
    assert all(batch["input_ids"].dtype == np.int32 for batch in batches)
    # Rows are shuffled; what drop_last leaves out is less than a batch.
    got, wanted = sorted_rows(batches), sorted(rows)
    assert len(wanted) - len(got) == len(rows) % 8
    remaining = list(wanted)
    for row in got:
        remaining.remove(row)


def test_pipeline_config(page: list[Block]) -> None:
    config = page[1].run({})["config"]
    assert config.datasets[0].name == "dataset1"
    assert (config.default_tokenizer, config.streaming, config.seed) == (LLAMA, True, 42)
    assert config.tokenize == easydata.TokenizeStageConfig(max_length=2048)
    assert config.pack.enabled
    assert config.pack.seq_length == 2048
    assert config.load.batch_size == 8
    assert (config.save.enabled, config.save.output_dir) == (True, "./output")
    # The page's weights name ds1 and ds2; its dataset is dataset1.
    assert config.validate() == [
        'mix.weights names no dataset with "ds1"; there are: dataset1',
        'mix.weights names no dataset with "ds2"; there are: dataset1',
        'mix.weights has no weight for the dataset "dataset1"; give it one (0 leaves it out)',
    ]


def test_dataset_config(page: list[Block]) -> None:
    def my_transform_fn(row: dict[str, Any]) -> dict[str, Any]:
        return row

    config = page[2].run({"my_transform_fn": my_transform_fn})["config"]
    assert config.format_callback is my_transform_fn
    assert config.format_fields == {"old_name": "new_name"}
    assert config.tokenizer_kwargs == {"use_fast": True}
    assert (config.type, config.num_rows, config.save_format) == ("parquet", 10000, "parquet")
    assert (config.save_path, config.cache_path) == ("./output/my_dataset", "./cache/my_dataset")
    assert config.additional_fields == ["metadata"]


def keep_row(row: dict[str, Any]) -> dict[str, Any]:
    return row


keep_row.version = "1"  # type: ignore[attr-defined]


def test_a_datasets_cache_path_keeps_its_tokens(
    page: list[Block], models: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"text": text, "metadata": "m", "old_name": i} for i, text in enumerate(texts(30))]
    write_parquet("data/a.parquet", rows)
    config = page[2].run({"my_transform_fn": keep_row})["config"]
    wanted = ids_of(models[LLAMA], texts(30))
    for hits in (0, 1):
        source = easydata.create_pipeline([config]).source().tokenize().get_data()["my_dataset"]
        assert [row["input_ids"] for row in source] == wanted
        assert source._store.native.stats()["hits"] == hits
        source._store.native.flush()
        del source
    assert Path("cache/my_dataset").is_dir()
    # The page's limit of rows stands before its callback, and counts what that is given.
    few = dataclasses.replace(config, num_rows=7)
    pipeline = easydata.create_pipeline([few]).source().tokenize()
    assert [row["input_ids"] for row in pipeline.build()] == wanted[:7]
    assert "not kept" not in caplog.text


def two_datasets() -> easydata.PipelineConfig:
    write_parquet("one/a.parquet", [{"text": text} for text in texts(30)])
    write_jsonl("two/b.jsonl", [{"text": text} for text in texts(40, word="other")])
    return easydata.PipelineConfig(
        datasets=[
            easydata.DatasetConfig(name="dataset1", data_files="one/*.parquet"),
            easydata.DatasetConfig(name="dataset2", data_files="two/*.jsonl"),
        ],
        default_tokenizer=LLAMA,
        seed=1,
    )


def test_source_stage(page: list[Block]) -> None:
    left = page[3].run({"Pipeline": easydata.Pipeline, "config": two_datasets()})
    sources = left["sources"]
    assert list(sources) == ["dataset1", "dataset2"]
    assert isinstance(sources["dataset1"], easydata.ParquetShardedSource)
    assert isinstance(sources["dataset2"], easydata.JsonShardedSource)
    assert [row["text"] for row in sources["dataset1"]] == texts(30)


def test_tokenize_stage(page: list[Block], models: dict[str, Path]) -> None:
    pipeline = easydata.Pipeline.from_config(two_datasets()).source()
    page[4].run({"pipeline": pipeline})
    rows = list(pipeline.get_data()["dataset1"])
    assert [row["input_ids"] for row in rows] == ids_of(models[LLAMA], texts(30))
    assert all("text" not in row for row in rows)
    assert all(row["attention_mask"] == [1] * len(row["input_ids"]) for row in rows)


def test_tokenize_stage_with_a_cache(page: list[Block], models: dict[str, Path]) -> None:
    """cache_tokenized=True, as the page has it, is the default where a config has a cache."""
    config = two_datasets()
    config.cache = easydata.CacheStageConfig(enabled=True)
    for number in range(2):
        pipeline = easydata.Pipeline.from_config(config).source()
        page[4].run({"pipeline": pipeline})
        source = pipeline.get_data()["dataset1"]
        assert [row["input_ids"] for row in source] == ids_of(models[LLAMA], texts(30))
        assert source._store.native.stats()["hits"] == number
        source._store.native.flush()
        del pipeline, source
    assert Path(".cache/easydel_pipeline").is_dir()


def test_mix_stage(page: list[Block]) -> None:
    write_jsonl("code.jsonl", [{"text": f"code {i}"} for i in range(400)])
    write_jsonl("text.jsonl", [{"text": f"text {i}"} for i in range(900)])
    pipeline = easydata.create_pipeline(
        [
            {"name": "code", "data_files": "code.jsonl"},
            {"name": "text", "data_files": "text.jsonl"},
        ]
    ).source()
    page[5].run({"pipeline": pipeline})
    assert list(pipeline.get_data()) == ["mixed"]
    names = [row["__source__"] for row in itertools.islice(pipeline.build(), 1000)]
    # The schedule goes before the static weights: it begins at 0.2 / 0.8.
    assert (names.count("code"), names.count("text")) == (200, 800)


def test_pack_stage(page: list[Block]) -> None:
    write_jsonl("data.jsonl", [{"text": text} for text in texts(200)])
    pipeline = easydata.create_pipeline([{"data_files": "data.jsonl"}], LLAMA)
    documents = [row["input_ids"] for row in pipeline.source().tokenize().get_data()["dataset_0"]]
    page[6].run({"pipeline": pipeline})
    rows = list(pipeline.build())
    assert sorted(row["input_ids"].tolist() for row in rows) == sorted(
        greedy_rows(documents, 2, 2048)
    )
    for row in rows:
        assert len(row["input_ids"]) == len(row["segment_ids"]) == len(row["position_ids"]) == 2048


def test_save_stage(page: list[Block]) -> None:
    write_jsonl("data.jsonl", [{"text": text} for text in texts(100)])
    pipeline = easydata.create_pipeline([{"data_files": "data.jsonl"}]).source()
    page[7].run({"pipeline": pipeline})
    (stats,) = pipeline.build().values()
    assert (stats.num_examples, stats.num_shards) == (100, 100)
    files = sorted(path.name for path in Path("processed_data").glob("*.parquet"))
    assert files == [f"shard-{i:05d}.parquet" for i in range(100)]
    # The page's output exists now, and overwrite is False.
    again = easydata.create_pipeline([{"data_files": "data.jsonl"}]).source()
    with pytest.raises(FileExistsError, match="processed_data"):
        page[7].run({"pipeline": again})


def test_load_stage(page: list[Block]) -> None:
    write_jsonl("data.jsonl", [{"text": f"text {i}", "number": i} for i in range(85)])
    pipeline = easydata.create_pipeline([{"data_files": "data.jsonl"}]).source()
    page[8].run({"pipeline": pipeline})
    loader = pipeline.build()
    assert isinstance(loader, easydata.AsyncDataLoader)
    with loader:
        numbers = [int(n) for batch in loader for n in batch["number"]]
    assert len(numbers) == 80
    assert len(set(numbers)) == 80
    assert numbers != sorted(numbers), "shuffle_buffer_size shuffles"


def test_sft_training_pipeline(page: list[Block], models: dict[str, Path]) -> None:
    conversations = [
        [{"role": "user", "content": text}, {"role": "assistant", "content": text[::-1]}]
        for text in texts(400)
    ]
    write_jsonl("conversations/a.jsonl", [{"messages": messages} for messages in conversations])
    batches: list[dict[str, np.ndarray]] = []
    page[9].run({"sft_train_step": batches.append})
    # The template is applied, without the special tokens being added again.
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(models[CHAT] / "tokenizer.json"))
    rendered = ["".join(f"<{m['role']}>{m['content']}\n" for m in turn) for turn in conversations]
    documents = [
        encoding.ids[:2048]
        for encoding in tokenizer.encode_batch(rendered, add_special_tokens=False)
    ]
    rows = greedy_rows(documents, None, 2048, pad=2)  # chats have their own ends
    assert len(batches) == len(rows) // 8 > 0
    remaining = sorted(rows)
    for row in sorted_rows(batches):
        remaining.remove(row)


def test_multi_dataset_pre_training(page: list[Block]) -> None:
    for name in ("code", "text", "math"):
        rows = [{"text": text} for text in texts(300, words=300, word=name)]
        write_parquet(f"bucket/{name}/a.parquet", rows)
    seen: list[dict[str, np.ndarray]] = []

    class EnoughError(Exception):
        pass

    def pretrain_step(batch: dict[str, np.ndarray]) -> None:
        seen.append(batch)
        if len(seen) == 3:  # the mixture restarts its datasets for ever
            raise EnoughError

    names = {**vars(easydata), "pretrain_step": pretrain_step}
    names.update({name: getattr(easydata, name) for name in easydata.__all__})
    with pytest.raises(EnoughError):
        page[10].run(names, replace={"gs://bucket": "bucket"})
    assert all(batch["input_ids"].shape == (32, 4096) for batch in seen)


def test_pre_tokenization_pipeline(page: list[Block], models: dict[str, Path]) -> None:
    import pyarrow.parquet as pq

    write_jsonl("raw_data/a.jsonl", [{"text": text} for text in texts(50)])
    page[11].run({name: getattr(easydata, name) for name in easydata.__all__})
    assert Path("tokenized_data/.metadata.json").exists()
    file = pq.ParquetFile("tokenized_data/shard-00000.parquet")
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.read()["input_ids"].to_pylist() == ids_of(models[LLAMA], texts(50))


def test_accessing_pipeline_state(page: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    config = two_datasets()
    left = page[12].run({"Pipeline": easydata.Pipeline, "config": config})
    assert list(left["data"]) == ["dataset1", "dataset2"]
    assert isinstance(left["data"]["dataset1"], easydata.TokenizedShardedSource)
    assert left["stages"] == ["source", "tokenize"]
    assert capsys.readouterr().out == f"1\n{config}\n"


def test_error_handling(page: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    # The page's list of datasets is an ellipsis.
    pipeline = easydata.Pipeline(easydata.PipelineConfig([easydata.DatasetConfig("a.jsonl")]))
    page[13].run({"pipeline": pipeline})
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("Config error: datasets[0] must be the options of a DatasetConfig")
    assert out[-1] == "Call source() before other pipeline stages"


def test_custom_stages(page: list[Block]) -> None:
    class MyTransformedSource(easydata.TransformedShardedSource):
        def __init__(self, source: Any, config: dict[str, Any]) -> None:
            super().__init__(source, lambda row: {**row, "note": config["note"]})

    left = page[14].run({"MyTransformedSource": MyTransformedSource})
    write_jsonl("data.jsonl", [{"text": "a"}, {"text": "b"}])
    pipeline = easydata.create_pipeline([{"data_files": "data.jsonl"}]).source()
    pipeline.apply(left["MyCustomStage"]({"note": "mine"}))
    assert pipeline.get_stages() == ["source", "my_stage"]
    assert list(pipeline.build()) == [
        {"text": "a", "note": "mine"},
        {"text": "b", "note": "mine"},
    ]


def test_create_pipeline(page: list[Block], models: dict[str, Path]) -> None:
    write_parquet("data/a.parquet", [{"text": "one"}])
    write_jsonl("more_data/b.jsonl", [{"text": "two"}])
    pipeline = page[15].run({})["pipeline"]
    data = pipeline.source().tokenize().get_data()
    assert list(data) == ["dataset_0", "dataset_1"]
    found = [row["input_ids"] for source in data.values() for row in source]
    assert found == ids_of(models[LLAMA], ["one", "two"])


def test_tokenize_and_save(page: list[Block], models: dict[str, Path]) -> None:
    documents = texts(60, words=3000)
    write_jsonl("data/a.jsonl", [{"text": text} for text in documents])
    page[16].run({})
    rows = list(easydata.ParquetShardedSource("tokenized/*.parquet"))
    assert [row["input_ids"] for row in rows] == ids_of(models[LLAMA], documents)
    assert max(len(row["input_ids"]) for row in rows) == 2048
