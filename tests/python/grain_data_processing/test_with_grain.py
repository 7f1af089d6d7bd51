"""Ours as Grain's: data sources, data sets of rows, and a live comparison of whole pipelines."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from easydata.grain_data_processing import (
    load_array_record_dataset,
    pad_dataset,
    preprocess_dataset,
)
from easydata.grain_data_processing.preprocess import mixed
from small_records import write_tokens

grain = pytest.importorskip("grain")
packing = pytest.importorskip("grain.experimental")


def test_data_sets_are_data_sources(texts: Path) -> None:
    import grain.python as classic
    from absl import flags

    flags.FLAGS.mark_as_parsed()  # Grain's workers look at them
    records = load_array_record_dataset(texts / "train")
    padded = pad_dataset(records, 16, "text")
    for data in (records, padded):
        assert isinstance(data, classic.RandomAccessDataSource)
        mapped = grain.MapDataset.source(data).map(len)
        want = [len(data[i]) for i in range(len(data))]
        assert [mapped[i] for i in range(len(mapped))] == want
        assert list(mapped.to_iter_dataset()) == want
        options = grain.MultiprocessingOptions(num_workers=2)
        assert list(mapped.to_iter_dataset().mp_prefetch(options)) == want


def test_rows_are_a_data_set_that_resumes(numbers: Path) -> None:
    data = load_array_record_dataset(numbers / "train")
    rows, _ = preprocess_dataset(
        0, 1, data, "text", False, 8, 32, True, 3, eod_token_id=9,
        grain_packing=True, num_epochs=2,
    )  # fmt: skip
    want = [row["targets"].tolist() for row in rows]
    data_set = rows.to_grain()
    assert isinstance(data_set, grain.IterDataset)
    batches = list(data_set.batch(4))
    got = np.concatenate([batch["targets"] for batch in batches]).tolist()
    assert got == want
    iterator = iter(data_set)
    for _ in range(10):
        next(iterator)
    state = iterator.get_state()
    other = iter(rows.to_grain())
    other.set_state(state)
    assert [row["targets"].tolist() for row in other] == want[10:]
    iterator.close()
    other.close()


def grains_rows(
    documents: list[Any], length: int, bins: int, seed: int, shuffle: bool, host: int, hosts: int
) -> Any:
    """What xlstm_jax does, in Grain's own words."""
    share = np.array_split(np.arange(len(documents)), hosts)[host]
    data = grain.MapDataset.source([np.array(documents[i], np.int32) for i in share])
    data = data.seed(seed + host)
    if shuffle:
        data = data.shuffle()
    data = data.repeat(None).map(lambda tokens: {"targets": np.append(tokens, 9).astype(np.int32)})
    return packing.FirstFitPackIterDataset(
        data.to_iter_dataset(grain.ReadOptions(num_threads=0)),
        length_struct={"targets": length},
        num_packing_bins=bins,
        shuffle_bins=shuffle,
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("host", "hosts"), [(0, 1), (1, 2), (2, 4)])
@pytest.mark.parametrize("seed", [0, 7])
def test_rows_equal_those_of_grain(
    seed: int, host: int, hosts: int, shuffle: bool, tmp_path: Path
) -> None:
    several = [write_tokens(tmp_path / str(i), 120 + 50 * i, seed=i) for i in range(3)]
    weights = [0.5, 0.3, 0.2]
    ours, theirs = [], []
    for i, documents in enumerate(several):
        data = load_array_record_dataset(tmp_path / str(i))
        rows, _ = preprocess_dataset(
            host, hosts, data, "text", False, 8, 32, shuffle, seed, eod_token_id=9,
            grain_packing=True, grain_packing_bin_count=6,
        )  # fmt: skip
        ours.append(rows)
        theirs.append(grains_rows(documents, 32, 6, seed, shuffle, host, hosts))
    for got, want in zip(
        itertools.islice(mixed(ours, weights), 400),
        grain.IterDataset.mix(theirs, weights),
        strict=False,
    ):
        np.testing.assert_array_equal(got["targets"], want["targets"])
        np.testing.assert_array_equal(got["targets_position"], want["targets_positions"])
        np.testing.assert_array_equal(got["targets_segmentation"], want["targets_segment_ids"])
        assert got["inputs"].tolist() == [9, *want["targets"][:-1].tolist()]
