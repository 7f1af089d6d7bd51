"""Pipelines and loaders that put their batches on JAX devices, the next one ahead of its use."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_corpus import packed_loader

from easydata import (
    AsyncDataLoader,
    LoadStageConfig,
    ParquetShardedSource,
    Pipeline,
    PipelineConfig,
    preshard_batch,
)

DEVICES = 4
# Read when the first test asks for devices, not when jax is imported.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={DEVICES}"
)
os.environ["JAX_PLATFORMS"] = "cpu"
jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")

from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

ROWS, BATCH = 64, 8


@pytest.fixture(scope="module")
def mesh() -> Any:
    found = jax.devices()
    if len(found) < DEVICES:
        pytest.skip(f"jax was set up before with {len(found)} device(s); run this file by itself")
    return Mesh(np.array(found[:DEVICES]), ("data",))


@pytest.fixture
def path(tmp_path: Path) -> str:
    columns = {"n": list(range(ROWS)), "text": [f"row {n}" for n in range(ROWS)]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet", row_group_size=10)
    return str(tmp_path / "in.parquet")


def config(path: str, **load: Any) -> PipelineConfig:
    return PipelineConfig.from_dict(
        {"datasets": [{"data_files": path}], "load": {"batch_size": BATCH, **load}}
    )


def over(mesh: Any) -> Any:
    return NamedSharding(mesh, PartitionSpec("data"))


def what_is_said(loader: Any) -> dict[str, Any]:
    """All that a loader tells of the batches that it handed out."""
    stats = loader.stats()
    counts = {name: stats[name] for name in ("rows", "tokens", "batches", "sources")}
    return {"state": loader.state_dict(), "digest": loader.digest(), "counts": counts}


def plain(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(values).tolist() for name, values in batch.items()}


@pytest.fixture
def puts(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The arrays that were put on devices."""
    seen: list[list[int]] = []
    put = jax.device_put

    def device_put(value: Any, sharding: Any) -> Any:
        seen.append(np.asarray(value).ravel().tolist())
        return put(value, sharding)

    monkeypatch.setattr(jax, "device_put", device_put)
    return seen


def await_batches(loader: AsyncDataLoader, count: int) -> None:
    """Returns when so many batches are ready."""
    end = time.monotonic() + 60
    while loader.stats()["queue"]["batches"] < count:
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize("how", ["mesh", "one sharding", "a sharding for a column"])
@pytest.mark.parametrize("prefetch", [False, True])
def test_a_pipeline_gives_the_same_batches_on_devices(
    how: str, prefetch: bool, corpus: Path, tokenizer: str, mesh: Any
) -> None:
    devices: dict[str, Any] = {
        "mesh": {"mesh": mesh, "batch_axes": "data"},
        "one sharding": {"sharding_map": over(mesh)},
        "a sharding for a column": {"sharding_map": {"input_ids": over(mesh), "none": None}},
    }[how]
    with (
        packed_loader(corpus, tokenizer) as expected,
        packed_loader(corpus, tokenizer, devices=devices, prefetch_to_device=prefetch) as loader,
    ):
        assert loader.get_output_sharding() is not None
        for step, (batch, same) in enumerate(zip(loader, expected, strict=False)):
            assert list(batch) == list(same)
            for name, values in batch.items():
                is_there = how != "a sharding for a column" or name == "input_ids"
                assert isinstance(values, jax.Array if is_there else np.ndarray)
                if is_there:
                    assert values.sharding.is_equivalent_to(over(mesh), values.ndim)
                np.testing.assert_array_equal(np.asarray(values), same[name])
            assert what_is_said(loader) == what_is_said(expected)
            if step == 40:
                break
        ahead = loader.at(43)
        np.testing.assert_array_equal(np.asarray(ahead["input_ids"]), expected.at(43)["input_ids"])
        assert isinstance(ahead["input_ids"], jax.Array)
        np.testing.assert_array_equal(
            np.asarray(next(iter(loader))["input_ids"]), next(iter(expected))["input_ids"]
        )


def test_a_sharding_for_a_column_that_is_not_there(path: str, mesh: Any) -> None:
    options: dict[str, Any] = {"sharding_map": {"m": over(mesh)}}
    with (
        AsyncDataLoader(ParquetShardedSource(path), batch_size=BATCH, **options) as loader,
        pytest.raises(ValueError, match="sharding_map: the batches have no column 'm'"),
    ):
        next(iter(loader))


def test_the_next_batch_is_put_there_while_one_is_in_use(
    path: str, mesh: Any, puts: list[list[int]]
) -> None:
    source = ParquetShardedSource(path).select_fields(["n"])
    with AsyncDataLoader(
        source, batch_size=BATCH, sharding_map=over(mesh), prefetch_to_device=True
    ) as loader:
        found = []
        for batch in loader:
            found.append(np.asarray(batch["n"]).tolist())
            following = found[-1][0] + BATCH
            if len(found) > 1 and following < ROWS:
                # Put there by the call that gave the one before it.
                assert puts[-1] == list(range(following, following + BATCH))
            await_batches(loader, min(2, (ROWS - following) // BATCH))
        assert found == np.arange(ROWS).reshape(-1, BATCH).tolist()
        # Each once, though most of them were put there ahead.
        assert sorted(puts) == found
        assert loader.is_exhausted
        assert plain(next(iter(loader)))["n"] == found[0]  # the next epoch


@pytest.mark.parametrize("left_after", [1, 3, 8])
def test_leaving_loops_and_loading_states(path: str, mesh: Any, left_after: int) -> None:
    options: dict[str, Any] = {"sharding_map": {"n": over(mesh)}, "prefetch_to_device": True}
    with AsyncDataLoader(ParquetShardedSource(path), batch_size=BATCH, **options) as loader:
        found, states = [], []
        for _ in range(2):
            for _, batch in zip(range(left_after), loader, strict=False):
                found.append(plain(batch))
                states.append(json.loads(json.dumps(loader.state_dict())))
                time.sleep(0.01)
            for batch in loader:
                found.append(plain(batch))
                states.append(loader.state_dict())
        numbers = [row for batch in found for row in batch["n"]]
        assert numbers == [*range(ROWS), *range(ROWS)]
        loader.load_state_dict(states[1])
        assert plain(next(iter(loader))) == found[2]
        loader.load_state_dict(states[4])
        assert plain(next(iter(loader))) == found[5]

    async def gather() -> list[Any]:
        with AsyncDataLoader(ParquetShardedSource(path), batch_size=BATCH, **options) as loader:
            return [plain(batch) async for batch in loader]

    assert asyncio.run(gather()) == found[:8]


def test_a_batch_that_cannot_be_split_comes_behind_those_before_it(path: str, mesh: Any) -> None:
    options = {"prefetch_to_device": True, "drop_last": False, "batch_size": 20}
    datasets = [{"data_files": path, "num_rows": 62}]
    pipeline = Pipeline.from_config({"datasets": datasets, "load": options})
    with pipeline.source().load(mesh=mesh).build() as loader:
        batches = iter(loader)
        for _ in range(3):
            assert len(next(batches)["n"]) == 20
            time.sleep(0.05)
        with pytest.raises(ValueError, match=r"column 'n': .* of shape \(2,\), cannot be put on "):
            next(batches)


def test_devices_without_room_for_the_next_batch_lose_none(
    path: str, mesh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch that is there is handed out; the next one is put there again in its turn."""
    put, calls = jax.device_put, []

    def device_put(value: Any, sharding: Any) -> Any:
        calls.append(int(np.asarray(value)[0]))
        if calls.count(calls[-1]) == 1 and calls[-1] > BATCH:
            raise RuntimeError("RESOURCE_EXHAUSTED")
        return put(value, sharding)

    monkeypatch.setattr(jax, "device_put", device_put)
    source = ParquetShardedSource(path).select_fields(["n"])
    options: dict[str, Any] = {"sharding_map": over(mesh), "prefetch_to_device": True}
    with AsyncDataLoader(source, batch_size=BATCH, **options) as loader:
        batches = iter(loader)
        found = plain(next(batches))["n"]  # which may find no other batch ready to be put there
        for _ in range(4):
            await_batches(loader, 2)
            found += plain(next(batches))["n"]
    assert found == list(range(5 * BATCH))
    assert [calls.count(n * BATCH) for n in range(5)] == [1, 1, 2, 2, 2]


def test_several_datasets_in_turn(path: str, mesh: Any) -> None:
    two = {"datasets": [{"data_files": path, "name": name} for name in "ab"]}
    load = {"batch_size": BATCH, "prefetch_to_device": True}
    pipeline = Pipeline.from_config({**two, "load": load}).source().load(mesh=mesh)
    expected = Pipeline.from_config({**two, "load": {"batch_size": BATCH}}).source().load()
    with pipeline.build() as loader, expected.build() as same:
        pairs = list(zip(loader, same, strict=True))
        assert len(pairs) == 16
        assert [plain(batch) for batch, _ in pairs] == [plain(batch) for _, batch in pairs]
        assert all(isinstance(batch["n"], jax.Array) for batch, _ in pairs)


def test_what_cannot_be_is_refused(path: str, mesh: Any) -> None:
    source = ParquetShardedSource(path)
    with pytest.raises(ValueError, match="prefetch_to_device: which devices batches go to is not"):
        Pipeline(config(path, prefetch_to_device=True)).source().load()
    with pytest.raises(ValueError, match="prefetch_to_device: which devices batches go to is not"):
        AsyncDataLoader(source, prefetch_to_device=True)
    with pytest.raises(ValueError, match="prefetch_to_device: needs batches that are made ahead"):
        AsyncDataLoader(
            source, prefetch_enabled=False, prefetch_to_device=True, sharding_map=over(mesh)
        )
    (problem,) = config(path, prefetch_to_device=True, prefetch_enabled=False).validate()
    assert problem.startswith("load.prefetch_to_device")
    pipeline = Pipeline(config(path)).source()
    with pytest.raises(ValueError, match="both say where arrays are put"):
        pipeline.load(mesh=mesh, sharding_map=over(mesh))
    with pytest.raises(ValueError, match="give mesh=, too"):
        pipeline.load(batch_axes="data")
    with pytest.raises(ValueError, match="the mesh has no axis 'model'"):
        pipeline.load(mesh=mesh, batch_axes="model")
    # All of that changed nothing.
    with pipeline.load(mesh=mesh).build() as loader:
        assert plain(next(iter(loader)))["n"] == list(range(BATCH))
    with pytest.raises(ValueError, match="are 1 of 2, the mesh has 0 of 1"):
        Pipeline(config(path)).source().load(LoadStageConfig(rank=1, world_size=2), mesh=mesh)


def test_preshard_batch_takes_one_sharding_for_all(mesh: Any) -> None:
    batch = {"a": np.arange(8), "b": np.ones((4, 2)), "text": ["x"] * 4}
    put = preshard_batch(batch, over(mesh))
    assert put["text"] == batch["text"]
    for name in "ab":
        assert put[name].sharding.is_equivalent_to(over(mesh), put[name].ndim)
    assert preshard_batch(batch, None) is batch
