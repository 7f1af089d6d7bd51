"""Trains (that is: reads packed batches) with what is kept, as a program of its own."""

import json
import sys
import time
from collections import Counter
from itertools import islice
from typing import Any, NamedTuple

from easydata import LoadStageConfig, PackStageConfig, Pipeline, PipelineConfig


def config_of(pattern: str, tokenizer: str, cache: str | None, **options: Any) -> PipelineConfig:
    """Two datasets, mixed; the rows of each are kept in a folder, or not."""
    letters = options.pop("letters", "ab")
    datasets = [
        {"data_files": pattern.format(letter), "name": letter, "tokenizer": tokenizer, **options}
        for letter in letters
    ]
    given = {} if cache is None else {"cache": {"cache_dir": cache}}
    return PipelineConfig.from_dict({"datasets": datasets, "seed": 3, **given})


class Run(NamedTuple):
    digest: str
    state: Any
    sums: list[int]  # of the tokens of each batch
    stats: Counter[str]

    @property
    def end(self) -> tuple[str, Any]:
        return self.digest, self.state


def run(
    config: PipelineConfig,
    steps: int = 40,
    *,
    rank: int = 0,
    world_size: int = 1,
    lanes: int = 1,
    state: Any = None,
    between: Any = None,
) -> Run:
    """Takes so many steps; `between(step)` is called after each."""
    pipeline = Pipeline(config).source().tokenize().mix().pack(PackStageConfig(seq_length=2048))
    load = LoadStageConfig(batch_size=12, rank=rank, world_size=world_size, lanes=lanes)
    sums = []
    with pipeline.load(load).build() as loader:
        if state is not None:
            loader.load_state_dict(state)
        for step, batch in enumerate(islice(iter(loader), steps)):
            sums.append(int(batch["input_ids"].sum()))
            if between is not None:
                between(step)
        return Run(loader.digest(), loader.state_dict(), sums, _stats(pipeline))


def _stats(pipeline: Any) -> Counter[str]:
    """What the stores did."""
    counts: Counter[str] = Counter()
    for store in {source._store for source in _kept(pipeline)} - {None}:
        store.native.flush()
        counts.update(store.native.stats())
    return counts


def _kept(pipeline: Any) -> list[Any]:
    mixture = pipeline.get_context().mixtures["mixed"]
    return [source for source in mixture.sources.values() if hasattr(source, "_store")]


def main() -> None:
    """Arguments: pattern, tokenizer, folder, steps; prints the digest and the blocks written."""
    pattern, tokenizer, cache, steps = sys.argv[1:5]
    pause = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0
    print("ready", flush=True)
    done = run(
        config_of(pattern, tokenizer, cache or None),
        int(steps),
        between=lambda step: time.sleep(pause),
    )
    print(json.dumps({"digest": done.digest, "stats": done.stats}))


if __name__ == "__main__":
    main()
