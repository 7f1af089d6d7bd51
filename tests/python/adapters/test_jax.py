"""easydata.jax: global arrays over meshes, in one process with four devices and in two with two."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from processes import free_port, run_ranks
from small_corpus import InterruptedLoader, RecordedLoader, packed_loader

from easydata import AsyncDataLoader, ParquetShardedSource, preshard_batch

DEVICES = 4
# Read when the first test asks for devices, not when jax is imported.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={DEVICES}"
)
os.environ["JAX_PLATFORMS"] = "cpu"
jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")

import easydata.jax  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402


@pytest.fixture(scope="module")
def devices() -> Any:
    found = jax.devices()
    if len(found) < DEVICES:
        pytest.skip(f"jax was set up before with {len(found)} device(s); run this file by itself")
    return np.array(found[:DEVICES])


def table(path: Path, rows: int = 64, length: int = 16) -> ParquetShardedSource:
    """Rows of `length` int32 (of 64 bytes where that is 16), a number and a string."""
    ids = list(np.arange(rows * length, dtype=np.int32).reshape(rows, length))
    path.mkdir(exist_ok=True)
    columns = {"ids": ids, "n": range(rows), "text": [f"row {n}" for n in range(rows)]}
    pq.write_table(pa.table(columns), path / "in.parquet", row_group_size=32)
    return ParquetShardedSource(str(path / "*.parquet"))


def address(array: Any) -> int:
    start: int = array.__array_interface__["data"][0]
    return start


def test_arrays_are_split_by_rows_over_the_batch_axes(tmp_path: Path, devices: Any) -> None:
    source = table(tmp_path)
    expected = list(AsyncDataLoader(source, batch_size=8))
    for mesh, axes, parts in (
        (Mesh(devices, ("data",)), None, 4),
        (Mesh(devices.reshape(2, 2), ("data", "model")), "data", 2),
        (Mesh(devices.reshape(2, 2), ("data", "fsdp")), ("data", "fsdp"), 4),
        (Mesh(devices.reshape(2, 2), ("data", "model")), (), 1),
    ):
        batches = list(easydata.jax.iterate(AsyncDataLoader(source, batch_size=8), mesh, axes))
        assert len(batches) == len(expected) == 8
        for got, arrays in zip(batches, expected, strict=True):
            assert got.keys() == arrays.keys()
            assert got["text"] == arrays["text"]
            for name in ("ids", "n"):
                assert isinstance(got[name], jax.Array)
                np.testing.assert_array_equal(np.asarray(got[name]), arrays[name])
                wanted = PartitionSpec(mesh.axis_names if axes is None else axes)
                assert got[name].sharding.is_equivalent_to(
                    jax.sharding.NamedSharding(mesh, wanted), got[name].ndim
                )
                assert len(got[name].addressable_shards) == 4
                for shard in got[name].addressable_shards:
                    assert len(shard.data) == 8 // parts
                    np.testing.assert_array_equal(shard.data, arrays[name][shard.index])


def test_on_cpu_aligned_rows_are_the_loader_s_memory(tmp_path: Path, devices: Any) -> None:
    mesh = Mesh(devices, ("data",))
    loader = RecordedLoader(table(tmp_path), batch_size=8)
    for batch in easydata.jax.iterate(loader, mesh):
        ids = loader.handed_out["ids"]
        assert address(ids) % 64 == 0, "the engine aligns its memory"
        for number, shard in enumerate(batch["ids"].addressable_shards):
            assert shard.data.unsafe_buffer_pointer() == address(ids) + number * 2 * ids.strides[0]
    # Rows of 12 bytes: JAX takes over only what begins at a multiple of 64, and copies the rest.
    loader = RecordedLoader(table(tmp_path, length=3), batch_size=8)
    for batch in easydata.jax.iterate(loader, mesh):
        ids = loader.handed_out["ids"]
        for number, shard in enumerate(batch["ids"].addressable_shards):
            start = address(ids) + number * 2 * ids.strides[0]
            assert (shard.data.unsafe_buffer_pointer() == start) == (start % 64 == 0)
            np.testing.assert_array_equal(shard.data, ids[number * 2 : number * 2 + 2])


def test_what_has_a_sharding_is_put_there_and_the_rest_stays(devices: Any) -> None:
    mesh = Mesh(devices, ("data",))
    rows = jax.sharding.NamedSharding(mesh, PartitionSpec("data"))
    batch = {"ids": np.arange(16).reshape(8, 2), "n": np.arange(8), "text": list("abcdefgh")}
    put = preshard_batch(batch, {"ids": rows, "text": rows})
    assert put["ids"].sharding.is_equivalent_to(rows, 2)
    np.testing.assert_array_equal(np.asarray(put["ids"]), batch["ids"])
    assert put["n"] is batch["n"]
    assert put["text"] is batch["text"]


def test_arrays_outlive_the_loader(tmp_path: Path, devices: Any) -> None:
    with AsyncDataLoader(table(tmp_path, 4000), batch_size=8) as loader:
        kept = [batch["ids"] for batch in easydata.jax.iterate(loader, Mesh(devices, ("data",)))]
    del loader
    noise = [np.full(1 << 16, -1, np.int32) for _ in range(100)]
    values = np.concatenate([np.asarray(ids) for ids in kept])
    np.testing.assert_array_equal(values.ravel(), np.arange(4000 * 16))
    assert len(noise) == 100


@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_states_are_of_what_was_handed_out(
    corpus: Path, tokenizer: str, devices: Any, prefetch: int
) -> None:
    mesh = Mesh(devices, ("data",))

    def make() -> Any:
        loader = packed_loader(corpus, tokenizer, stop_strategy="all_exhausted", num_threads=1)
        return easydata.jax.iterate(loader, mesh, prefetch=prefetch)

    def numbers(batch: dict[str, Any]) -> dict[str, Any]:
        return {name: np.asarray(values).tolist() for name, values in batch.items()}

    literal = packed_loader(corpus, tokenizer, stop_strategy="all_exhausted")
    expected, states = [], []
    iterator = iter(literal)
    while True:
        states.append(literal.state_dict())
        batch = next(iterator, None)
        if batch is None:
            break
        expected.append(numbers(batch))
    next_epoch = literal.state_dict()
    assert len(expected) > 50

    running = make()
    for step, saved in enumerate(states):
        state = json.loads(json.dumps(running.state_dict()))
        assert state == saved
        if step % 9 == 0 or step in (1, len(expected) - 1, len(expected)):
            restored = make()
            restored.load_state_dict(state)
            assert restored.state_dict() == state
            assert [numbers(batch) for batch in restored] == expected[step:]
        batch = next(running, None)
        assert (None if batch is None else numbers(batch)) == [*expected, None][step]
    assert running.state_dict() == next_epoch
    # The next epoch, as the loader gives it, from here and from the saved state.
    restored = make()
    restored.load_state_dict(next_epoch)
    second = [numbers(batch) for batch in literal]
    assert [numbers(batch) for batch in running] == second
    assert [numbers(batch) for batch in restored] == second


def test_leaving_a_loop_loses_nothing(tmp_path: Path, devices: Any) -> None:
    data = easydata.jax.iterate(
        AsyncDataLoader(table(tmp_path), batch_size=8), Mesh(devices, ("data",)), prefetch=2
    )
    seen = [int(batch["n"][0]) for batch in itertools.islice(data, 3)]
    seen += [int(batch["n"][0]) for batch in data]
    assert seen == list(range(0, 64, 8))
    assert [int(batch["n"][0]) for batch in data] == seen, "the next epoch"


@pytest.mark.parametrize("prefetch", [0, 1, 2, 9])
def test_an_error_comes_behind_what_was_before_it_and_again(
    tmp_path: Path, devices: Any, prefetch: int
) -> None:
    broken = True

    def numbered(row: dict[str, Any]) -> dict[str, int]:
        return {"n": row["n"] // (0 if broken and row["n"] == 33 else 1)}

    source = table(tmp_path)
    loader = AsyncDataLoader(source.map(numbered), batch_size=8)
    literal = AsyncDataLoader(source.map(numbered), batch_size=8)
    data = easydata.jax.iterate(loader, Mesh(devices, ("data",)), prefetch=prefetch)
    for first, expected in zip((0, 8, 16, 24), literal, strict=False):
        assert int(next(data)["n"][0]) == first == expected["n"][0]
        assert data.state_dict() == literal.state_dict()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            next(data)
        assert data.state_dict() == literal.state_dict()
    broken = False
    data.load_state_dict(data.state_dict())
    assert [int(batch["n"][0]) for batch in data] == [32, 40, 48, 56]


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_batch_that_cannot_be_split_comes_behind_those_before_it(
    tmp_path: Path, devices: Any, prefetch: int
) -> None:
    loader = AsyncDataLoader(table(tmp_path, rows=22), batch_size=8, drop_last=False)
    data = easydata.jax.iterate(loader, Mesh(devices, ("data",)), prefetch=prefetch)
    assert [int(next(data)["n"][0]) for _ in range(2)] == [0, 8]
    for _ in range(2):
        with pytest.raises(ValueError, match="6 rows cannot be split evenly"):
            next(data)


def test_after_ctrl_c_no_batch_is_missing(tmp_path: Path, devices: Any) -> None:
    loader = InterruptedLoader(table(tmp_path), batch_size=8)
    data = easydata.jax.iterate(loader, Mesh(devices, ("data",)), prefetch=3)
    start = data.state_dict()
    with pytest.raises(KeyboardInterrupt):
        next(data)
    assert data.state_dict() == start, "nothing was handed out yet"
    assert [int(batch["n"][0]) for batch in data] == list(range(0, 64, 8))


def test_what_does_not_fit_is_refused(tmp_path: Path, devices: Any) -> None:
    source = table(tmp_path)
    line, square = Mesh(devices, ("data",)), Mesh(devices.reshape(2, 2), ("data", "model"))
    loader = AsyncDataLoader(source, batch_size=8)
    with pytest.raises(ValueError, match=r"say which axes .*\('data', 'model'\)"):
        easydata.jax.iterate(loader, square)
    with pytest.raises(ValueError, match="the mesh has no axis 'batch'"):
        easydata.jax.iterate(loader, line, "batch")
    with pytest.raises(ValueError, match="prefetch must be at least 0, not -1"):
        easydata.jax.iterate(loader, line, prefetch=-1)
    other = AsyncDataLoader(source, batch_size=8, rank=1, world_size=2)
    with pytest.raises(ValueError, match="needs rank=0, world_size=1, the loader has rank=1, wor"):
        easydata.jax.iterate(other, line)
    uneven = easydata.jax.iterate(AsyncDataLoader(source, batch_size=6), line)
    with pytest.raises(ValueError, match="6 rows cannot be split evenly over the 4 parts"):
        next(uneven)


def test_two_processes_see_the_same_global_batches(
    tmp_path: Path, corpus: Path, tokenizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, after = 6, 5
    with packed_loader(corpus, tokenizer) as loader:
        expected, states = [], []
        for batch in itertools.islice(loader, after + count):
            expected.append(batch)
            states.append(loader.state_dict())
    (tmp_path / "state.json").write_text(json.dumps(states[after - 1]))
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    options = {
        "port": free_port(),
        "corpus": corpus,
        "tokenizer": tokenizer,
        "output": tmp_path,
        "state": tmp_path / "state.json",
        "batches": count,
    }
    run_ranks(Path(__file__).with_name("jax_rank.py"), 2, options)
    ranks = {
        "rows": [(0, 2), (1, 2)],
        "backwards": [(1, 2), (0, 2)],
        "model within a process": [(0, 2), (1, 2)],
        "model over processes": [(0, 1), (0, 1)],
        "two axes": [(0, 2), (1, 2)],
    }
    for process in range(2):
        got = np.load(tmp_path / f"batches-{process}.npz")
        assert len(got.files) == len(ranks) * count * len(expected[0])
        for name, parts in ranks.items():
            first = after if name == "rows" else 0  # from the saved state, or from the start
            for step, batch in enumerate(expected[first : first + count]):
                for column, values in batch.items():
                    np.testing.assert_array_equal(got[f"{name}/{step}/{column}"], values, name)
            end = json.loads((tmp_path / f"{name}-{process}.json").read_text())
            rank, world_size = parts[process]
            assert end["ranks"] == {"rank": rank, "world_size": world_size}
            assert end["state"] == states[first + count - 1]
