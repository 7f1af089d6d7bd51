"""Batches of several processes, by real ones; and what is refused of meshes and states."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases_in_turn import cases_in_turn
from easydata.grain_data_processing import (
    HFHubDataConfig,
    LLMBatch,
    LLMIndexedBatch,
    SyntheticDataConfig,
    create_data_iterator,
    create_mixed_data_iterator,
    create_train_eval_configs,
    get_process_loading_data,
    make_grain_iterator,
)
from processes import end_ranks, free_port, run_ranks, start_ranks

# Read when the first test asks for devices, not when jax is imported.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
)
os.environ["JAX_PLATFORMS"] = "cpu"
jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")

from jax_host import BATCH, STEPS, config_of  # noqa: E402

SCRIPT = Path(__file__).with_name("jax_host.py")


def mesh_of(devices: int = 1, axes: tuple[str, ...] = ("data",)) -> Any:
    shape = (devices, *[1] * (len(axes) - 1))
    return jax.sharding.Mesh(np.array(jax.devices()[:devices]).reshape(shape), axes)


def iterator_of(
    numbers: Path, tokens: str, host: int = 0, hosts: int = 1, order: Any = "host", **options: Any
) -> Any:
    processes = [0 if i == host else 100 + i for i in range(hosts)]
    config = config_of(str(numbers), tokenizer_path=tokens, **options)
    return make_grain_iterator(config, mesh_of(), processes, order=order)


def expected(numbers: Path, tokens: str, hosts: int, order: str) -> list[list[Any]]:
    """The whole batches, made host by host in one process."""
    parts = []
    for host in range(hosts):
        with iterator_of(numbers, tokens, host, hosts, order) as iterator:
            parts.append(
                [
                    np.asarray(batch.targets)
                    for batch, _ in zip(iterator, range(STEPS), strict=False)
                ]
            )
    return [np.concatenate(each).tolist() for each in zip(*parts, strict=True)]


@pytest.mark.parametrize(("hosts", "order"), cases_in_turn([2, 4], ["host", "global"]))
def test_processes_go_on_after_one_was_killed(
    hosts: int, order: str, numbers: Path, tokens: str, tmp_path: Path
) -> None:
    want = expected(numbers, tokens, hosts, order)
    assert [len(batch) for batch in want] == [BATCH // 2] * 3 + [BATCH] * 6
    options = {
        "folder": numbers,
        "tokenizer": tokens,
        "order": order,
        "output": tmp_path,
    }
    killed = {**options, "port": free_port(), "killed": f"4-{hosts - 1}"}
    processes = start_ranks(SCRIPT, hosts, killed)
    try:
        assert processes[-1].wait(timeout=120) == -signal.SIGKILL
    finally:
        end_ranks(processes)
    for rank in range(hosts):
        for step in range(4):
            assert np.load(tmp_path / f"{step}-{rank}.npy").tolist() == want[step]
    state = str(tmp_path / "3-{}.json")
    run_ranks(SCRIPT, hosts, {**options, "port": free_port(), "state": state})
    for rank in range(hosts):
        for step in range(STEPS):
            assert np.load(tmp_path / f"{step}-{rank}.npy").tolist() == want[step]


@pytest.mark.parametrize("several", [False, True])
def test_global_states_go_to_other_numbers_of_hosts(
    several: bool, numbers: Path, tokens: str
) -> None:
    """Packed rows whose batches grow, of one data set and mixed of three."""

    def opened(host: int, hosts: int) -> Any:
        configs = [
            config_of(
                str(numbers),
                tokenizer_path=tokens,
                global_batch_size=24,
                data_shuffle_seed=seed,
            )
            for seed in range(3 if several else 1)
        ]
        processes = [0 if i == host else 100 + i for i in range(hosts)]
        weights = [0.5, 0.3, 0.2] if several else None
        return make_grain_iterator(configs, mesh_of(), processes, weights, order="global")

    with opened(0, 1) as iterator:
        want = [
            np.asarray(batch.targets).tolist()
            for batch, _ in zip(iterator, range(10), strict=False)
        ]
    assert [len(batch) for batch in want] == [12] * 3 + [24] * 7
    state, at = None, 0
    for hosts in (4, 2, 3, 1, 4):
        iterators = [opened(host, hosts) for host in range(hosts)]
        for iterator in iterators:
            if state is not None:
                iterator.set_state(state)
        for _ in range(2):
            parts = [np.asarray(next(iterator).targets) for iterator in iterators]
            assert np.concatenate(parts).tolist() == want[at]
            at += 1
        state = json.loads(json.dumps(iterators[0].get_state()))
        assert all(iterator.get_state() == state for iterator in iterators)
        for iterator in iterators:
            iterator.close()


def test_states_of_others_are_refused_by_name(numbers: Path, tokens: str) -> None:
    with iterator_of(numbers, tokens, 0, 2) as iterator:
        next(iterator)
        state = iterator.get_state()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"hosts": 4}, "hosts=2, this iterator of hosts=4; the original's order depends on the"),
        ({"host": 1, "hosts": 2}, "host=0, this iterator of host=1"),
        ({"hosts": 2, "order": "global"}, "order='host', this iterator of order='global'"),
        ({"hosts": 2, "global_batch_size": 8}, "iterator_length"),
        ({"hosts": 2, "data_shuffle_seed": 1}, "seed"),
        ({"hosts": 2, "grain_packing_bin_count": 4}, "num_packers"),
        ({"hosts": 2, "grain_packing": False}, "another stream|plan"),
        ({"hosts": 2, "batch_rampup_factors": None}, "batch"),
        ({"hosts": 2, "max_target_length": 40}, "max_length|seq_length"),
    ]
    for options, words in cases:
        with (
            iterator_of(numbers, tokens, **options) as iterator,
            pytest.raises(ValueError, match=words),
        ):
            iterator.set_state(state)


def test_splits_that_cannot_be_are_named(numbers: Path, tokens: str) -> None:
    with pytest.raises(ValueError, match="cannot be split evenly over 3"):
        iterator_of(numbers, tokens, 0, 3)
    with pytest.raises(ValueError, match="from step 3 on, cannot be split evenly over 2 hosts"):
        iterator_of(numbers, tokens, 0, 2, "global", batch_rampup_factors={3: 0.7})  # 11 rows
    with pytest.raises(ValueError, match=r"at step 5 the factor 0\.01 of 16 rows leaves none"):
        iterator_of(numbers, tokens, batch_rampup_factors={5: 0.01})
    devices = np.array(jax.devices()[:4]).reshape(2, 2)
    with pytest.raises(
        ValueError, match=r"6 rows of a batch .* over its 4 devices; the mesh axes are a=2, b=2"
    ):
        make_grain_iterator(
            config_of(str(numbers), tokenizer_path=tokens, global_batch_size=12),
            jax.sharding.Mesh(devices, ("a", "b")),
            [0],
        )
    with pytest.raises(NotImplementedError, match="process 0 loads no data"):
        make_grain_iterator(config_of(str(numbers), tokenizer_path=tokens), mesh_of(), [1, 2])
    with pytest.raises(ValueError, match="dataset_weights must all be above 0"):
        create_mixed_data_iterator(
            [config_of(str(numbers), tokenizer_path=tokens)] * 3, mesh_of(), [0.5, 0.5, 0]
        )


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_no_state_is_said_to_be_none(exact: bool, numbers: Path, tokens: str) -> None:
    # N31
    config = config_of(str(numbers), batch_rampup_factors=None, tokenizer_path=tokens)
    with (
        make_grain_iterator(config, mesh_of(), [0], exact=exact) as iterator,
        pytest.raises(ValueError, match=r"not a state of such an iterator: it has 'x'; give what"),
    ):
        iterator.set_state({"x": 1})


def test_exact_epochs_are_counted(numbers: Path, tokens: str) -> None:
    options: dict[str, Any] = {
        "batch_rampup_factors": None,
        "tokenizer_path": tokens,
        "drop_remainder": False,
    }
    config = config_of(str(numbers), **options)
    with make_grain_iterator(config, mesh_of(), [0], exact=True) as iterator:
        epochs = []
        for _ in range(4):
            epochs.append([np.asarray(batch.targets) for batch in iterator])
            assert len(epochs[-1]) == iterator.iterator_length
        # Each pass packs the 300 documents; they all come.
        for epoch in epochs:
            numbers_of = {int(t) for rows in epoch for t in rows.ravel() if 0 < t <= 300}
            assert numbers_of == set(range(1, 301))
        for _ in zip(range(2), iterator, strict=False):
            pass
        state = json.loads(json.dumps(iterator.get_state()))
        after = [np.asarray(batch.targets).tolist() for batch in iterator]  # the next epoch
    with make_grain_iterator(config, mesh_of(), [0], exact=True) as iterator:
        iterator.set_state(state)
        assert sum(1 for _ in iterator) == iterator.iterator_length - 2
        assert [np.asarray(batch.targets).tolist() for batch in iterator] == after
    with (
        make_grain_iterator(config, mesh_of(), [0]) as iterator,
        pytest.raises(ValueError, match="iterator_length"),
    ):
        iterator.set_state(state)
    capped = config_of(str(numbers), max_steps_per_epoch=3, **options)
    with make_grain_iterator(capped, mesh_of(), [0], exact=True) as iterator:
        assert [sum(1 for _ in iterator) for _ in range(3)] == [3, 3, 3]
    with pytest.raises(ValueError, match="differ from host to host; set drop_remainder=True"):
        make_grain_iterator(config, mesh_of(), [0, 1], exact=True)
    with (
        make_grain_iterator(config, mesh_of(4), [0], exact=True) as iterator,
        pytest.raises(ValueError, match=r"rows of a batch .* over its 4 devices"),
    ):
        # One of the passes ends in a batch that cannot be split.
        sum(1 for _ in range(12) for _ in iterator)
    with pytest.raises(ValueError, match="set max_steps_per_epoch"):
        make_grain_iterator([config, config], mesh_of(), [0], exact=True)


def test_mixes_have_their_shares(numbers: Path, tokens: str) -> None:
    configs = [
        config_of(
            str(numbers), tokenizer_path=tokens, grain_packing=False, batch_rampup_factors=None,
            data_shuffle_seed=seed,
        )
        for seed in range(3)
    ]  # fmt: skip
    with create_mixed_data_iterator(configs, mesh_of(), [2, 1, 1]) as iterator:
        assert iterator.iterator_length == 300 * 4 // BATCH
        counts = np.zeros(301, int)
        for batch in iterator:
            np.add.at(counts, np.asarray(batch.targets)[:, 0], 1)
    assert counts.sum() == 1200
    # 600 + 300 + 300 rows of data sets of 300: each document as often as any other, within one.
    assert counts[1:].max() - counts[1:].min() <= 1


def test_synthetic_batches(tokens: str) -> None:
    config = SyntheticDataConfig(global_batch_size=4, max_target_length=8, num_batches=5)
    iterator = create_data_iterator(config, mesh_of(1, ("dp", "fsdp")))
    for _ in range(3):
        batches = list(iterator)
        assert len(batches) == 5
        assert batches[0].inputs.shape == (4, 8)
        assert int(batches[0].targets_segmentation.sum()) == 32


def test_batches_are_pytrees_with_borders(numbers: Path, tokens: str) -> None:
    with iterator_of(numbers, tokens) as iterator:
        batch = next(iterator)
    borders = jax.jit(lambda b: b.get_document_borders())(batch)
    segments = np.asarray(batch.inputs_segmentation)
    want = np.ones_like(segments, bool)
    want[:, 1:] = segments[:, 1:] != segments[:, :-1]
    np.testing.assert_array_equal(np.asarray(borders), want)
    part = batch[2:6, 5:9]
    assert part.inputs.shape == (4, 4)
    np.testing.assert_array_equal(np.asarray(part.get_document_borders()), want[2:6, 5:9])
    np.testing.assert_array_equal(np.asarray(part[1:].get_document_borders()), want[3:6, 5:9])
    struct = LLMBatch.get_dtype_struct(4, 8)
    assert struct.inputs.shape == (4, 8)
    assert struct.inputs.dtype == np.int32


def test_indexed_batches_keep_their_rows_numbers() -> None:
    tokens = np.arange(24, dtype=np.int32).reshape(4, 6)
    plain = LLMBatch.from_inputs(tokens)
    batch = LLMIndexedBatch(
        **plain.arrays(), document_idx=np.array([1, 1, 2, 0]), sequence_idx=np.array([0, 1, 0, 0])
    )
    assert plain.targets[0].tolist() == [1, 2, 3, 4, 5, 0]
    part = batch[1:3, 2:4]
    assert isinstance(part, LLMIndexedBatch)
    assert part.inputs.tolist() == tokens[1:3, 2:4].tolist()
    assert part.document_idx.tolist() == [1, 2]
    assert part.sequence_idx.tolist() == [1, 0]


def test_configs_of_training_and_evaluation() -> None:
    train, evaluation = create_train_eval_configs(
        HFHubDataConfig,
        {"grain_packing": True},
        {"split": "test"},
        hf_path="x",
        global_batch_size=4,
    )
    assert (train.shuffle_data, train.drop_remainder, train.split) == (True, True, "train")
    assert train.grain_packing
    assert not evaluation.shuffle_data
    assert not evaluation.drop_remainder
    assert evaluation.split == "test"
    assert get_process_loading_data(train, mesh_of()) == [0]
