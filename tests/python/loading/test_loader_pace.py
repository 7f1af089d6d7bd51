"""What a loader says of where time goes; the threads it has, and how soon they end."""

import gc
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from packed_tokens import packed, tokens
from programs import run_python
from python_rows import Rows
from resident_memory import GIVES_BACK, resident
from thread_count import handles, threads

from easydata import (
    AsyncDataLoader,
    PackedShardedSource,
    ParquetShardedSource,
    TokenizedShardedSource,
    TokenizerConfig,
)

pytestmark = pytest.mark.alone


def test_stats_tell_where_time_goes_and_what_is_ready(tmp_path: Path) -> None:
    source = packed(tmp_path)
    with AsyncDataLoader(source, batch_size=8, shuffle_buffer_size=64) as loader:
        iterator = iter(loader)
        next(iterator)
        deadline = time.monotonic() + 10
        while loader.stats()["queue"]["batches"] < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        queue = loader.stats()["queue"]
        assert queue == {"batches": 4, "bytes": 4 * 8 * 128 * 4 * 4}
        time.sleep(0.2)
        for _ in iterator:
            pass
        stats = loader.stats()
    wait, busy = stats["wait_seconds"], stats["busy_seconds"]
    assert set(wait) == {"loader", "trainer", "read", "workers", "pack", "shuffle", "collate"}
    assert set(busy) == {"read", "trainer"}
    assert all(seconds >= 0 for seconds in [*wait.values(), *busy.values()])
    assert wait["trainer"] >= 0.15
    assert busy["trainer"] >= 0.15
    # One thread makes the batches: its parts are no more than the whole.
    own = sum(seconds for name, seconds in wait.items() if name != "loader")
    assert own <= stats["seconds"] * 1.02
    assert own >= stats["seconds"] * 0.5


def explained(loader: AsyncDataLoader, each: float = 0) -> dict[str, Any]:
    for _ in loader:
        time.sleep(each)
    out = loader.explain()
    loader.close()
    return out


@pytest.mark.parametrize("prefetch", [True, False])
def test_explain_finds_what_is_slow(tmp_path: Path, gpt2: str, prefetch: bool) -> None:
    def loader(source: Any, **options: Any) -> AsyncDataLoader:
        return AsyncDataLoader(source, batch_size=8, prefetch_enabled=prefetch, **options)

    rows = [{"input_ids": [1] * 20, "n": n} for n in range(160)]

    def slow(row: Any) -> Any:
        time.sleep(0.003)
        return row

    for bottleneck, source in (
        ("source", Rows(rows, lambda number: time.sleep(0.003))),
        ("callable", Rows(rows).map(slow)),
        ("callable", Rows(rows).filter(lambda row: slow(row)["n"] >= 0)),
    ):
        found = explained(loader(source))
        assert found["bottleneck"] == bottleneck, found
        assert found["share"] > 0.8
        assert found["speedup_if_free"] > 3
        assert found["sentence"].startswith(f'"{bottleneck}" sets the pace')

    # Words that were never seen before, each to be merged by itself, and so many that a machine
    # that stops for a moment while it reads does not count.
    hexes = np.random.default_rng(1).bytes(32 << 20).hex()
    texts = [hexes[at : at + 8192] for at in range(0, len(hexes), 8192)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "t.parquet", row_group_size=512)
    text = TokenizedShardedSource(
        ParquetShardedSource(str(tmp_path / "t.parquet")),
        gpt2,
        TokenizerConfig(name_or_path=gpt2),
    )
    found = explained(loader(text, num_threads=1))
    assert found["bottleneck"] == "tokenize", found
    assert found["speedup_if_free"] > 1.5

    found = explained(loader(packed(tmp_path)), each=0.003)
    assert found["bottleneck"] == "trainer", found
    assert found["share"] > 0.5
    assert found["speedup_if_free"] > 1.5

    nothing = loader(packed(tmp_path))
    assert nothing.explain()["bottleneck"] is None
    nothing.close()


def test_threads_and_handles_stay_flat(tmp_path: Path) -> None:
    run_python(__file__, tmp_path, 10, 50, variables=GIVES_BACK)


@pytest.mark.sliced
def test_threads_and_handles_stay_flat_for_long(tmp_path: Path) -> None:
    run_python(__file__, tmp_path, 100, 1000, variables=GIVES_BACK)


def keep_flat(path: Path, epochs: int, openings: int) -> None:
    pa.set_io_thread_count(1)
    source = PackedShardedSource(tokens(path, 400, 50), 64, eos_token_id=1)

    def settle() -> tuple[int, int]:
        # The last loader's look at the file left it open, for a pass that may not have come.
        with AsyncDataLoader(source, batch_size=4, num_threads=2) as loader:
            assert sum(1 for _ in loader) == 400 * 51 // 64 // 4
        gc.collect()
        return threads(), handles()

    def open_and_close(number: int) -> None:
        loader = AsyncDataLoader(source, batch_size=4, num_threads=2)
        iterator = iter(loader)
        for _ in range(number % 3):
            next(iterator)
        if number % 2:
            loader.close()
        if number % 5 == 0:
            loader.at(number % 7) if not number % 2 else None

    for number in range(10):
        open_and_close(number)
    before = settle()
    for number in range(openings // 2):
        open_and_close(number)
    assert settle() == before
    memory = resident()
    for number in range(openings // 2):
        open_and_close(number)
    assert settle() == before
    assert resident() < memory + (24 << 20)

    with AsyncDataLoader(source, batch_size=4, num_threads=2) as loader:
        counts = []
        for epoch in range(epochs):
            assert sum(1 for _ in loader) == 400 * 51 // 64 // 4
            if epoch in (4, epochs - 1):
                counts.append((threads(), handles(), resident()))
    assert counts[0][:2] == counts[1][:2]
    assert counts[1][2] < counts[0][2] + (24 << 20)
    assert settle() == before


@pytest.mark.parametrize("prefetch", [True, False])
def test_closing_from_another_thread_ends_a_sleeping_callable_soon(prefetch: bool) -> None:
    def sleepy(row: Any) -> Any:
        time.sleep(0.2)
        return row

    before = threads()
    for wrap in ("source", "map"):
        rows = [{"n": n} for n in range(1000)]
        source = (
            Rows(rows, lambda number: time.sleep(0.2))
            if wrap == "source"
            else Rows(rows).map(sleepy)
        )
        loader = AsyncDataLoader(source, batch_size=900, prefetch_enabled=prefetch)
        ended: list[BaseException] = []

        def drain(loader: AsyncDataLoader = loader, ended: list[BaseException] = ended) -> None:
            try:
                next(iter(loader))
            except BaseException as error:
                ended.append(error)

        reader = threading.Thread(target=drain)
        reader.start()
        time.sleep(0.3)
        begin = time.monotonic()
        loader.close()
        reader.join()
        assert time.monotonic() - begin < 1
        assert "closed" in str(ended[0])
    gc.collect()
    assert threads() <= before


if __name__ == "__main__":
    keep_flat(Path(sys.argv[1]), epochs=int(sys.argv[2]), openings=int(sys.argv[3]))
