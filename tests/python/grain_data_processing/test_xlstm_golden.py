"""Rows and batches that xlstm_jax made, recorded: ours are equal in all fields.

Two things are not the original's, on purpose: rows that fill an epoch up are masked whole (there
they keep one live target), and several workers change nothing (there they change the order).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from data_folders import SHARED
from easydata.grain_data_processing import (
    GrainArrayRecordsDataConfig,
    HFHubDataConfig,
    load_array_record_dataset,
    load_huggingface_dataset,
    preprocess_dataset,
)

GOLDEN = SHARED / "data/golden/grain"
TOKENIZERS = SHARED / "data/tokenizers"
RECORDED = json.loads((GOLDEN / "xlstm_cases.json").read_text())["cases"] if GOLDEN.is_dir() else []
FIELDS = [
    f"{name}{part}" for name in ("inputs", "targets") for part in ("", "_position", "_segmentation")
]

pytestmark = pytest.mark.usefixtures("shared")


def cases(kind: str) -> list[Any]:
    """(case, host) for each host of each case that recorded rows."""
    return [
        pytest.param(case, host, number, id=f"{case['name']}-{number}")
        for case in RECORDED
        if case["kind"] == kind
        for number, host in enumerate(case["hosts"])
        if "npz" in host
    ]


def recorded(npz: str) -> dict[str, np.ndarray]:
    """The rows of a host."""
    case, host = npz.split("/")
    with np.load(GOLDEN / "xlstm_batches" / f"{case}.npz") as arrays:
        return {name: arrays[f"{host}.{name}"].astype(np.int32) for name in FIELDS}


def data_set(source: str) -> Any:
    """What a case reads."""
    if source.startswith("hf:"):
        pytest.importorskip("datasets")
        return load_huggingface_dataset(hub_config(source, global_batch_size=8))
    return load_array_record_dataset(GOLDEN / "xlstm_data" / source / "train")


def hub_config(source: str, **fields: Any) -> HFHubDataConfig:
    path = GOLDEN / "xlstm_data" / f"{source[3:]}.jsonl"
    return HFHubDataConfig(hf_path="json", hf_data_files=str(path), **fields)


def check(got: dict[str, np.ndarray], want: dict[str, np.ndarray], padding: int) -> None:
    """Equal but for `padding` rows, of which all is 0."""
    is_padding = (got["inputs"] == 0).all(axis=1)
    assert int(is_padding.sum()) == padding
    for name in FIELDS:
        assert got[name].dtype == np.int32
        np.testing.assert_array_equal(got[name][~is_padding], want[name][~is_padding], name)
        assert not got[name][is_padding].any()
    # What was recorded for them is an empty document: one live target.
    assert (want["targets_segmentation"][is_padding].sum(axis=1) == 1).all()


@pytest.mark.parametrize(("case", "host", "number"), cases("preprocess_dataset"))
def test_rows_of_a_host(case: dict[str, Any], host: dict[str, Any], number: int) -> None:
    arguments = {**case["args"], "add_bos": False, "add_eos": False}
    if arguments.get("tokenizer_path") is not None:
        arguments["tokenizer_path"] = str(TOKENIZERS / arguments["tokenizer_path"])
    data = data_set(case["source"])
    rows, source = preprocess_dataset(number, case["host_count"], data, **arguments)
    assert len(source) == host["returned_source_len"]
    want = recorded(host["npz"])
    got = []
    for row in rows:
        got.append(row)
        # One more than recorded would be one too many, unless there is no end.
        if len(got) == len(want["inputs"]) + (arguments.get("num_epochs") is not None):
            break
    assert len(got) == len(want["inputs"])
    padding = 0
    if not arguments.get("drop_remainder", True) and not arguments.get("grain_packing"):
        begin, end = share(len(source), number, case["host_count"])
        padding = max(0, end - max(begin, len(data))) * max(1, arguments.get("num_epochs") or 1)
    check({name: np.stack([row[name] for row in got]) for name in FIELDS}, want, padding)


def share(rows: int, host: int, hosts: int) -> tuple[int, int]:
    least, more = divmod(rows, hosts)
    begin = host * least + min(host, more)
    return begin, begin + least + (host < more)


def iterator_of(case: dict[str, Any], host: int, **options: Any) -> Any:
    jax = pytest.importorskip("jax")
    from easydata.grain_data_processing import make_grain_iterator

    fields = {
        "global_batch_size": 8,
        "max_target_length": 32,
        "worker_count": 0,
        "tokenizer_path": str(TOKENIZERS / "gpt2"),
        **case["config"],
    }
    if "batch_rampup_factors" in fields:
        factors = fields["batch_rampup_factors"]
        fields["batch_rampup_factors"] = {int(step): factor for step, factor in factors.items()}
    configs = [
        hub_config(source, **fields)
        if source.startswith("hf:")
        else GrainArrayRecordsDataConfig(data_path=GOLDEN / "xlstm_data" / source, **fields)
        for source in case["sources"]
    ]
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    # As it was recorded: the one process is at the host's index.
    processes = [0 if i == host else 100 + i for i in range(case["host_count"])]
    return make_grain_iterator(configs, mesh, processes, case["weights"], **options)


@pytest.mark.parametrize(("case", "host", "number"), cases("make_grain_iterator"))
def test_batches_of_a_host(case: dict[str, Any], host: dict[str, Any], number: int) -> None:
    with iterator_of(case, host["host"]) as iterator:
        assert iterator.iterator_length == len(iterator) == host["iterator_length"]
        assert iterator.dataset_size == host["dataset_size"]
        got = []
        for batches in host["batches_per_epoch"]:
            for count, batch in enumerate(iterator, 1):
                got.append(batch)
                assert len(json.dumps(iterator.get_state())) <= 4096
                if count == batches:
                    break
            if batches == iterator.iterator_length:
                assert next(iterator, None) is None
    assert [len(batch.inputs) for batch in got] == host["batch_sizes"]
    arrays = {
        name: np.concatenate([np.asarray(getattr(batch, name)) for batch in got]) for name in FIELDS
    }
    want = recorded(host["npz"])
    if case["config"].get("worker_count") == 2:
        one = next(each for each in RECORDED if each["name"] == "it_workers1")
        if "grain_packing" not in case["config"]:
            check(arrays, recorded(one["hosts"][0]["npz"]), 0)
        return
    check(arrays, want, int((arrays["inputs"] == 0).all(axis=1).sum()))


@pytest.mark.parametrize(
    "name", ["it_state_pack", "it_state_nopack_2h", "it_state_mix", "it_state_rampup", "it_rampup"]
)
def test_states_at_every_step(name: str) -> None:
    case = next(each for each in RECORDED if each["name"] == name)
    host = case["hosts"][-1]["host"]
    with iterator_of(case, host) as iterator:
        count = min(14, iterator.iterator_length)
        batches, states = [], [iterator.get_state()]
        for batch in iterator:
            batches.append(batch)
            states.append(json.loads(json.dumps(iterator.get_state())))
            if len(batches) == count:
                break
    with iterator_of(case, host) as iterator:
        for step in range(count):
            iterator.set_state(states[step])
            again = next(iter(iterator))
            for field in FIELDS:
                np.testing.assert_array_equal(getattr(again, field), getattr(batches[step], field))
            assert iterator.get_state() == states[step + 1]
