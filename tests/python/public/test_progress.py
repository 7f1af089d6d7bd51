"""Progress: how much is done, how fast, how long it takes; no test hangs on the load (C5, N15)."""

import gzip
import importlib.util
import io
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.core.config import ObservabilityConfig
from easydata.core.shown_text import rounded
from easydata.execution.progress import Progress, clock_time
from small_data import jsonl

import easydata
from easydata import (
    AsyncDataLoader,
    MixedShardedSource,
    PackedShardedSource,
    Pipeline,
    ShardedDataSource,
    _native,
    save_dataset,
)


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def read(**done: int) -> dict[str, int]:
    return {"rows": 0, "tokens": 0, "shards": 0, **done}


# --- what is said -----------------------------------------------------------------------------


def test_a_line_says_how_much_and_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = Progress("a", "lines", clock=clock)
    clock.now += 10
    done = read(rows=300, tokens=6000, input_bytes=25_000_000, total_input_bytes=100_000_000)
    progress.update(done)
    assert capsys.readouterr().err == (
        "a: 25 % of 100 MB, 300 rows, 6,000 tokens, 30 rows/s, 600 tokens/s, ETA 0:00:30\n"
    )
    # Of rows whose number is known.
    progress = Progress("a", "lines", 400, clock=clock)
    clock.now += 10
    progress.update(read(rows=100))
    assert capsys.readouterr().err == ("a: 25 %, 100 of 400 rows, 10 rows/s, ETA 0:00:30\n")
    # And of what nobody knows the end of.
    progress = Progress("a", "lines", clock=clock)
    clock.now += 10
    progress.update(read(rows=100))
    assert capsys.readouterr().err == "a: 100 rows, 10 rows/s\n"


def test_what_an_earlier_run_did_is_not_this_ones_pace() -> None:
    clock = Clock()
    progress = Progress("a", "none", clock=clock)
    progress.update(read(rows=900, tokens=9, kept_shards=3, input_parts=90, total_input_parts=100))
    clock.now += 50
    done = read(rows=950, tokens=9, kept_shards=3, input_parts=95, total_input_parts=100)
    progress.update(done)
    assert progress.seconds_left(done) == pytest.approx(50)
    assert "1 rows/s" in progress.text(done)


def test_lines_are_few(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = Progress("a", "lines", clock=clock)
    for _ in range(10 * 3600):
        clock.now += 0.1
        progress.update(read(rows=1))
    lines = capsys.readouterr().err.splitlines()
    assert 10 < len(lines) < 90  # of an hour
    assert len(set(lines)) > 0


def test_numbers_are_read_at_a_glance() -> None:
    assert [rounded(n) for n in (0, 7, 950, 999.6, 12_345, 4_560_000, 2e9)] == [
        "0", "7", "950", "1 k", "12.3 k", "4.56 M", "2 G",
    ]  # fmt: skip
    assert [clock_time(s) for s in (0.4, 59.6, 3723, 90_061)] == [
        "0:00:00", "0:01:00", "1:02:03", "1 d 1:01:01",
    ]  # fmt: skip


# --- who shows it -----------------------------------------------------------------------------


class Terminal(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


def kind_of(options: ObservabilityConfig, **given: Any) -> str:
    return Progress.of(options, "a", **given)._kind


def test_options_choose_what_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    none, off = (
        ObservabilityConfig(progress_type="none"),
        ObservabilityConfig(progress_enabled=False),
    )
    unset, rich = ObservabilityConfig(), ObservabilityConfig(progress_type="rich")
    assert [kind_of(each) for each in (unset, rich, none, off)] == [
        "lines",
        "lines",
        "none",
        "none",
    ]
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert [kind_of(each) for each in (unset, rich, none, off)] == ["tqdm", "rich", "none", "none"]
    assert kind_of(unset, on_terminal="rich") == "rich"
    assert kind_of(ObservabilityConfig(progress_type="tqdm"), on_terminal="rich") == "tqdm"


def test_a_notebook_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ipykernel", "IPython"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert kind_of(ObservabilityConfig()) == "tqdm"
    # tqdm.auto's: widgets where they are there.
    made = []

    class Bar:
        n = 0

        def __init__(self, **options: Any) -> None:
            made.append(options)
            self.total = options["total"]

        def refresh(self) -> None:
            made.append(self.n)

        def close(self) -> None:
            made.append("closed")

    auto = ModuleType("tqdm.auto")
    auto.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    with Progress.of(ObservabilityConfig(), "a") as progress:
        progress.update(read())  # before anything is read it is not known how much there is
        assert made == []
        progress.update(read(rows=1, input_bytes=1, total_input_bytes=4))
    assert made == [{"total": 1000, "desc": "a", "file": sys.stderr}, 250, "closed"]


def test_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "tqdm" else found(name)
    )
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert kind_of(ObservabilityConfig()) == "rich"
    with pytest.raises(ImportError, match="pip install tqdm"):
        Progress.of(ObservabilityConfig(progress_type="tqdm"), "a")


@pytest.mark.parametrize("kind", ["rich", "tqdm"])
def test_a_bar_fits_80_columns(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(kind)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    clock = Clock()
    with Progress("stories (1 of 2)", kind, clock=clock) as progress:
        clock.now += 4
        whole = 123_456_789
        progress.update(read(rows=4_000, tokens=8_000_000, input_bytes=whole // 5,
                             total_input_bytes=whole))  # fmt: skip
    shown = terminal.getvalue()
    for said in ("stories (1 of 2)", "20 % of 123 MB", "2 M tokens/s", "ETA 0:00:16"):
        assert said in shown
    assert "…" not in shown


def test_several_datasets_are_numbered(tmp_path: Path) -> None:
    datasets = [
        {"name": name, "data_files": jsonl(str(tmp_path / f"{name}.jsonl"), [{"n": 1}])}
        for name in ("a", "b")
    ]
    values = {"datasets": datasets, "save": {"output_dir": str(tmp_path / "out")}}
    pipeline = Pipeline.from_config(values).source()
    asked = []

    def progress(name: str, total: int | None) -> Progress:
        asked.append(name)
        return Progress(name, "none", total)

    pipeline.get_context().progress = progress
    pipeline.save().build()
    assert asked == ["a (1 of 2)", "b (2 of 2)"]


# --- how much is read, as the engine tells ----------------------------------------------------

_ROWS = 3000


def rows_of(file: int) -> list[dict[str, Any]]:
    # Short ones first: files are as long as each other in rows, not in bytes.
    return [{"text": f"{file} {i} " + "word " * 120 * (file + 1)} for i in range(_ROWS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of several chunks in each form."""
    folder = tmp_path_factory.mktemp("files")
    for file in (0, 1):
        rows = rows_of(file)
        jsonl(str(folder / f"{file}.jsonl"), rows)
        with gzip.open(folder / f"{file}.jsonl.gz", "wt", 1) as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
        table = pa.Table.from_pylist(rows)
        pq.write_table(table, folder / f"{file}.parquet", row_group_size=500)
        with open(folder / f"{file}.csv", "w") as out:
            out.write("text\n" + "".join(row["text"] + "\n" for row in rows))
        np.save(folder / f"{file}.npy", np.ones((_ROWS, 300 * (file + 1)), np.uint16))
    return folder


def shares_of(source: ShardedDataSource[Any]) -> list[tuple[int, float | None]]:
    """Rows so far, and how much is read, after each batch."""
    batches = _native.iterate_batches(source._stream())
    told, rows = [], 0
    batch: Any
    for batch in batches:
        rows += batch.num_rows
        told.append((rows, batches.read_share))
    return told


@pytest.mark.parametrize("shuffle", [None, "blocks", "rows", "grain"])
@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet", "csv", "npy"])
def test_a_share_of_the_bytes_is_read(form: str, shuffle: Any, folder: Path) -> None:
    source = easydata.create_source(
        easydata.DatasetConfig(str(folder / f"*.{form}"), shuffle=shuffle)
    )
    told = shares_of(source)
    assert len(told) > (1 if shuffle == "grain" else 4)
    shares = [share for _, share in told]
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert shares[-1] == pytest.approx(1)
    assert shares[0] is not None
    assert shares[0] < (0.7 if shuffle == "grain" else 0.5)
    if shuffle is not None or form == "csv":
        return
    # The second file has twice the bytes of the first.
    sizes = [(folder / f"{file}.{form}").stat().st_size for file in (0, 1)]
    for rows, share in told:
        file, row = divmod(rows, _ROWS)
        done = sizes[0] * (1 if file else row / _ROWS) + (sizes[1] * row / _ROWS if file else 0)
        expected = 1.0 if file == 2 else done / sum(sizes)
        # A chunk of lines, and for compressed ones what is read ahead of them.
        assert share == pytest.approx(expected, abs=0.3 if form.endswith("gz") else 0.1)


def lists(rows: int) -> list[dict[str, Any]]:
    return [{"input_ids": [1] * 8} for _ in range(rows)]


def memory(rows: int) -> ShardedDataSource[Any]:
    return easydata.create_source(easydata.DatasetConfig(lists(rows)))


def test_a_share_of_what_is_made_of_it() -> None:
    source = memory(4096)
    whole = shares_of(PackedShardedSource(source, 64, 0, shuffle=False))
    assert [share for _, share in whole][-1] == 1
    assert 0 < (whole[0][1] or 0) < 0.5
    # A window is read as its rows go out.
    packed = PackedShardedSource(source, 64, 0, strategy="best_fit", pack_window=5000)
    shares = [share for _, share in shares_of(packed)]
    assert 0 < (shares[0] or 0) < 0.5
    assert shares[-1] == 1
    for rows, share in shares_of(source.take(1024)):
        assert share == pytest.approx(rows / 1024)


@pytest.mark.parametrize(
    ("stop", "end"), [("first_exhausted", 1.0), ("all_exhausted", 1.0), ("restart", None)]
)
def test_a_share_of_a_mix(stop: Any, end: float | None) -> None:
    sources = {"a": memory(4000), "b": memory(1000)}
    mixed = MixedShardedSource(sources, {"a": 0.5, "b": 0.5}, stop_strategy=stop)
    batches = _native.iterate_batches(mixed._stream())
    next(batches)
    first = batches.read_share
    if end is None:
        assert first is None
        batches.close()
        return
    assert first is not None
    assert 0 < first < 0.9
    last = 0.0
    for _ in batches:
        assert (batches.read_share or 0) >= last
        last = batches.read_share or 0
    assert last == end


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet"])
def test_a_writer_tells_bytes_of_all_bytes(form: str, folder: Path, tmp_path: Path) -> None:
    told: list[dict[str, int]] = []
    source = easydata.create_source(str(folder / f"*.{form}"))
    save_dataset(source, tmp_path / "out", progress=told.append)
    size = sum((folder / f"{file}.{form}").stat().st_size for file in (0, 1))
    assert told[-1]["input_bytes"] == told[-1]["total_input_bytes"] == size
    # Rows in memory are no files.
    save_dataset(memory(50), tmp_path / "b", progress=told.append)
    assert told[-1]["input_parts"] == told[-1]["total_input_parts"] == 50
    assert "total_input_bytes" not in told[-1]


def test_units_are_counted(folder: Path, tmp_path: Path) -> None:
    told: list[dict[str, int]] = []
    source = easydata.create_source(str(folder / "*.jsonl"))
    save_dataset(source, tmp_path / "out", units="1MB", progress=told.append)
    assert told[-1]["input_parts"] == told[-1]["total_input_parts"] > 3


# --- loaders ----------------------------------------------------------------------------------


def test_a_loader_tells_when_its_steps_end() -> None:  # N16
    steps = 20
    source = memory(10_000)
    with AsyncDataLoader(source, 4, steps=steps) as loader:
        assert loader.stats()["eta_seconds"] is None
        batches = iter(loader)
        next(batches)
        assert loader.stats()["eta_seconds"] is None  # one batch tells no pace
        for done in range(2, steps):
            next(batches)
            stats = loader.stats()
            # The time since the first batch was taken, which is shorter than since it was wanted.
            most = stats["seconds"] * (steps - done) / (done - 1)
            assert 0 < stats["eta_seconds"] <= most
        next(batches)
        assert loader.stats()["eta_seconds"] == 0


def test_a_loader_tells_when_its_epochs_end(folder: Path, tiny: str) -> None:
    config = {
        "default_tokenizer": tiny,
        "datasets": [{"data_files": str(folder / "*.jsonl")}],
        "pack": {"seq_length": 512, "shuffle_packed": False},
        "load": {"batch_size": 64, "epochs": 2, "prefetch_enabled": False},
    }

    def load() -> AsyncDataLoader:
        made = Pipeline.from_config(config).source().tokenize().pack().load()
        built: AsyncDataLoader = made.build()
        return built

    with load() as loader:
        etas = []
        for _batch in loader:
            if len(etas) % 40 < 3:
                time.sleep(0.06)  # how far the stream is read is looked at 20 times a second
            etas.append(loader.stats()["eta_seconds"])
            if len(etas) == 40:
                state = loader.state_dict()
        assert any(eta for eta in etas[:-1])
        assert etas[-1] == 0
    # Right after a restart the pace is the new run's.
    with load() as loader:
        loader.load_state_dict(state)
        assert loader.stats()["eta_seconds"] is None
        batches = iter(loader)
        for number in range(len(etas) - 41):
            if number % 40 < 3 or number == len(etas) - 42:
                time.sleep(0.06)  # as above: at the last batch, too
            next(batches)
        stats = loader.stats()
        assert stats["eta_seconds"] is not None
        assert stats["tokens_per_second"] == stats["since_start"]["tokens_per_second"]
        since = stats["since_start"]
        assert since["tokens_per_second"] == pytest.approx(since["tokens"] / since["seconds"])
        assert since["tokens"] == (len(etas) - 41) * 64 * 512 < stats["stream"]["tokens"]


def test_what_is_read_at_once_says_nothing_of_the_rest() -> None:
    with AsyncDataLoader(memory(400), 4, shuffle_buffer_size=400) as loader:
        batches = iter(loader)
        for _ in range(50):
            next(batches)
            assert loader.stats()["eta_seconds"] != 0


def test_an_endless_loader_has_no_end() -> None:
    sources = {name: memory(100) for name in "ab"}
    mixed = MixedShardedSource(sources, {"a": 0.5, "b": 0.5})
    with AsyncDataLoader(mixed, 4) as loader:
        for _, _ in zip(range(20), loader, strict=False):
            assert loader.stats()["eta_seconds"] is None
