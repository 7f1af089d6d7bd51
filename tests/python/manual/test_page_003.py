"""Manual page 003, pre-tokenization: every block does what the page says."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from manual_pages import Block, greedy_rows, ids_of, texts, write_jsonl, write_parquet
from stores import GcsStore

import easydata

LLAMA = "meta-llama/Llama-2-7b"
STARCODER = "bigcode/starcoder"
ALL = {name: getattr(easydata, name) for name in easydata.__all__}


def save_tokenized(folder: str, count: int = 30) -> list[str]:
    documents = texts(count)
    write_jsonl("raw.jsonl", [{"text": text} for text in documents])
    easydata.tokenize_and_save("raw.jsonl", LLAMA, folder)
    return documents


def test_the_page_has_the_blocks_that_are_tested(page: list[Block]) -> None:
    assert [block.heading for block in page] == [
        "Using tokenize_and_save",
        "Using Pipeline API",
        "Per-Dataset Configuration",
        "TokenizerConfig Options",
        "Parquet (Recommended)",
        "Arrow IPC",
        "JSONL",
        "Processing Chat Data",
        "Parallel Processing",
        "Distributed with Ray",
        "Cloud Storage",
        "Token Packing",
        "With Trainer",  # needs a trainer
        "Manual Iteration",
        "With AsyncDataLoader",
        "Check format",
        "Decode and verify",
        "2. Save Metadata",
        "3. Use Appropriate Shard Sizes",
        "4. Validate Before Training",
    ]


def test_tokenize_and_save(page: list[Block], models: dict[str, Path]) -> None:
    documents = texts(30)
    write_jsonl("data/a.jsonl", [{"text": text} for text in documents])
    source = page[0].run({})["source"]
    assert [row["input_ids"] for row in source] == ids_of(models[LLAMA], documents)
    metadata = json.loads(Path("tokenized_data/.metadata.json").read_text())
    fingerprint = easydata.Tokenizer(LLAMA).fingerprint
    assert fingerprint in json.dumps(metadata)


def test_pipeline_api(page: list[Block], models: dict[str, Path]) -> None:
    documents = texts(30)
    write_jsonl("data/a.jsonl", [{"text": text} for text in documents])
    write_parquet("bucket/data/b.parquet", [{"content": text} for text in documents])
    page[1].run({}, replace={"gs://bucket": "bucket"})
    for folder in ("tokenized/dataset1", "tokenized/dataset2"):
        source = easydata.ParquetShardedSource(f"{folder}/*.parquet")
        assert [row["input_ids"] for row in source] == ids_of(models[LLAMA], documents)


def test_per_dataset_configuration(page: list[Block], models: dict[str, Path]) -> None:
    documents = texts(20)
    write_jsonl("code_data/a.jsonl", [{"code": text} for text in documents])
    write_parquet("text_data/a.parquet", [{"text": text} for text in documents])
    config = page[2].run(ALL)["config"]
    written = easydata.Pipeline.from_config(config).source().tokenize().save().build()
    assert {name: stats.num_examples for name, stats in written.items()} == {"code": 20, "text": 20}
    for name, model in (("code", STARCODER), ("text", LLAMA)):
        source = easydata.ParquetShardedSource(f"tokenized/{name}/*.parquet")
        assert [row["input_ids"] for row in source] == ids_of(models[model], documents)


def test_tokenizer_config(page: list[Block], models: dict[str, Path]) -> None:
    documents = ["short", *texts(3, words=4000)]
    write_jsonl("data/a.jsonl", [{"text": text} for text in documents])
    config = page[3].run({})["config"]
    pipeline = easydata.create_pipeline([config]).source().tokenize()
    rows = list(pipeline.build())
    assert [row["input_ids"] for row in rows] == ids_of(models[LLAMA], documents)
    assert all(row["attention_mask"] == [1] * len(row["input_ids"]) for row in rows)


@pytest.mark.parametrize(
    ("block", "shards", "suffix"), [(4, 100, "parquet"), (5, 50, "arrow"), (6, 1, "jsonl.gz")]
)
def test_output_formats(page: list[Block], block: int, shards: int, suffix: str) -> None:
    captured = []

    def save_stage_config(**options: object) -> None:
        captured.append(easydata.SaveStageConfig(**options))

    page[block].run({"SaveStageConfig": save_stage_config})
    documents = texts(200)
    write_jsonl("data.jsonl", [{"text": text} for text in documents])
    pipeline = easydata.create_pipeline([{"data_files": "data.jsonl"}]).source()
    pipeline.save(captured[0])
    files = sorted(path.name for path in Path("output").glob("shard-*"))
    assert files == [f"shard-{i:05d}.{suffix}" for i in range(shards)]
    if suffix == "jsonl.gz":
        with gzip.open(f"output/{files[0]}", "rt", encoding="utf-8") as file:
            assert [json.loads(line)["text"] for line in file] == documents
    else:
        reader = (
            easydata.ParquetShardedSource if suffix == "parquet" else easydata.ArrowShardedSource
        )
        assert sorted(row["text"] for row in reader(f"output/*.{suffix}")) == sorted(documents)


def test_chat_data(page: list[Block]) -> None:
    conversations = [
        [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]
        for text in texts(5)
    ]
    write_jsonl("conversations/a.jsonl", [{"messages": messages} for messages in conversations])
    left = page[7].run({})
    rendered = [
        "".join(f"<{message['role']}>{message['content']}\n" for message in messages)
        for messages in conversations
    ]
    # By hand: the template's text, as transformers renders it.
    assert [row["text"] for row in left["transformed"]] == rendered
    # In a pipeline: applied by itself, as the messages field exists.
    rows = list(easydata.Pipeline.from_config(left["config"]).source().tokenize().build())
    expected = [left["tokenizer"](text, add_special_tokens=False)["input_ids"] for text in rendered]
    assert [row["input_ids"] for row in rows] == expected


def test_parallel_processing(page: list[Block], models: dict[str, Path]) -> None:
    documents = texts(3000, words=20)
    write_parquet("data/a.parquet", [{"text": text} for text in documents])
    config = page[8].run({})["config"]
    rows = easydata.create_pipeline([config]).source().tokenize().build()
    assert [row["input_ids"] for row in rows] == ids_of(models[LLAMA], documents)


def test_distributed_with_ray(page: list[Block]) -> None:
    """The block as printed; what it then does on a cluster: distributed/cluster."""
    config = page[9].run({})["config"]
    assert config.ray.resources_per_worker == {"CPU": 2}
    assert (config.ray.enabled, config.ray.num_workers) == (True, 8)
    write_jsonl("a.jsonl", [{"input_ids": [1, 2, 3]}] * 20)
    config.datasets = [easydata.DatasetConfig("a.jsonl")]
    assert config.validate() == []
    with pytest.raises(ValueError, match=r"ray\.enabled: rows that are iterated over"):
        easydata.Pipeline(config).source().build()
    with pytest.raises(ValueError, match=r"ray\.enabled.*cache"):
        easydata.Pipeline(config).source().load()


def test_cloud_storage(
    page: list[Block], models: dict[str, Path], gcs: GcsStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs.url)
    documents = texts(60)
    write_parquet("a.parquet", [{"text": text} for text in documents])
    first, second = gcs.bucket("input-bucket"), gcs.bucket("output-bucket")
    gcs.put(first, "data/a.parquet", Path("a.parquet").read_bytes())
    buckets = {"gs://input-bucket": f"gs://{first}", "gs://output-bucket": f"gs://{second}"}
    config = page[10].run(ALL, replace=buckets)["config"]
    easydata.Pipeline(config).source().tokenize().save().build()
    source = easydata.ParquetShardedSource(f"gs://{second}/tokenized/*.parquet")
    assert [row["input_ids"] for row in source] == ids_of(models[LLAMA], documents)


def test_token_packing(page: list[Block], models: dict[str, Path]) -> None:
    documents = texts(300)
    write_jsonl("data/a.jsonl", [{"text": text} for text in documents])
    # The block has the imports of the page before it.
    page[11].run({"Pipeline": easydata.Pipeline})
    rows = list(easydata.ParquetShardedSource("packed_data/*.parquet"))
    wanted = greedy_rows(ids_of(models[LLAMA], documents), 2, 2048)
    assert sorted(row["input_ids"] for row in rows) == sorted(wanted)
    assert all(len(row["segment_ids"]) == 2048 for row in rows)


def test_manual_iteration(page: list[Block], models: dict[str, Path]) -> None:
    documents = save_tokenized("tokenized")
    left = page[13].run({})
    last = ids_of(models[LLAMA], documents)[-1]
    assert left["input_ids"] == last
    assert left["attention_mask"] == [1] * len(last)


def test_with_async_data_loader(page: list[Block], models: dict[str, Path]) -> None:
    documents = save_tokenized("tokenized", count=20)
    batches: list[dict[str, np.ndarray]] = []
    page[14].run({"train_step": batches.append})
    assert len(batches) == 2
    ids = ids_of(models[LLAMA], documents)
    for i, batch in enumerate(batches):
        wanted = ids[8 * i : 8 * i + 8]
        assert batch["input_ids"].shape == (8, max(len(row) for row in wanted))
        for row, mask, document in zip(
            batch["input_ids"], batch["attention_mask"], wanted, strict=True
        ):
            assert row[mask == 1].tolist() == document


def test_check_format(page: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa

    save_tokenized("tokenized")
    left = page[15].run({}, replace={"shard_0.parquet": "shard-00000.parquet"})
    schema = left["pf"].schema_arrow
    assert schema.field("input_ids").type.value_type == pa.int32()
    assert pa.types.is_list(schema.field("input_ids").type)
    assert "attention_mask" in schema.names
    assert "input_ids" in capsys.readouterr().out


def test_decode_and_verify(page: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    documents = save_tokenized("tokenized")
    page[16].run({})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for i, line in enumerate(lines):
        assert documents[i][:50] in line


def test_save_metadata(page: list[Block]) -> None:
    save_tokenized("tokenized")
    page[17].run({})
    # It is never taken for data.
    assert easydata.expand_data_files("tokenized") == ["tokenized/shard-00000.parquet"]


def test_shard_sizes(page: list[Block]) -> None:
    captured = []

    def save_stage_config(**options: object) -> None:
        captured.append(easydata.SaveStageConfig(**options))

    page[18].run({"SaveStageConfig": save_stage_config})
    assert [config.max_shard_size for config in captured] == ["500MB", "500MB"]
    assert [config.num_shards for config in captured] == [None, 100]


def test_validate_before_training(page: list[Block], capsys: pytest.CaptureFixture[str]) -> None:
    save_tokenized("tokenized")
    page[19].run({})
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("OK (10+ examples)")
