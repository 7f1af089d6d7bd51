"""No copy between the engine and pyarrow, shown by address; numpy, torch and JAX have theirs."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from easydata import ArrowShardedSource, AsyncDataLoader, PackedShardedSource, Tokenizer

ROWS, LENGTH, EOS = 20_000, 16, 1


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """An Arrow file of rows of one length: 10 to 10 + ROWS * LENGTH."""
    values = pa.array(np.arange(10, 10 + ROWS * LENGTH, dtype=np.int32))
    rows = pa.table({"input_ids": pa.FixedSizeListArray.from_arrays(values, LENGTH)})
    with pa.ipc.new_file(tmp_path / "in.arrow", rows.schema) as file:
        file.write_table(rows, max_chunksize=ROWS // 2)
    return tmp_path / "in.arrow"


def address(array: Any) -> int:
    start: int = array.__array_interface__["data"][0]
    return start


def test_batches_of_an_arrow_file_are_views_of_what_was_read(table: Path) -> None:
    first, starts, ends = 10, [], []
    with AsyncDataLoader(ArrowShardedSource(str(table)), batch_size=8) as loader:
        for batch in loader:
            ids = batch["input_ids"]
            flat = pa.array(ids.reshape(-1))
            assert flat.buffers()[1].address == address(ids)
            assert flat[0].as_py() == first
            first += 8 * LENGTH
            starts.append(address(ids))
            ends.append(address(ids) + ids.nbytes)
    assert first == 10 + ROWS * LENGTH
    # Each of the two record batches was read once, as a whole: its rows lie behind each other.
    assert sum(start != end for start, end in zip(starts[1:], ends[:-1], strict=True)) <= 1


def test_pyarrow_takes_packed_rows_over_as_they_are(table: Path) -> None:
    packed = PackedShardedSource(ArrowShardedSource(str(table)), 64, EOS, shuffle=False)
    kept = []
    with AsyncDataLoader(packed, batch_size=8) as loader:
        for batch in loader:
            for values in batch.values():
                rows = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), 64)
                assert rows.values.buffers()[1].address == address(values)
            kept.append(pa.array(batch["input_ids"].reshape(-1)))
    del loader, batch, values, rows
    tokens = np.concatenate([array.to_numpy(zero_copy_only=True) for array in kept])
    # What pyarrow holds on to outlives the loader and its batches.
    written = tokens[tokens != EOS]
    assert written.tolist() == list(range(10, 10 + len(written)))
    assert len(written) > 0.99 * ROWS * LENGTH


def test_ids_of_a_batch_of_texts_lie_in_the_engine_s_memory(gpt2: str) -> None:
    tokenizer = Tokenizer(gpt2)
    texts = ["one two three", "", "four"] * 1000
    ids = tokenizer.encode_batch(pa.array(texts))
    values = ids.values.to_numpy(zero_copy_only=True)
    assert address(values) == ids.values.buffers()[1].address
    part = ids.slice(3, 3)
    assert part.buffers()[3].address == address(values)
    expected = [tokenizer.encode(text) for text in texts[:3]] * 1000
    del tokenizer
    assert ids.to_pylist() == [list(row) for row in expected]
    assert values.tolist() == [token for row in expected for token in row]
