"""A position is good in a process that knows nothing but the configuration."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from build_pipeline import Data, loader_of
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
SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from build_pipeline import Data, loader_of
from test_fresh_process import PIPELINES
data = Data(Path(sys.argv[2]))
for name, states in json.load(sys.stdin).items():
    for state in states:
        with loader_of(PIPELINES[name], data) as loader:
            loader.load_state_dict(state)
            assert loader.state_dict() == state
            for batch in loader:
                pass
            print(name, loader.digest(), sep=":")
"""


def test_five_steps_in_a_fresh_process(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    data = Data(tmp_path / "here")
    states, expected = {}, []
    for name, spec in PIPELINES.items():
        digests, saved = [0], []
        with loader_of(spec, data) as loader:
            saved.append(loader.state_dict())
            for _ in loader:
                saved.append(loader.state_dict())
                digests.append(int(loader.digest(), 16))
        steps = [len(digests) * part // 5 for part in range(5)]
        assert len(set(steps)) == 5
        states[name] = [saved[step] for step in steps]
        # Digests of the parts of a stream add up.
        rests = [(digests[-1] - digests[step]) % 2**64 for step in steps]
        expected += [f"{name}:{rest:016x}" for rest in rests]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(tmp_path / "there")],
        input=json.dumps(states),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == expected


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
def sixteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen folders of two JSON lines files each."""
    folder = tmp_path_factory.mktemp("sixteen-sources")
    for place, name in enumerate(NAMES):
        (folder / name).mkdir()
        for part in range(2):
            sizes = [1 + (row * 7 + place) % 23 for row in range(150)]
            lines = [json.dumps({"text": " ".join(["10"] * size)}) + "\n" for size in sizes]
            (folder / name / f"part-{part:05}.jsonl").write_text("".join(lines))
    return folder


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
    weights = {name: place + 0.5 for place, name in enumerate(NAMES)}
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
