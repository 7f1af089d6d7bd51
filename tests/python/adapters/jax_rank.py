"""One process of a jax.distributed job: writes the global batches that it sees."""

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import easydata.jax
import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from small_corpus import BATCH_SIZE, packed_loader


def meshes() -> dict[str, Mesh]:
    """The ways in which the devices of both processes share a batch."""
    devices = np.array(sorted(jax.devices(), key=lambda device: (device.process_index, device.id)))
    square = devices.reshape(2, 2)
    return {
        "rows": Mesh(devices, ("data",)),
        "backwards": Mesh(devices[::-1], ("data",)),
        "model within a process": Mesh(square, ("data", "model")),
        "model over processes": Mesh(square.T, ("data", "model")),
        "two axes": Mesh(square, ("data", "fsdp")),
    }


def axes_of(name: str) -> tuple[str, ...]:
    """The axes that batches are split over."""
    return ("data", "fsdp") if name == "two axes" else ("data",)


def replicated(mesh: Mesh, array: jax.Array) -> Any:
    """The whole of a global array, brought here by the processes' own collectives."""
    whole = jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, PartitionSpec()))(array)
    return np.asarray(whole.addressable_data(0))


def check_pipelines(mesh: Mesh, axes: tuple[str, ...], corpus: str, tokenizer: str) -> None:
    """A pipeline that is given the mesh makes the same global batches, one of them ahead."""
    ranks = easydata.jax.ranks(mesh, axes)
    devices = {"mesh": mesh, "batch_axes": axes}
    with (
        packed_loader(corpus, tokenizer, num_threads=1, **ranks) as plain,
        packed_loader(corpus, tokenizer, devices=devices, prefetch_to_device=True) as loader,
    ):
        assert (loader.rank, loader.world_size) == (ranks["rank"], ranks["world_size"])
        expected = easydata.jax.iterate(plain, mesh, axes)
        for batch, same in zip(itertools.islice(loader, 4), expected, strict=False):
            for column, array in batch.items():
                assert array.shape == same[column].shape
                assert array.sharding.is_equivalent_to(same[column].sharding, array.ndim)
                for part, other in zip(
                    array.addressable_shards, same[column].addressable_shards, strict=True
                ):
                    assert part.index == other.index
                    np.testing.assert_array_equal(part.data, other.data)
            assert loader.state_dict() == expected.state_dict()


def check_refusals() -> None:
    """A mesh that gives each process scattered rows is no good."""
    devices = np.array(sorted(jax.devices(), key=lambda device: (device.process_index, device.id)))
    scattered = Mesh(devices[[0, 2, 1, 3]], ("data",))
    with pytest.raises(ValueError, match="order the devices of the mesh by process"):
        easydata.jax.ranks(scattered)


def main() -> None:
    """Reads the arguments that run_ranks() gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int)
    parser.add_argument("--world-size", type=int)
    parser.add_argument("--port")
    parser.add_argument("--corpus")
    parser.add_argument("--tokenizer")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--batches", type=int)
    arguments = parser.parse_args()
    jax.distributed.initialize(f"127.0.0.1:{arguments.port}", arguments.world_size, arguments.rank)
    assert jax.process_count() == arguments.world_size == 2
    assert len(jax.local_devices()) == 2
    assert len(jax.devices()) == 4
    check_refusals()
    state = json.loads(arguments.state.read_text())
    out: dict[str, Any] = {}
    for name, mesh in meshes().items():
        axes = axes_of(name)
        ranks = easydata.jax.ranks(mesh, axes)
        with packed_loader(arguments.corpus, arguments.tokenizer, num_threads=1, **ranks) as loader:
            data = easydata.jax.iterate(loader, mesh, axes, prefetch=1)
            if name == "rows":
                data.load_state_dict(state)
            for step, batch in enumerate(itertools.islice(data, arguments.batches)):
                for column, array in batch.items():
                    assert array.shape[0] == BATCH_SIZE
                    assert not array.is_fully_addressable
                    out[f"{name}/{step}/{column}"] = replicated(mesh, array)
            check_pipelines(mesh, axes, arguments.corpus, arguments.tokenizer)
            end = arguments.output / f"{name}-{arguments.rank}.json"
            end.write_text(json.dumps({"ranks": ranks, "state": data.state_dict()}))
    np.savez(arguments.output / f"batches-{arguments.rank}.npz", **out)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
