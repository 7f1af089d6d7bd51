"""The order of rows that is told beforehand, against the rows; its statistics; what it costs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.reports import order_quality, row_order
from easydata.reports.order_quality import cost_of, ideal_order, measure, shuffle_report
from easydata.reports.row_order import BlockMap, Setting, grain_order, order_of
from easydata.transforms import SelectFields

from easydata import (
    ArrowShardedSource,
    AsyncDataLoader,
    CsvShardedSource,
    JsonShardedSource,
    ParquetShardedSource,
)

ROWS = 40_000
NUMBERS = {"n": "any"}
GRAIN_CACHE = 256 << 20  # docs/guide/reading.md
SETTINGS = [
    Setting(mode, window, buffer)
    for mode, window in ((None, None), ("blocks", None), ("rows", 20_000), ("rows", None))
    for buffer in (None, 700)
] + [Setting("grain"), Setting("grain", None, 700)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The numbers 0 .. ROWS - 1, of 6 digits, in 3 files of several blocks of each format."""
    path = tmp_path_factory.mktemp("numbers")
    for part, (begin, end) in enumerate(((0, 15_000), (15_000, 15_001), (15_001, ROWS))):
        table = pa.table({"n": [f"{n:06}" for n in range(begin, end)]})
        pq.write_table(table, path / f"{part}.parquet", row_group_size=900)
        with pa.ipc.new_file(path / f"{part}.arrow", table.schema) as file:
            file.write_table(table, max_chunksize=700)
        with open(path / f"{part}.jsonl", "w") as lines:
            for n in range(begin, end):
                lines.write(json.dumps({"n": f"{n:06}", "rest": "x" * 100}) + "\n")
        with open(path / f"{part}.csv", "w") as lines:
            lines.write("n\n" + "".join(f"{n:06}\n" for n in range(begin, end)))
    return path


def source_of(kind: str, folder: Path) -> Any:
    kinds: dict[str, Callable[[str], Any]] = {
        "parquet": ParquetShardedSource,
        "arrow": ArrowShardedSource,
        "jsonl": JsonShardedSource,
        "csv": CsvShardedSource,
    }
    return kinds[kind](str(folder / f"*.{kind}"))


@pytest.mark.parametrize("setting", SETTINGS, ids=order_quality.name_of)
@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl", "csv"])
def test_the_order_is_that_of_the_loader(kind: str, setting: Setting, folder: Path) -> None:
    source = source_of(kind, folder)
    blocks = BlockMap(source, NUMBERS)
    assert blocks.row_bytes == (8 if kind == "jsonl" else 6)  # a value of JSON has its quotes
    assert blocks.num_rows == ROWS
    assert (blocks.num_blocks > 3) == (kind != "csv")
    order = order_of(setting, blocks, seed=5, buffer_seed=9)
    rows = source.select_fields(["n"])
    if setting.mode is not None:
        rows = rows.shuffle(setting.mode, 5, window_bytes=setting.window_bytes)
    with AsyncDataLoader(
        rows, batch_size=999, drop_last=False, shuffle_buffer_size=setting.buffer_rows, seed=9
    ) as loader:
        for epoch in (0, 1):
            real = np.array([int(n) for batch in loader for n in batch["n"]])
            assert np.array_equal(order.rows(0, ROWS, epoch), real)
            # The bounds hold, and a part of an epoch is that part.
            assert np.abs(real - np.arange(ROWS)).max() <= order.moves
            assert np.array_equal(order.rows(14_321, 17_777, epoch), real[14_321:17_777])
    if setting.mode in (None, "rows"):
        own = np.diff(np.argsort(real))[
            blocks.blocks_of(np.arange(1, ROWS)) == blocks.blocks_of(np.arange(ROWS - 1))
        ]
        assert np.abs(own).max() <= order.parts


def test_rows_of_large_files_are_estimated(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = BlockMap(source_of("jsonl", folder), NUMBERS)
    assert not exact.estimated
    for budget in (16 * 200_000, 16 * 1000, 16):  # files that are counted: all, one row's, none
        monkeypatch.setattr(row_order, "_COUNTED_BYTES", budget)
        guess = BlockMap(source_of("jsonl", folder), NUMBERS)
        assert guess.estimated
        assert guess.num_rows == pytest.approx(ROWS, rel=0.02)
        assert guess.num_blocks == exact.num_blocks
        assert guess.row_bytes == exact.row_bytes
        assert guess.uncounted_bytes == exact.uncounted_bytes
    monkeypatch.setattr(row_order, "_COUNTED_BYTES", 16)
    lines = BlockMap(source_of("csv", folder), NUMBERS)
    assert lines.estimated
    assert lines.num_rows > ROWS / 2  # the smallest file has one row under its head


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> BlockMap:
    path = tmp_path_factory.mktemp("million") / "a.parquet"
    pq.write_table(pa.table({"n": np.arange(1_000_000)}), path, row_group_size=2000)
    return BlockMap(ParquetShardedSource(str(path)))


def test_statistics_tell_grain_from_random(million: BlockMap) -> None:
    """reference/grain_xlstm.md §2.4: 0.40 between neighbours, 0.46 at the worst, χ²/dof below 1."""
    ideal = measure(ideal_order(million.num_rows), million, 1024)
    assert abs(ideal.worst_correlation) < 0.005
    assert ideal.part_chi_squared == pytest.approx(1, abs=0.05)
    assert ideal.independent_rows == 1024
    for seed in range(3):
        grain = measure(grain_order(million, seed), million, 1024, ideal)
        assert grain.neighbour_correlation == pytest.approx(0.4, abs=0.03)
        assert grain.worst_correlation == pytest.approx(0.46, abs=0.03)
        assert grain.worst_lag == 512
        assert grain.part_chi_squared == pytest.approx(0.77, abs=0.06)


def test_statistics_of_what_is_read_as_it_lies(million: BlockMap) -> None:
    found = measure(order_of(Setting(), million, 0, 0), million, 1000)
    assert found.neighbour_correlation > 0.9999
    # A batch is half a block, out of one sixteenth.
    assert found.blocks_in_batch == 1
    assert found.part_chi_squared == pytest.approx(1000, rel=0.02)


def test_windows_are_worth_as_many_rows_as_they_have_blocks(million: BlockMap) -> None:
    """Rows of one block are one sample of the data: a window of k blocks is worth k."""
    ideal = measure(ideal_order(million.num_rows), million, 1024)
    window = 20 * 2000 * 8  # bytes of 20 blocks
    found = measure(order_of(Setting("rows", window), million, 1, 1), million, 1024, ideal)
    assert found.independent_rows == pytest.approx(20, rel=0.25)
    assert found.neighbour_correlation == pytest.approx(1 / 20, abs=0.02)


def test_long_orders_are_sampled(million: BlockMap, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("rows", 20 * 2000 * 8)
    whole = measure(order_of(setting, million, 1, 1), million, 256)
    ideal = measure(ideal_order(million.num_rows), million, 256)
    monkeypatch.setattr(order_quality, "_SAMPLE_ROWS", 1 << 18)
    sampled = measure(order_of(setting, million, 1, 1), million, 256)
    assert sampled.part_chi_squared == pytest.approx(whole.part_chi_squared, rel=0.2)
    assert sampled.blocks_in_batch == pytest.approx(whole.blocks_in_batch, rel=0.05)
    again = measure(ideal_order(million.num_rows), million, 256)
    assert again.part_chi_squared == pytest.approx(ideal.part_chi_squared, abs=0.1)


def test_costs(million: BlockMap, monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in (Setting(), Setting("blocks"), Setting("rows")):
        cost = cost_of(setting, million, 0)
        assert cost.passes == 1
        assert cost.blocks == 500
    assert cost_of(Setting("rows"), million, 0).memory == 8_000_000  # all there is
    assert cost_of(Setting("rows", 1000), million, 0).memory == 1000
    assert cost_of(Setting(None, None, 500), million, 0).memory == 4000
    # Grain's: once where the blocks fit into memory; nearly all blocks for each 4,096 rows where
    # they do not.
    assert cost_of(Setting("grain"), million, 0).blocks == 500
    large = _with_row_bytes(million, 8 * GRAIN_CACHE / million.num_rows)
    cost = cost_of(Setting("grain"), large, 0)
    order = grain_order(million, 0)
    touched = sum(
        len(set(million.blocks_of(order.rows(at, min(at + 4096, order.size), 0)).tolist()))
        for at in range(0, order.size, 4096)
    )
    assert 0.8 * touched < cost.blocks <= touched
    assert cost.passes == pytest.approx(cost.blocks / 500)
    assert cost.memory == GRAIN_CACHE
    # What is told of the first part goes on.
    monkeypatch.setattr(order_quality, "_ACCESSES", 20_000)
    assert cost_of(Setting("grain"), large, 0).blocks == pytest.approx(cost.blocks, rel=0.02)


def test_grain_reads_what_is_told(folder: Path) -> None:
    """The engine's own count of bytes, with a cache that holds all."""
    source = source_of("jsonl", folder)
    blocks = BlockMap(source, NUMBERS)
    # Nobody has looked at its rows, or counted them.
    fresh = source_of("jsonl", folder).transform(SelectFields(["n"]))
    with AsyncDataLoader(fresh.shuffle("grain"), batch_size=500) as loader:
        for _ in loader:
            pass
        read = loader.stats()["bytes_read"]
    assert cost_of(Setting("grain"), blocks, 0).bytes == pytest.approx(read, rel=0.02)


def test_a_dataset_sorted_by_topic(tmp_path: Path) -> None:
    """Topics of 5,000 rows in row groups of 500: blocks are bad, rows are good."""
    topics = np.repeat(np.arange(40), 5000)
    pq.write_table(pa.table({"topic": topics}), tmp_path / "a.parquet", row_group_size=500)
    source = ParquetShardedSource(str(tmp_path / "a.parquet"))
    report = shuffle_report(Setting("blocks"), BlockMap(source), 256)
    found = {rung.name: rung.quality.independent_rows for rung in report.rungs}
    assert list(found) == ["blocks", "rows 64 MB", "grain"]
    assert found["blocks"] < 3
    assert found["rows 64 MB"] > 230
    assert report.advice.startswith('shuffle="rows" would be as good as random')
    assert "reads no more" in report.advice
    again = shuffle_report(Setting("rows"), BlockMap(source), 256)
    assert "nothing better is needed" in again.advice
    # The measure is about topics: in a batch there are as many as it says rows are independent.
    for mode, low, high in (("blocks", 1, 3), ("rows", 39, 40)):
        with AsyncDataLoader(source.shuffle(mode), batch_size=256) as loader:
            distinct = np.mean([len(set(batch["topic"].tolist())) for batch in loader])
        assert low <= distinct <= high


def test_large_row_groups_need_larger_windows(million: BlockMap) -> None:
    """A window of 64 MB of rows of 8 kB holds four blocks: the next window up is the advice."""
    million = _with_row_bytes(million, 8000.0)
    report = shuffle_report(Setting("rows"), million, 64)
    names = [rung.name for rung in report.rungs]
    assert names == ["rows 64 MB", "rows 256 MB", "rows 1 GB", "rows 4 GB", "grain"]
    worth = [rung.quality.independent_rows for rung in report.rungs]
    assert worth[0] < 8
    assert worth == sorted(worth)
    assert 'source.shuffle("rows", window_bytes=1_073_741_824)' in report.advice
    grain = report.rungs[-1]
    assert grain.cost.passes > 100


def test_advice_looks_at_batches_and_at_neighbours(million: BlockMap) -> None:
    # 40 blocks a window: neighbours are hardly correlated, but a batch is worth 40 rows.
    report = shuffle_report(Setting("rows", 40 * 2000 * 8), million, 1024)
    chosen, *others = report.rungs
    assert abs(chosen.quality.worst_correlation) < 0.05
    assert chosen.quality.independent_rows < 60
    assert [rung.name for rung in others] == ["rows 256 MB", "grain"]
    assert report.advice.startswith('source.shuffle("rows", window_bytes=268_435_456)')
    # Grain's batches are even, but its neighbours are correlated.
    report = shuffle_report(Setting("grain"), million, 1024)
    assert report.rungs[0].quality.independent_rows > 1000
    assert report.advice.startswith('shuffle="rows" would be as good as random')


def _with_row_bytes(blocks: BlockMap, row_bytes: float) -> BlockMap:
    import copy

    other = copy.copy(blocks)
    other.row_bytes = row_bytes
    return other


@pytest.mark.parametrize("rows", [2, 3, 17, 100])
def test_few_rows(rows: int, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": np.arange(rows)}), tmp_path / "a.parquet", row_group_size=2)
    blocks = BlockMap(ParquetShardedSource(str(tmp_path / "a.parquet")))
    for batch in (1, 2, 1024):
        report = shuffle_report(Setting(), blocks, batch)
        for rung in report.rungs:
            assert 0 < rung.quality.independent_rows <= min(batch, rows)
            assert np.isfinite(rung.quality.worst_correlation)


def test_one_row_cannot_be_shuffled(tmp_path: Path) -> None:
    for rows in (0, 1):
        pq.write_table(pa.table({"n": np.arange(rows)}), tmp_path / "a.parquet")
        blocks = BlockMap(ParquetShardedSource(str(tmp_path / "a.parquet")))
        with pytest.raises(ValueError, match="nothing to shuffle"):
            shuffle_report(Setting(), blocks, 8)
