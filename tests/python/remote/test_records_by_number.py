"""ArrayRecord files on stores: records by number, and rows of hosts, are those of files here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import own_texts
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.grain_data_processing import load_array_record_dataset, preprocess_dataset
from faults import Rule
from served_files import HASTY, served_files

from easydata import AsyncDataLoader, ParquetShardedSource, save_dataset

TEXTS = [f"{i}: {own_texts.ENGLISH[i % len(own_texts.ENGLISH)]}" for i in range(700)]
FAULTS = {
    "none": [],
    "some": [
        Rule("reset", at=2000, times=3),
        Rule("status", status=503, times=3, skip=2),
        Rule("cut", at=500, times=2, skip=1),
    ],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven files, whose names come in another order than their numbers."""
    written, folder = tmp_path_factory.mktemp("written"), tmp_path_factory.mktemp("records")
    pq.write_table(pa.table({"text": TEXTS}), written / "texts.parquet")
    source = ParquetShardedSource(str(written / "texts.parquet"))
    stats = save_dataset(source, written / "out", "array_record", max_shard_rows=65)
    for number, path in enumerate(stats.output_paths):
        Path(path).rename(folder / f"train_{number}.arecord")
    return folder


def batches(records: Any, gpt2: str, state: Any = None) -> tuple[list[Any], list[Any]]:
    """The first batches, or those that follow a state, and the states after them."""
    rows, _ = preprocess_dataset(
        0, 2, records, "text", True, 8, 64, True, 3, gpt2, add_bos=False, add_eos=False,
        grain_packing=True,
    )  # fmt: skip
    found, states = [], []
    with AsyncDataLoader(rows, batch_size=4) as loader:
        if state is not None:
            loader.load_state_dict(state)
        for batch, _ in zip(loader, range(12), strict=False):
            found.append({name: values.tolist() for name, values in batch.items()})
            states.append(loader.state_dict())
    return found, states


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("where", ["seaweed", "gcs"])
def test_records_of_a_store(
    where: str, faults: str, files: Path, gpt2: str, request: pytest.FixtureRequest
) -> None:
    local = load_array_record_dataset(files)
    assert [local[i].decode() for i in range(len(local))] == TEXTS
    expected, _ = batches(local, gpt2)
    with served_files(request, where, files, FAULTS[faults]) as here:
        options = {**here.options, **HASTY}
        records = load_array_record_dataset(here.root, storage_options=options)
        assert len(records) == len(TEXTS)
        numbers = np.random.default_rng(1).permutation(len(TEXTS))[:200].tolist()
        assert records.__getitems__(numbers) == [TEXTS[i].encode() for i in numbers]
        assert records[699].decode() == TEXTS[699]
        found, there = batches(records, gpt2)
        assert found == expected
        assert len(here.faults) == sum(rule.times for rule in FAULTS[faults])
        again, _ = batches(records, gpt2, there[3])
        assert again[: len(found) - 4] == expected[4:]
