"""Manual page 001, mixing: every block does what the page says."""

import io
import itertools
import json
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset, IterableDataset
from manual_pages import Block, texts, write_parquet

import easydata

LLAMA = "meta-llama/Llama-2-7b"


def dataset(name: str, rows: int) -> Dataset:
    return Dataset.from_list([{"k": name, "i": i} for i in range(rows)])


def source(name: str, rows: int) -> easydata.HFDatasetShardedSource:
    return easydata.HFDatasetShardedSource(dataset(name, rows))


def counts(mixed: Any, rows: int, key: str = "k") -> dict[str, int]:
    """How many of the first rows come from where."""
    if isinstance(mixed, easydata.MixedShardedSource):
        mixed = mixed.open_shard(mixed.shard_names[0])
    return dict(Counter(row[key] for row in itertools.islice(mixed, rows)))


def test_the_page_has_the_blocks_that_are_tested(page: list[Block]) -> None:
    assert [block.heading for block in page] == [
        "Simple Mixing with HuggingFace Datasets",
        "block_mixture_interleave",
        "MixedShardedSource",
        "Dynamic Weight Scheduling",
        "Visualizing Schedule",
        "Stop Strategies",
        "Pipeline API Mixing",
        "MixStageConfig",
        "CompositeShardedSource",
        "Legacy DatasetMixture API",
        "1. Choose Block Size Carefully",
        "2. Use Dynamic Scheduling for Curriculum",
        "3. Handle Imbalanced Datasets",
        "4. Track Data Source",
        "Reproducibility",
        "Reproducibility",
    ]


@pytest.mark.usefixtures("hub_datasets")
def test_simple_mixing(page: list[Block]) -> None:
    """Streaming and map-style data sets together; without the trainer."""
    mixed = page[0].run(
        {},
        {"trainer = ed.SFTTrainer(train_dataset=mixed, ...)": ""},
    )["mixed"]
    assert isinstance(mixed, IterableDataset)
    for _ in range(2):  # each pass is the same
        assert counts(mixed, 1000) == {"code": 400, "text": 500, "math": 100}


def test_block_mixture_interleave(page: list[Block]) -> None:
    names = {"ds1": dataset("code", 5), "ds2": dataset("text", 500), "ds3": dataset("math", 50)}
    weighted: dict[str, Any] = {}
    left = page[1].run(
        {**names, "weighted": weighted},
        {"\n# Equal weights": '\nweighted["mixed"] = mixed\n# Equal'},
    )
    assert counts(weighted["mixed"], 1000) == {"code": 500, "text": 300, "math": 200}
    assert counts(left["mixed"], 1000) == {"code": 500, "text": 500}
    rows = list(itertools.islice(weighted["mixed"], 1000))
    assert [row["i"] for row in rows if row["k"] == "code"][:12] == [0, 1, 2, 3, 4] * 2 + [0, 1]
    order = ["code"] * 500 + ["text"] * 300 + ["math"] * 200
    np.random.default_rng(42).shuffle(order)
    assert [row["k"] for row in rows] == order


def test_mixed_sharded_source(page: list[Block]) -> None:
    names = {"dataset1": dataset("code", 40), "dataset2": dataset("text", 90)}
    stop = {'example["__source__"])': 'example["__source__"]); seen += 1; assert seen < 1000'}
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(AssertionError):
        page[2].run({**names, "seen": 0}, stop)  # the mix restarts: it never ends by itself
    lines = printed.getvalue().splitlines()
    assert len(lines) == 1000
    assert Counter(line.split()[0] for line in lines) == {"code": 300, "text": 700}


def test_dynamic_weights(page: list[Block]) -> None:
    names = {"code_dataset": dataset("code", 40), "text_dataset": dataset("text", 90)}
    mixed = page[3].run(names)["mixed"]
    rows = list(itertools.islice(mixed.open_shard(mixed.shard_names[0]), 11_000))
    blocks_ = [
        Counter(row["__source__"] for row in rows[at : at + 1000]) for at in range(0, 11_000, 1000)
    ]
    # Linear from 0.2 to 0.5 over 10,000 examples, read at each block's start.
    assert [block["code"] for block in blocks_] == [200 + 30 * n for n in range(11)]


def test_weights_at_any_step(page: list[Block]) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        scheduler = page[4].run(
            {
                "WeightScheduler": easydata.WeightScheduler,
                "WeightSchedulePoint": easydata.WeightSchedulePoint,
            }
        )["scheduler"]
    assert len(printed.getvalue().splitlines()) == 4
    for step, code in ((0, 0.2), (5000, 0.35), (10_000, 0.5), (30_000, 0.65), (90_000, 0.8)):
        assert scheduler.get_weights(step) == pytest.approx({"code": code, "text": 1 - code})


def test_stop_strategies(page: list[Block]) -> None:
    made: dict[str, Any] = {}

    def mixed(sources: Any, **options: Any) -> Any:
        source = easydata.MixedShardedSource(sources, block_size=10, **options)
        return made.setdefault(options["stop_strategy"], source)

    sources = {"short": source("short", 12), "long": source("long", 40)}
    page[5].run({"MixedShardedSource": mixed, "sources": sources})
    assert counts(made["restart"], 1000) == {"short": 500, "long": 500}  # and on without end
    first = list(made["first_exhausted"])
    kinds = Counter(row["k"] for row in first)
    assert kinds["short"] == 12
    assert kinds["long"] < 40
    everything = list(made["all_exhausted"])
    # D4: EasyDeL never ends here. Each row of the longer one once, the shorter one again and again.
    assert [row["i"] for row in everything if row["k"] == "long"] == list(range(40))
    assert {row["i"] for row in everything if row["k"] == "short"} == set(range(12))


def test_pipeline_mixing(page: list[Block]) -> None:
    code, text = texts(100, word="c"), texts(100, word="t")
    write_parquet("code_data/a.parquet", [{"text": value} for value in code])
    write_parquet("text_data/a.parquet", [{"text": value} for value in text])
    tokenizer = easydata.Tokenizer(LLAMA)
    batches: list[dict[str, Any]] = []

    class Enough(Exception):
        pass

    def train_step(batch: dict[str, Any]) -> None:
        batches.append(batch)
        if len(batches) == 125:  # of 8 rows each: one block
            raise Enough

    with pytest.raises(Enough):
        page[6].run({"train_step": train_step})
    found: Counter[str] = Counter()
    for batch in batches:
        for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True):
            words = tokenizer.decode(ids[mask == 1]).removeprefix("<s> ")
            assert words in code or words in text
            found["code" if words in code else "text"] += 1
    assert found == {"code": 300, "text": 700}


def test_mix_stage_config(page: list[Block]) -> None:
    config = page[7].run({})["config"]
    assert config.weights == {"code": 0.3, "text": 0.7}
    assert [point.step for point in config.weight_schedule] == [0, 10_000]
    assert (config.weight_schedule_type, config.seed) == ("linear", 42)
    assert (config.block_size, config.stop_strategy) == (1000, "restart")


def test_composite(page: list[Block]) -> None:
    first = [{"n": n} for n in range(10)]
    second = [{"n": n} for n in range(10, 15)]
    write_parquet("data1/a.parquet", first)
    write_parquet("data2/a.parquet", second)  # the same file name in another folder
    seen: list[dict[str, int]] = []
    combined = page[8].run({"process": seen.append})["combined"]
    assert seen == first + second
    assert len(set(combined.shard_names)) == 2


def test_legacy_mixture(page: list[Block]) -> None:
    """The informs have no names, so the weights go by dataset_0 and dataset_1."""
    write_parquet("data1/a.parquet", [{"text": f"one {n}", "x": n} for n in range(40)])
    Path("data2").mkdir()
    rows = [{"content": f"two {n}"} for n in range(30)]
    Path("data2/a.json").write_text(json.dumps(rows))
    made = page[9].run({}, {'"ds1"': '"dataset_0"', '"ds2"': '"dataset_1"'})["dataset"]
    values: list[str] = []
    for batch in made:
        text = batch["text"]
        values.extend([text] if isinstance(text, str) else text)
        if len(values) >= 2048:
            break
    assert all(value.split()[0] in ("one", "two") for value in values)
    kinds = Counter(value.split()[0] for value in values[:2048])
    assert abs(kinds["one"] - 0.7 * 2048) <= 1


def test_block_sizes(page: list[Block]) -> None:
    datasets = {"a": dataset("a", 30), "b": dataset("b", 30)}
    made = []

    def interleave(block_size: int) -> Any:
        made.append(
            (block_size, easydata.block_mixture_interleave(datasets, block_size=block_size))
        )
        return made[-1][1]

    page[10].run({"block_mixture_interleave": lambda *_, block_size: interleave(block_size)})
    assert [size for size, _ in made] == [100, 10_000, 1000]
    for size, mixed in made:
        assert counts(mixed, size) == {"a": size // 2, "b": size // 2}


@pytest.mark.parametrize("block", [11, 12])
def test_curriculum_and_imbalance(page: list[Block], block: int) -> None:
    names = {
        "WeightScheduler": easydata.WeightScheduler,
        "WeightSchedulePoint": easydata.WeightSchedulePoint,
    }
    scheduler = page[block].run(names)["scheduler"]
    if block == 11:
        # Half-way a cosine is in the middle, a quarter of the way it lags behind.
        assert scheduler.get_weights(25_000)["easy"] == pytest.approx(0.7)
        assert scheduler.get_weights(12_500)["easy"] == pytest.approx(
            0.9 - 0.4 * 0.14644660940672627
        )
    else:
        # The default interpolation is by steps.
        assert scheduler.get_weights(9_999) == {"small_important": 0.5, "large": 0.5}
        assert scheduler.get_weights(10_000) == {"small_important": 0.1, "large": 0.9}


def test_tracking_the_source(page: list[Block]) -> None:
    def mixed(sources: Any, *_: Any) -> Any:
        return easydata.MixedShardedSource(sources, stop_strategy="first_exhausted")

    sources = {"code": source("code", 30), "text": source("text", 30)}
    left = page[13].run({"MixedShardedSource": mixed, "sources": sources})
    assert left["source_name"] in sources
    assert all(row["__source__"] == row["k"] for row in left["mixed"])


def test_same_seed_same_sequence(page: list[Block]) -> None:
    datasets = {"a": dataset("a", 100), "b": dataset("b", 200)}
    left = page[14].run(
        {"block_mixture_interleave": easydata.block_mixture_interleave, "datasets": datasets}
    )
    first, second, other = (list(itertools.islice(left[f"mixed{n}"], 3000)) for n in (1, 2, 3))
    assert first == second
    assert first != other
    sources = {"a": source("a", 100), "b": source("b", 200)}
    mixed = page[15].run({"MixedShardedSource": easydata.MixedShardedSource, "sources": sources})[
        "mixed"
    ]
    rows = itertools.islice(mixed.open_shard(mixed.shard_names[0]), 3000)
    assert [(row["k"], row["i"]) for row in rows] == [(row["k"], row["i"]) for row in first]
