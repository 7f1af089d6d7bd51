"""Manual page 000, the overview: every block does what the page says."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset, IterableDataset
from hub_server import HubServer
from manual_pages import Block, greedy_rows, ids_of, texts, write_parquet
from stores import GcsStore

import easydata


def dataset(name: str, rows: int) -> Dataset:
    return Dataset.from_list([{"k": name, "i": i} for i in range(rows)])


def test_the_page_has_the_blocks_that_are_tested(page: list[Block]) -> None:
    assert [block.heading for block in page] == [
        "Multi-Source Data Loading",
        "Dataset Mixing",
        "Dynamic Weight Scheduling",
        "Pipeline API",
        "Seamless Trainer Integration",  # needs a trainer
        "Example: Large-Scale Pre-training",
    ]


def test_sources(page: list[Block], hub_here: HubServer) -> None:
    """Files, and a data set of the Hub."""
    rows = [{"text": text, "n": n} for n, text in enumerate(texts(50))]
    write_parquet("bucket/data/a.parquet", rows[:20])
    write_parquet("bucket/data/b.parquet", rows[20:])
    only_files = {
        "gs://bucket": "bucket",
        'source = HuggingFaceShardedSource("HuggingFaceFW/fineweb", streaming=True)': "",
    }
    source = page[0].run({}, only_files)["source"]
    assert isinstance(source, easydata.ParquetShardedSource)
    assert source.num_shards() == 2
    assert list(source) == rows
    names = ("data/000_00000.parquet", "data/000_00001.parquet")
    files = [Path(f"bucket/data/{name}.parquet").read_bytes() for name in ("a", "b")]
    hub_here.repo("datasets", "HuggingFaceFW/fineweb", dict(zip(names, files, strict=True)))
    source = page[0].run({}, {"gs://bucket": "bucket"})["source"]
    assert isinstance(source, easydata.HuggingFaceShardedSource)
    assert list(source) == rows


def test_sources_on_a_store(
    page: list[Block], gcs: GcsStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs.url)
    rows = [{"text": text, "n": n} for n, text in enumerate(texts(50))]
    bucket = gcs.bucket("page")
    for name, some in (("a", rows[:20]), ("b", rows[20:])):
        write_parquet(f"{name}.parquet", some)
        gcs.put(bucket, f"data/{name}.parquet", Path(f"{name}.parquet").read_bytes())
    without_hub = {
        "gs://bucket": f"gs://{bucket}",
        'source = HuggingFaceShardedSource("HuggingFaceFW/fineweb", streaming=True)': "",
    }
    source = page[0].run({}, without_hub)["source"]
    assert source.num_shards() == 2
    assert list(source) == rows


def test_mixing(page: list[Block]) -> None:
    names = {f"{k}_ds": dataset(k, rows) for k, rows in (("code", 30), ("text", 70), ("math", 9))}
    mixed = page[1].run(names)["mixed"]
    assert isinstance(mixed, IterableDataset)
    first = list(itertools.islice(mixed, 2000))
    assert Counter(row["k"] for row in first[:1000]) == {"code": 400, "text": 500, "math": 100}
    assert Counter(row["k"] for row in first[1000:]) == {"code": 400, "text": 500, "math": 100}
    # A block's order is NumPy's shuffle of the names; each data set starts again at its end.
    order = ["code"] * 400 + ["text"] * 500 + ["math"] * 100
    np.random.default_rng(42).shuffle(order)
    assert [row["k"] for row in first[:1000]] == order
    assert [row["i"] for row in first if row["k"] == "math"][:20] == [*range(9), *range(9), 0, 1]
    assert list(first[0]) == ["k", "i"]


def test_weight_scheduling(page: list[Block]) -> None:
    scheduler = page[2].run({})["scheduler"]
    assert scheduler.get_weights(0) == {"easy": 0.9, "hard": 0.1}
    assert scheduler.get_weights(25_000) == pytest.approx({"easy": 0.5, "hard": 0.5})
    assert scheduler.get_weights(99_999) == pytest.approx({"easy": 0.1, "hard": 0.9})


def test_pipeline(page: list[Block], models: dict[str, Path]) -> None:
    """The page leaves PackStageConfig out of its import."""
    documents = texts(400)
    write_parquet("data/a.parquet", [{"text": text} for text in documents])
    Path("llama").symlink_to(models["meta-llama/Llama-2-7b"])
    batches: list[dict[str, np.ndarray]] = []
    names: dict[str, Any] = {
        "PackStageConfig": easydata.PackStageConfig,
        "train_step": batches.append,
    }
    page[3].run(names)
    assert all(batch["input_ids"].shape == (8, 2048) for batch in batches)
    ids = ids_of(models["meta-llama/Llama-2-7b"], documents)
    rows = greedy_rows(ids, eos=2, length=2048, pad=2)
    got = Counter(tuple(row) for batch in batches for row in batch["input_ids"].tolist())
    assert len(batches) == len(rows) // 8 >= 1
    assert not got - Counter(map(tuple, rows))


@pytest.mark.usefixtures("hub_datasets")
def test_large_scale_pre_training(page: list[Block]) -> None:
    """Without its trainer; the simple mix's list contradicts its weights, which name a dict."""
    code = page[5].code
    left = page[5].run(
        {},
        {
            "import easydel as ed\n": "",
            code[code.index("# Train") :]: "",
            "    [code_ds, text_ds],": '    {"code": code_ds, "text": text_ds},',
            "mixed = MixedShardedSource(": "scheduled = MixedShardedSource(",
        },
    )
    simple = list(itertools.islice(left["mixed"], 1000))
    assert Counter(row["k"] for row in simple) == {"code": 300, "text": 700}
    scheduler = left["scheduler"]
    middle = scheduler.get_weights(50_000)
    assert middle == pytest.approx({"code": 0.35, "text": 0.65})
    scheduled = left["scheduled"]
    rows = list(itertools.islice(scheduled.open_shard(scheduled.shard_names[0]), 1000))
    assert Counter(row["__source__"] for row in rows) == {"code": 200, "text": 800}
    assert all(row["__source__"] == row["k"] for row in rows)
