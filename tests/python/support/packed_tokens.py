"""Tokens in an Arrow file, and rows packed of them as fast as it goes."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from easydata import ArrowShardedSource, PackedShardedSource


def tokens(path: Path, documents: int = 4000, length: int = 300) -> ArrowShardedSource:
    ids = np.arange(documents * length, dtype=np.int32) % 50_000
    offsets = np.arange(0, ids.size + 1, length, dtype=np.int32)
    table = pa.table({"input_ids": pa.ListArray.from_arrays(offsets, ids)})
    with pa.ipc.new_file(path / "in.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=500)
    return ArrowShardedSource(str(path / "in.arrow"))


def packed(path: Path) -> PackedShardedSource:
    return PackedShardedSource(tokens(path), 128, eos_token_id=1, strategy="greedy", shuffle=False)
