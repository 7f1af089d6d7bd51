"""Mixes of a thousand sources, of one-row sources, and of documents of no length."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import datasets
import numpy as np
import pytest

from easydata import AsyncDataLoader, HFDatasetShardedSource, MixedShardedSource


def rows(first: int, lengths: list[int]) -> HFDatasetShardedSource:
    return HFDatasetShardedSource(
        [{"doc": first + i, "input_ids": [7] * length} for i, length in enumerate(lengths)]
    )


def mixed_rows(mixed: Any, count: int) -> list[tuple[str, int]]:
    with AsyncDataLoader(mixed, batch_size=50, num_threads=2) as loader:
        batches = list(islice(loader, count // 50))
    return [
        (name, int(doc))
        for batch in batches
        for name, doc in zip(batch["__source__"], batch["doc"], strict=True)
    ]


@pytest.mark.parametrize("block_size", [1, 10, 700, 1000])
def test_a_thousand_sources_of_one_to_three_rows(block_size: int) -> None:
    sources = {f"s{i}": rows(10 * i, [1] * (1 + i % 3)) for i in range(1000)}
    weights = {name: 1.0 + i % 7 for i, name in enumerate(sources)}
    total = sum(weights.values())
    order = mixed_rows(MixedShardedSource(sources, weights, block_size, seed=3), 4000)
    counts: Counter[str] = Counter()
    for block in range(len(order) // block_size):
        counts.update(name for name, _ in order[block * block_size : (block + 1) * block_size])
        if block % 50 == 0 or block_size >= 700:
            examples = (block + 1) * block_size
            for name, weight in weights.items():
                assert abs(counts[name] - weight / total * examples) <= 1 + 1e-6
    # Each pass over a source has its rows in order.
    seen: Counter[str] = Counter()
    for name, doc in order:
        number = int(name[1:])
        assert doc == 10 * number + seen[name] % (1 + number % 3)
        seen[name] += 1


def test_documents_of_no_length_count_as_examples_and_do_not_stop_the_mix() -> None:
    sources = {"none": rows(0, [0, 0, 0]), "some": rows(10, [5, 0, 9]), "one": rows(20, [0])}
    order = mixed_rows(MixedShardedSource(sources, block_size=6), 600)
    assert Counter(name for name, _ in order) == {"none": 200, "some": 200, "one": 200}


def test_shares_of_tokens_with_documents_of_very_different_lengths() -> None:
    random = np.random.default_rng(2)
    lengths = {
        "short": random.integers(0, 4, 60),
        "long": random.integers(50, 200, 9),
        "both": random.choice([0, 1, 150], 40),
    }
    sources = {}
    for index, (name, each) in enumerate(lengths.items()):
        table: dict[str, list[Any]] = {"doc": [100 * index + i for i in range(len(each))]}
        table["input_ids"] = [[7] * length for length in each.tolist()]
        sources[name] = HFDatasetShardedSource(datasets.Dataset.from_dict(table))
    weights = {"short": 0.2, "long": 0.5, "both": 0.3}
    mixed = MixedShardedSource(sources, weights, unit="tokens")
    documents = {name: each.tolist() for name, each in lengths.items()}
    tokens: Counter[str] = Counter()
    longest = max(int(each.max()) for each in lengths.values())
    order = mixed_rows(mixed, 3000)
    assert order
    for name, doc in order:
        tokens[name] += documents[name][doc % 100]
        total = sum(tokens.values())
        for source, weight in weights.items():
            assert abs(tokens[source] - weight * total) <= longest + 1e-6


def test_rows_without_a_schema_are_mixed_by_tokens_without_a_packer() -> None:
    lengths = {"a": [3, 0, 40, 1], "b": [1, 6]}
    mixed = MixedShardedSource(
        {name: rows(10 * i, each) for i, (name, each) in enumerate(lengths.items())},
        {"a": 0.25, "b": 0.75},
        unit="tokens",
    )
    tokens: Counter[str] = Counter()
    for name, doc in mixed_rows(mixed, 600):
        tokens[name] += lengths[name][doc % 10]
        assert abs(tokens["a"] - 0.25 * tokens.total()) <= 40
    typed = {
        name: HFDatasetShardedSource(datasets.Dataset.from_list(list(source)))
        for name, source in (("a", rows(0, lengths["a"])), ("b", rows(10, lengths["b"])))
    }
    same = MixedShardedSource(typed, {"a": 0.25, "b": 0.75}, unit="tokens")
    assert mixed_rows(mixed, 600) == mixed_rows(same, 600)


def test_a_row_without_a_list_of_tokens_is_named() -> None:
    wrong = HFDatasetShardedSource([{"input_ids": [1]}, {"input_ids": "one two"}])
    mixed = MixedShardedSource({"a": wrong, "b": rows(10, [1])}, unit="tokens")
    with (
        AsyncDataLoader(mixed, batch_size=50) as loader,
        pytest.raises(TypeError, match=r'a.*row 1.*needs lists of tokens in column "input_ids"'),
    ):
        next(iter(loader))
