"""One process of a jax.distributed job: writes its rows of each batch, and its states."""

import argparse
import json
import os
import signal
from pathlib import Path
from typing import Any

import jax
import numpy as np
from easydata.grain_data_processing import (
    GrainArrayRecordsDataConfig,
    get_process_loading_data,
    make_grain_iterator,
)
from jax.sharding import Mesh, NamedSharding, PartitionSpec

BATCH = 16
STEPS = 9


def config_of(folder: str, **options: Any) -> GrainArrayRecordsDataConfig:
    """Packed rows whose batches grow."""
    fields: dict[str, Any] = {
        "data_path": folder,
        "tokenize_data": False,
        "global_batch_size": BATCH,
        "max_target_length": 32,
        "shuffle_data": True,
        "grain_packing": True,
        "grain_packing_bin_count": 6,
        "drop_remainder": True,
        "batch_rampup_factors": {0: 0.5, 3: 1.0},
        **options,
    }
    return GrainArrayRecordsDataConfig(**fields)


def main() -> None:
    """Reads the arguments that run_ranks() gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int)
    parser.add_argument("--world-size", type=int)
    parser.add_argument("--port")
    parser.add_argument("--folder")
    parser.add_argument("--tokenizer")
    parser.add_argument("--order")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--state", default="")
    parser.add_argument("--killed", default="")
    arguments = parser.parse_args()
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    jax.distributed.initialize(f"127.0.0.1:{arguments.port}", arguments.world_size, arguments.rank)
    devices = np.array(sorted(jax.devices(), key=lambda device: (device.process_index, device.id)))
    mesh = Mesh(devices.reshape(arguments.world_size, -1), ("data", "fsdp"))
    config = config_of(arguments.folder, tokenizer_path=arguments.tokenizer)
    processes = get_process_loading_data(config, mesh)
    assert processes == list(range(arguments.world_size))
    with make_grain_iterator(config, mesh, processes, order=arguments.order) as iterator:
        first = 0
        if arguments.state:
            name = arguments.state.format(arguments.rank)
            state = json.loads(Path(name).read_text())
            first = state["step"]
            iterator.set_state(state)
        for step, batch in enumerate(iterator, first):
            if step == STEPS:
                break
            rows = batch.targets
            assert not rows.is_fully_addressable or arguments.world_size == 1
            # All of it, by the processes' own collectives.
            whole = jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, PartitionSpec()))(rows)
            name = f"{step}-{arguments.rank}"
            np.save(arguments.output / f"{name}.npy", np.asarray(whole.addressable_data(0)))
            (arguments.output / f"{name}.json").write_text(json.dumps(iterator.get_state()))
            if arguments.killed == name:
                os.kill(os.getpid(), signal.SIGKILL)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
