"""A position is good in a process that knows nothing but the configuration."""

from __future__ import annotations

import functools
import itertools
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build_pipeline import Data, loader_of
from fresh_process import rests_in_a_fresh_process
from pipeline_specs import EOS, LoadSpec, MixSpec, PackSpec, PipelineSpec, SourceSpec

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ShardedDataSource,
    TokenizedShardedSource,
    TokenizerConfig,
)

PIPELINES = {
    "packed mix": PipelineSpec(
        (
            SourceSpec(0, "python", 60, shards=3, shuffle=("rows", 3, 300, "before")),
            SourceSpec(1, "list", 17, "bimodal", steps=(("expand", 5),)),
            SourceSpec(2, "list", 31, text=True, nulls=True, steps=(("keep", 4),)),
        ),
        MixSpec(((0, (0.5, 0.3, 0.2)),), stop="all_exhausted", block_size=7),
        PackSpec(16, "first_fit", window=9),
        LoadSpec(6, epochs=2),
    ),
    "rows": PipelineSpec(
        (SourceSpec(0, "list", 60, shuffle=("grain", 5, None, "before")),),
        None,
        None,
        LoadSpec(4, shuffle_rows=7),
    ),
}


@functools.cache
def data_in(folder: Path) -> Data:
    return Data(folder)


def make(name: str, folder: Path) -> AsyncDataLoader:
    return loader_of(PIPELINES[name], data_in(folder))


def test_five_steps_in_a_fresh_process(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    rests_in_a_fresh_process(make, PIPELINES, [here], [there], tmp_path)


NAMES = [
    "fineweb-edu",
    "dclm-baseline",
    "starcoder2-python",
    "starcoder2-rust",
    "openwebmath",
    "wikipedia-en",
    "wikipedia-de",
    "arxiv-papers",
    "pes2o-abstracts",
    "stackexchange",
    "gutenberg-books",
    "common-crawl-news",
    "finemath-4plus",
    "instructions",
    "github-issues",
    "legal-cases",
]


@pytest.fixture(scope="module")
def sixteen() -> Iterator[Path]:
    """Sixteen folders of two JSON lines files each, under a path of the same length everywhere."""
    with tempfile.TemporaryDirectory(prefix="sixteen-sources-") as folder:
        write_sixteen(Path(folder))
        yield Path(folder)


def write_sixteen(folder: Path) -> None:
    for index, name in enumerate(NAMES):
        (folder / name).mkdir()
        for part in range(2):
            sizes = [1 + (row * 7 + index) % 23 for row in range(150)]
            lines = [json.dumps({"text": " ".join(["10"] * size)}) + "\n" for size in sizes]
            (folder / name / f"part-{part:05}.jsonl").write_text("".join(lines))


STRATEGIES, ORDERS, UNITS = ("greedy", "best_fit"), ("rows", None), ("examples", "tokens")


@pytest.fixture(scope="module", params=itertools.product(STRATEGIES, ORDERS, UNITS))
def sizes(request: pytest.FixtureRequest, sixteen: Path, tmp_path_factory: Any) -> list[int]:
    """Bytes of the positions of a mix of sixteen, step by step."""
    strategy, order, unit = request.param
    tokenizer, _ = Data(tmp_path_factory.mktemp("tokenizer")).tokenizer("words")
    sources: dict[str, ShardedDataSource[Any]] = {}
    for name in NAMES:
        source = JsonShardedSource(str(sixteen / name / "*.jsonl"))
        made = TokenizedShardedSource(source, tokenizer, TokenizerConfig(tokenizer))
        sources[name] = made if order is None else made.shuffle(order)
    weights = {name: index + 0.5 for index, name in enumerate(NAMES)}
    mixed = MixedShardedSource(sources, weights, unit=unit)
    packed = PackedShardedSource(mixed, 64, EOS, strategy=strategy, include_segment_ids=True)
    with AsyncDataLoader(packed, 8, shuffle_buffer_size=20) as loader:
        return [len(json.dumps(loader.state_dict())) for _ in itertools.islice(loader, 1000)]


def test_positions_do_not_grow(sizes: list[int]) -> None:
    # A digit more here and there, and "epoch" where there is one. At first many values are 0, and
    # what is the same for all sources is written once.
    assert max(sizes) <= max(sizes[:300]) + 16 * len(NAMES)


def test_sixteen_sources_take_four_kibibytes(sizes: list[int]) -> None:
    assert max(sizes) <= 4096
