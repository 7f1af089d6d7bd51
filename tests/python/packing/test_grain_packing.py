"""Packing as Grain does it: recorded rows, and the real package where it is installed."""

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_folders import OWN

from easydata import AsyncDataLoader, PackedShardedSource

EOS = 1

STRATEGIES = {
    "first_fit": "grain_first_fit",
    "best_fit": "grain_best_fit",
    "concat_then_split": "grain_concat",
}
# What our rows cannot be asked for; the engine's own tests compare these cases.
PLANNER_ONLY = {
    "max_sequences_per_bin",
    "pack_alignment_struct",
    "padding_struct",
    "split_full_length_features",
    "bos_handling",
}


def document(number: int, length: int) -> list[int]:
    return [(7 * index + 31 * number) % 997 + 1 for index in range(length)]


def grain_rows(
    lengths: Sequence[int], seq_length: int, strategy: str, **options: Any
) -> Iterator[dict[str, Any]]:
    """Our rows in Grain's words: segments from 1, and 0 in all of the padding."""
    source: Any = [{"input_ids": document(number, length)} for number, length in enumerate(lengths)]
    # The id of an EOS that no token has: it must not matter.
    packed = PackedShardedSource(source, seq_length, 5, strategy=strategy, **options)  # type: ignore[arg-type]
    for row in packed:
        mask = row["attention_mask"]
        yield {
            "tokens": row["input_ids"],
            "tokens_segment_ids": (row["segment_ids"] + 1) * mask,
            "tokens_positions": row["position_ids"] * mask,
        }


def digest(rows: Sequence[dict[str, Any]]) -> str:
    sha = hashlib.sha256()
    for row in rows:
        for name in sorted(row):
            sha.update(np.ascontiguousarray(row[name], dtype="<i4").tobytes())
    return sha.hexdigest()


def test_recorded_rows(golden: Path) -> None:
    recorded = json.loads((golden / "grain/packing.json").read_text())
    compared = 0
    for case in recorded["cases"]:
        options, lengths = case["options"], case["doc_lengths"]
        if PLANNER_ONLY & set(options) or 0 in lengths:
            continue
        ours: dict[str, Any] = {"shuffle": options.get("shuffle_bins", True)}
        if case["algorithm"] == "concat_then_split":
            ours["shuffle"] = False
        else:
            ours["num_packers"] = options["num_packing_bins"]
            ours["seed"] = options.get("seed", 0)
        strategy = STRATEGIES[case["algorithm"]]
        if "error" in case:
            with pytest.raises(ValueError, match="row 30: the document does not fit into a row of"):
                list(grain_rows(lengths, case["L"], strategy, **ours))
        else:
            rows = list(grain_rows(lengths, case["L"], strategy, **ours))
            assert len(rows) == case["row_count"]
            assert digest(rows) == case["sha256_int32le_rowwise_keys_sorted"], options
            for row, tokens in zip(rows, case.get("rows", {}).get("tokens", []), strict=False):
                assert row["tokens"].tolist() == tokens
        compared += 1
    assert compared == (45 if golden.is_relative_to(OWN) else 78)


def best_fit_rows(lengths: Sequence[int], seq_length: int, window: int) -> int:
    """Rows that a loader gives of documents of these lengths, their closing EOS included."""
    source: Any = [{"input_ids": [*range(10, 9 + length), EOS]} for length in lengths]
    packed = PackedShardedSource(
        source, seq_length, EOS, strategy="best_fit", shuffle=False, pack_window=window
    )
    with AsyncDataLoader(packed, 16, drop_last=False) as loader:
        masks = [batch["attention_mask"] for batch in loader]
    assert sum(int(mask.sum()) for mask in masks) == sum(lengths)
    return sum(map(len, masks))


def test_best_fit_fills_rows_at_least_as_grain_s_does(golden: Path) -> None:
    """With windows of as many documents as Grain has in a group of bins on average.

    Below 20 documents where a window happens to end tells more than how it is packed.
    """
    recorded = json.loads((golden / "grain/packing.json").read_text())
    ours, theirs = [], []
    for case in recorded["cases"]:
        options, lengths = case["options"], case["doc_lengths"]
        if case["algorithm"] != "best_fit" or "error" in case or PLANNER_ONLY & set(options):
            continue
        groups = max(1, -(-case["row_count"] // options["num_packing_bins"]))
        if 0 in lengths or len(lengths) // groups < 20:
            continue
        ours.append(best_fit_rows(lengths, case["L"], len(lengths) // groups))
        theirs.append(case["row_count"])
        assert ours[-1] <= theirs[-1], options
    assert len(ours) == (4 if golden.is_relative_to(OWN) else 15)
    assert sum(ours) < sum(theirs)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("algorithm", STRATEGIES)
def test_the_real_grain(algorithm: str, seed: int) -> None:
    grain = pytest.importorskip("grain", reason="grain is not installed")
    draw = random.Random(seed)
    seq_length = draw.choice([16, 64, 2048])
    concat = algorithm == "concat_then_split"
    longest = 3 * seq_length if concat else seq_length
    lengths = [
        min(longest, 1 + int(draw.lognormvariate(0, 1) * seq_length / 4)) for _ in range(300)
    ]
    elements = [
        {"tokens": np.array(document(number, length), dtype=np.int32)}
        for number, length in enumerate(lengths)
    ]
    bins = draw.choice([1, 3, 16])
    parent = grain.MapDataset.source(elements).to_iter_dataset(
        grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    )
    made: dict[str, Any] = {"length_struct": {"tokens": seq_length}}
    ours: dict[str, Any] = {"shuffle": False}
    if concat:
        theirs = grain.experimental.ConcatThenSplitIterDataset(parent, **made)
    else:
        ours = {"num_packers": bins, "shuffle": seed % 2 == 0, "seed": seed}
        packer = {
            "first_fit": grain.experimental.FirstFitPackIterDataset,
            "best_fit": grain.experimental.BestFitPackIterDataset,
        }[algorithm]
        theirs = packer(
            parent, num_packing_bins=bins, shuffle_bins=seed % 2 == 0, seed=seed, **made
        )
    rows = list(grain_rows(lengths, seq_length, STRATEGIES[algorithm], **ours))
    expected = list(theirs)
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        assert set(row) == set(other)
        for name, values in row.items():
            assert values.tolist() == other[name].tolist()
