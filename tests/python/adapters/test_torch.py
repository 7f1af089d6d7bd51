"""easydata.torch in one process: memory, states at every row, DataLoaders, ranks."""

import gc
import itertools
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_corpus import InterruptedLoader, RecordedLoader, packed_loader

from easydata import (
    AsyncDataLoader,
    JsonShardedSource,
    ParquetShardedSource,
    Pipeline,
    PipelineConfig,
)

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

import easydata.torch  # noqa: E402


def typed(path: Path, rows: int = 40) -> ParquetShardedSource:
    """Rows with a column of each type that the loader makes arrays of, and strings."""
    random = np.random.default_rng(2)
    table: dict[str, Any] = {"text": [f"row {n}" for n in range(rows)], "n": range(rows)}
    for name in ("bool", *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64))):
        table[name] = random.integers(0, 2, rows).astype(name)
    for name in ("float16", "float32", "float64"):
        table[name] = random.random(rows).astype(name)
    table["ids"] = list(np.arange(rows * 4, dtype=np.int32).reshape(rows, 4))
    path.mkdir(exist_ok=True)
    pq.write_table(pa.table(table), path / "in.parquet", row_group_size=16)
    return ParquetShardedSource(str(path / "*.parquet"))


def numbers(values: Any) -> Any:
    """A row or batch as plain Python values."""
    return {name: v.tolist() if hasattr(v, "tolist") else v for name, v in values.items()}


def rows_of(loader: Any) -> Iterator[dict[str, Any]]:
    """The literal rows of a loader's batches."""
    for batch in loader:
        for row in range(len(next(iter(batch.values())))):
            yield numbers({name: values[row] for name, values in batch.items()})


def test_batches_are_the_loader_s_memory_without_a_warning(tmp_path: Path) -> None:
    loader = RecordedLoader(typed(tmp_path), batch_size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in easydata.torch.dataset(loader, batches=True):
            arrays = loader.handed_out
            assert batch.keys() == arrays.keys()
            assert batch["text"] == arrays["text"]
            for name, tensor in batch.items():
                if name == "text":
                    continue
                array = arrays[name]
                if array.dtype != bool:  # the engine's memory has bits there
                    assert not array.flags.owndata
                assert tensor.data_ptr() == array.__array_interface__["data"][0], name
                assert tensor.dtype == getattr(torch, str(array.dtype)), name
                assert tensor.tolist() == array.tolist(), name


def test_rows_are_views_of_the_batch(tmp_path: Path) -> None:
    source = typed(tmp_path)
    loader = RecordedLoader(source, batch_size=8)
    expected = list(rows_of(AsyncDataLoader(source, batch_size=8)))
    for number, row in enumerate(easydata.torch.dataset(loader)):
        ids = loader.handed_out["ids"]
        start = ids.__array_interface__["data"][0]
        assert row["ids"].data_ptr() == start + number % 8 * ids.strides[0]
        assert row["text"] == f"row {number}"
        assert row["n"].shape == ()
        assert row["n"].dtype == torch.int64
        assert numbers(row) == expected[number]
    assert number == 39


@pytest.mark.parametrize("batches", [True, False])
def test_tensors_outlive_the_loader(tmp_path: Path, batches: bool) -> None:
    with AsyncDataLoader(typed(tmp_path, 4000), batch_size=8) as loader:
        kept = [each["ids"] for each in easydata.torch.dataset(loader, batches=batches)]
    del loader
    gc.collect()
    # What freed memory would be filled with.
    noise = [np.full(1 << 16, -1, np.int32) for _ in range(100)]
    assert torch.cat([ids.reshape(-1) for ids in kept]).tolist() == list(range(16000))
    assert len(noise) == 100


@pytest.mark.parametrize("drop_last", [True, False])
def test_restored_at_every_row_the_rest_comes(
    corpus: Path, tokenizer: str, drop_last: bool
) -> None:
    def loader() -> AsyncDataLoader:
        return packed_loader(
            corpus,
            tokenizer,
            stop_strategy="all_exhausted",
            drop_last=drop_last,
            batch_size=5,
            world_size=1,
            num_threads=1,
        )

    def make() -> Any:
        return easydata.torch.dataset(loader())

    expected = list(rows_of(loader()))
    assert [numbers(row) for row in make()] == expected
    running = make()
    rows = iter(running)
    # All of the first batches, then everywhere in a batch once, up to behind the last row.
    for taken in range(len(expected) + 1):
        state = json.loads(json.dumps(running.state_dict()))
        assert len(json.dumps(state)) < 4096
        if taken < 12 or taken % 31 == 0 or taken > len(expected) - 7:
            with loader() as again:
                restored = easydata.torch.dataset(again)
                restored.load_state_dict(state)
                assert restored.state_dict() == state
                assert [numbers(row) for row in restored] == expected[taken:], taken
        # A loader's own state is what a dataset between two batches has, and is loaded as such.
        assert ("rows_taken" in state) == (taken % 5 != 0 and taken != len(expected))
        row = next(rows, None)
        assert (None if row is None else numbers(row)) == [*expected, None][taken]


def test_iterating_goes_on_from_within_a_batch_and_then_with_the_next_epoch(
    tmp_path: Path,
) -> None:
    rows = easydata.torch.dataset(AsyncDataLoader(typed(tmp_path), batch_size=8))
    seen = [int(row["n"]) for row in itertools.islice(rows, 11)]
    seen += [int(row["n"]) for row in rows]
    assert seen == list(range(40))
    assert [int(row["n"]) for row in rows] == seen
    assert rows.state_dict()["epoch"] == 2


def test_loading_a_state_leaves_the_open_batch(tmp_path: Path) -> None:
    rows = easydata.torch.dataset(AsyncDataLoader(typed(tmp_path), batch_size=8))
    start = rows.state_dict()
    iterator = iter(rows)
    assert [int(row["n"]) for row in itertools.islice(iterator, 11)] == list(range(11))
    within = rows.state_dict()
    for state, first in ((start, 0), (within, 11), (start, 0)):
        rows.load_state_dict(state)
        assert rows.state_dict() == state
        assert [int(row["n"]) for row in itertools.islice(rows, 5)] == list(range(first, first + 5))


def test_a_state_within_a_batch_is_for_the_same_ranks_and_for_rows(
    corpus: Path, tokenizer: str
) -> None:
    def make(world_size: int, rank: int = 0, batches: bool = False) -> Any:
        loader = packed_loader(corpus, tokenizer, rank=rank, world_size=world_size)
        return easydata.torch.dataset(loader, batches)

    for rank in (0, 1):
        running = make(2, rank)
        rows = iter(running)
        taken = [numbers(next(rows)) for _ in range(8)]
        state = running.state_dict()
        assert state["rows_taken"] == 2
        restored = make(2, rank)
        restored.load_state_dict(state)
        rest = [numbers(row) for row in itertools.islice(restored, 10)]
        assert rest == [numbers(row) for row in itertools.islice(running, 10)]
        alone = packed_loader(corpus, tokenizer)
        share = [
            numbers({k: v[rank * 6 : rank * 6 + 6] for k, v in batch.items()})
            for batch in itertools.islice(alone, 3)
        ]
        literal = [{k: v[i] for k, v in batch.items()} for batch in share for i in range(6)]
        assert taken + rest == literal
    with pytest.raises(ValueError, match=r"another number of ranks .* 2 then, 3 now"):
        make(3).load_state_dict(state)
    with pytest.raises(ValueError, match="a dataset of batches can't begin there"):
        make(2, batches=True).load_state_dict(state)
    with pytest.raises(ValueError, match=r"another version of easydata\.torch"):
        make(2).load_state_dict({**state, "version": 2})
    with pytest.raises(ValueError, match="allow= would change that batch"):
        make(2).load_state_dict(state, allow=("mix",))
    # What was refused has changed nothing.
    fresh = make(2)
    with pytest.raises(ValueError, match="another version"):
        fresh.load_state_dict({**state, "version": 2})
    assert numbers(next(iter(fresh))) == numbers(next(iter(make(2))))


@pytest.mark.parametrize(("batches", "batch_size"), [(False, None), (False, 7), (True, None)])
def test_stateful_data_loader_goes_on_exactly(
    corpus: Path, tokenizer: str, batches: bool, batch_size: int | None
) -> None:
    pytest.importorskip("torchdata", reason="torchdata is not installed: pip install torchdata")
    from torchdata.stateful_dataloader import StatefulDataLoader

    def make() -> Any:
        loader = packed_loader(
            corpus, tokenizer, stop_strategy="all_exhausted", drop_last=False, num_threads=1
        )
        data = easydata.torch.dataset(loader, batches)
        return StatefulDataLoader(data, batch_size=batch_size, num_workers=0)

    def split(each: dict[str, Any]) -> list[dict[str, Any]]:
        if not batches and batch_size is None:
            return [each]
        return [{k: v[i] for k, v in each.items()} for i in range(len(each["input_ids"]))]

    literal = packed_loader(corpus, tokenizer, stop_strategy="all_exhausted", drop_last=False)
    whole = make()
    epochs = [[numbers(each) for each in whole] for _ in range(2)]
    for epoch in epochs:
        assert [row for each in epoch for row in split(each)] == list(rows_of(literal))

    running = make()
    for number, epoch in enumerate(epochs):
        if number == 1:
            # Saved between two epochs, where the end of the first was seen.
            assert rest_of(make(), running.state_dict()) == epoch
        for count, each in enumerate(running, start=1):
            assert numbers(each) == epoch[count - 1]
            if count in (1, 5, 9, len(epoch) - 1, len(epoch)):
                restored = make()
                assert rest_of(restored, running.state_dict()) == epoch[count:], count
                if number == 0:
                    assert [numbers(each) for each in restored] == epochs[1]


def rest_of(data: Any, state: dict[str, Any]) -> list[dict[str, Any]]:
    """What is left of the epoch that a state was saved in."""
    data.load_state_dict(json.loads(json.dumps(state)))
    return [numbers(each) for each in data]


@pytest.mark.parametrize("batch_size", [None, 6])
def test_data_loader_takes_rows(tmp_path: Path, batch_size: int | None) -> None:
    rows = easydata.torch.dataset(AsyncDataLoader(typed(tmp_path), batch_size=8))
    for _ in range(2):
        out = list(torch.utils.data.DataLoader(rows, batch_size=batch_size))
        if batch_size is None:
            assert [row["text"] for row in out] == [f"row {n}" for n in range(40)]
            assert [int(row["n"]) for row in out] == list(range(40))
        else:
            assert [len(each["text"]) for each in out] == [6] * 6 + [4]
            assert [each["ids"].shape for each in out] == [(6, 4)] * 6 + [(4, 4)]
            assert torch.cat([each["ids"] for each in out]).flatten().tolist() == list(range(160))


def test_data_loader_hands_batches_on_without_a_copy(tmp_path: Path) -> None:
    loader = RecordedLoader(typed(tmp_path), batch_size=8)
    data = easydata.torch.dataset(loader, batches=True)
    count = 0
    for batch in torch.utils.data.DataLoader(data, batch_size=None):
        count += 1
        for name in ("ids", "n", "float32"):
            address = loader.handed_out[name].__array_interface__["data"][0]
            assert batch[name].data_ptr() == address
    assert count == 5


@pytest.mark.parametrize("stateful", [False, True])
def test_workers_are_refused_with_what_to_do_instead(tmp_path: Path, stateful: bool) -> None:
    make = torch.utils.data.DataLoader
    if stateful:
        pytest.importorskip("torchdata", reason="torchdata is not installed: pip install torchdata")
        from torchdata.stateful_dataloader import StatefulDataLoader

        make = StatefulDataLoader
    rows = easydata.torch.dataset(AsyncDataLoader(typed(tmp_path), batch_size=8))
    # Workers that are forked ask for rows; those that are spawned get a pickled dataset.
    for kind, expected in (("fork", RuntimeError), ("spawn", TypeError)):
        said = ""
        try:
            list(make(rows, num_workers=1, batch_size=None, multiprocessing_context=kind))
        except expected as error:
            said = str(error)
        assert "each would give the whole stream" in said
        assert "use num_workers=0" in said
    assert len(list(rows)) == 40


def test_loaders_in_turn_are_a_dataset_too(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps({"input_ids": [ord(name), n]}) + "\n" for n in range(12))
        )
    config = PipelineConfig.from_dict(
        {
            "datasets": [
                {"data_files": str(tmp_path / f"{name}.jsonl"), "name": name} for name in "ab"
            ],
            "load": {"batch_size": 4, "rank": 1, "world_size": 2},
        }
    )

    def make() -> Any:
        return easydata.torch.dataset(Pipeline.from_config(config).source().load().build())

    expected = [[ord(name), n] for n0 in (2, 6, 10) for name in "ab" for n in (n0, n0 + 1)]
    running = make()
    rows = iter(running)
    for taken in range(len(expected)):
        restored = make()
        restored.load_state_dict(json.loads(json.dumps(running.state_dict())))
        assert [row["input_ids"].tolist() for row in restored] == expected[taken:]
        assert next(rows)["input_ids"].tolist() == expected[taken]


def test_strings_stay_lists(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"t": "x", "n": 1}\n{"t": null, "n": 2}\n')
    loader = AsyncDataLoader(JsonShardedSource(str(path)), batch_size=2)
    (batch,) = easydata.torch.dataset(loader, batches=True)
    assert batch["t"] == ["x", None]
    assert [row["t"] for row in easydata.torch.dataset(loader)] == ["x", None]


def test_ranks_are_those_of_torch_distributed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert easydata.torch.ranks() == {"rank": 0, "world_size": 1}
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(RuntimeError, match=r"init_process_group\(\) before .*WORLD_SIZE is 4"):
        easydata.torch.ranks()
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1
    )
    try:
        assert easydata.torch.ranks() == {"rank": 0, "world_size": 1}
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("batches", [False, True])
def test_an_error_comes_again_and_not_the_end(tmp_path: Path, batches: bool) -> None:
    def numbered(row: dict[str, Any]) -> dict[str, int]:
        return {"n": row["n"] // (row["n"] - 33)}

    source = typed(tmp_path).map(numbered)
    before = 4 if batches else 32
    data = easydata.torch.dataset(AsyncDataLoader(source, batch_size=8), batches)
    items = iter(data)
    assert len(list(itertools.islice(items, before))) == before
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            next(items)
    # torch's own loader takes a StopIteration amid its rows for the end.
    data = easydata.torch.dataset(AsyncDataLoader(source, batch_size=8), batches)
    items = iter(torch.utils.data.DataLoader(data, batch_size=None if batches else 5))
    assert len(list(itertools.islice(items, 4 if batches else 6))) == (4 if batches else 6)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            next(items)


def test_after_ctrl_c_no_row_is_missing(tmp_path: Path) -> None:
    rows = iter(easydata.torch.dataset(InterruptedLoader(typed(tmp_path), batch_size=8)))
    seen = [int(row["n"]) for row in itertools.islice(rows, 24)]
    with pytest.raises(KeyboardInterrupt):
        next(rows)
    assert seen + [int(row["n"]) for row in rows] == list(range(40))
