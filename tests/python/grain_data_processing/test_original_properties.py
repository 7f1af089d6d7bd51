"""What the original's own tests ask of its batches, asked of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.cli import main
from easydata.grain_data_processing import (
    GrainArrayRecordsDataConfig,
    HFHubDataConfig,
    LLMBatch,
    load_array_record_dataset,
    load_huggingface_dataset,
    make_grain_iterator,
    preprocess_dataset,
)
from small_records import write_texts
from small_tokenizer import EOS

from easydata import Tokenizer

# Read when the first test asks for devices, not when jax is imported.
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
)
os.environ["JAX_PLATFORMS"] = "cpu"
jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")

LENGTH = 128
FIELDS = (
    "inputs",
    "targets",
    "inputs_position",
    "targets_position",
    "inputs_segmentation",
    "targets_segmentation",
)


def mesh_of(devices: int = 4) -> Any:
    return jax.sharding.Mesh(np.array(jax.devices()[:devices]).reshape(-1, 1), ("dp", "tp"))


def arrays(batch: LLMBatch) -> dict[str, np.ndarray]:
    return {name: np.asarray(getattr(batch, name)) for name in FIELDS}


def same(one: LLMBatch, other: LLMBatch) -> bool:
    ours, theirs = arrays(one), arrays(other)
    return all(np.array_equal(ours[name], theirs[name]) for name in FIELDS)


# Segments.


def hand_made(eod: int) -> list[list[int]]:
    """Documents of tokens with ends of documents at all positions."""
    return [
        [1, 2, 3, 4],
        [1, 2, eod, 3, 4, 5],
        [eod, 1, 2, 3],
        [eod, eod, 1, eod],
        [1, 2, 3, 4, 5, 6, 7, eod],
        [1, 2, 3, 4, 5, 6, 7, 8],
        [eod],
        [eod] * 8,
    ]


def inferred(targets: np.ndarray, inputs: np.ndarray, length: int, eod: int) -> tuple[Any, Any]:
    """Segments and positions of a row by the original's rule, spelled out."""
    segments, positions = np.zeros_like(targets), np.zeros_like(targets)
    segment, begin = int(inputs[0] != eod), 0
    for index in range(length):
        if inputs[index] == eod:
            segment, begin = segment + 1, index
        segments[index], positions[index] = segment, index - begin
    return segments, positions


@pytest.mark.parametrize("shift", [True, False])
@pytest.mark.parametrize("eod", [0, 100, 50234])
def test_segments_of_hand_made_rows(eod: int, shift: bool) -> None:
    documents = hand_made(eod)
    records = [np.array(each, "<i4").tobytes() for each in documents]
    rows, _ = preprocess_dataset(
        0, 1, records, "text", False, 2, 8, False, 1, add_eod=False, shift=shift,
        eod_token_id=eod, num_epochs=1,
    )  # fmt: skip
    found = list(rows)
    assert len(found) == len(documents)
    for row, document in zip(found, documents, strict=True):
        targets = np.array(document + [0] * (8 - len(document)))
        inputs = np.array([eod, *targets[:-1]]) if shift else targets
        np.testing.assert_array_equal(row["targets"], targets)
        np.testing.assert_array_equal(row["inputs"], inputs)
        segments, positions = inferred(targets, inputs, len(document), eod)
        for part in ("inputs", "targets"):
            np.testing.assert_array_equal(row[f"{part}_segmentation"], segments)
            np.testing.assert_array_equal(row[f"{part}_position"], positions)


# Shares and sizes.


@pytest.mark.parametrize("drop_remainder", [True, False])
@pytest.mark.parametrize("size", [34, 201])
@pytest.mark.parametrize("hosts", [2, 4])
def test_batches_of_hosts(
    hosts: int, size: int, drop_remainder: bool, tmp_path: Path, tokens: str
) -> None:
    write_texts(tmp_path / "train", [f"{i}:" for i in range(size // 3 * 3)])
    size = size // 3 * 3
    found: list[list[int]] = []
    batches = []
    for host in range(hosts):
        config = GrainArrayRecordsDataConfig(
            data_path=tmp_path, tokenizer_path=tokens, global_batch_size=8, max_target_length=8,
            drop_remainder=drop_remainder,
        )  # fmt: skip
        processes = [0 if i == host else 100 + i for i in range(hosts)]
        with make_grain_iterator(config, mesh_of(1), processes) as iterator:
            epoch = [arrays(batch)["targets"] for batch in iterator]
        batches.append(len(epoch))
        texts = [bytes(int(t) for t in row if 0 < t < 256) for rows in epoch for row in rows]
        found.append([int(text[:-1]) for text in texts if text])
    whole = size // 8 if drop_remainder else -(-size // 8)
    assert max(batches) == whole
    assert min(batches) >= whole - 1
    if not drop_remainder:
        assert [number for numbers in found for number in numbers] == list(range(size))
        return
    for host, numbers in enumerate(found):
        share = np.array_split(np.arange(size), hosts)[host]
        assert len(numbers) == batches[host] * 8 // hosts
        assert numbers == share[: len(numbers)].tolist()


@pytest.mark.parametrize("drop_remainder", [True, False])
def test_batches_grow_as_said(drop_remainder: bool, texts: Path, tokens: str) -> None:
    config = GrainArrayRecordsDataConfig(
        data_path=texts, tokenizer_path=tokens, global_batch_size=16, max_target_length=48,
        drop_remainder=drop_remainder, batch_rampup_factors={0: 0.25, 2: 0.3, 4: 0.5, 7: 1.0},
    )  # fmt: skip
    with make_grain_iterator(config, mesh_of(1), [0]) as iterator:
        sizes = [
            len(arrays(batch)["targets"]) for batch, _ in zip(iterator, range(10), strict=False)
        ]
    assert sizes == [4, 4, 4, 4, 8, 8, 8, 16, 16, 16]


# Text from beginning to end.


@pytest.fixture(scope="module")
def documents(request: pytest.FixtureRequest) -> list[str]:
    """Paragraphs of an encyclopedia; where they are absent, texts of our own."""
    from data_folders import SHARED

    file = SHARED / "text" / "prose" / "wikitext2_valid.txt"
    if not file.is_file():
        return [f"Paragraph {i} speaks of " + "this and that, " * (i % 40) for i in range(1200)]
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


@pytest.fixture(scope="module")
def parquet(documents: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("documents") / "a.parquet"
    pq.write_table(pa.table({"text": documents}), path)
    return path


@pytest.fixture(scope="module")
def records(parquet: Path) -> Path:
    folder = parquet.parent / "records"
    flags = ["--format", "array_record", "--max-shard-rows", "500", "--shard-prefix", "train"]
    assert main(["convert", str(parquet), *flags, "--output-dir", str(folder / "train")]) == 0
    return folder


def options(gpt2: str, **given: Any) -> dict[str, Any]:
    return {
        "tokenizer_path": gpt2,
        "global_batch_size": 8,
        "max_target_length": LENGTH,
        "data_shuffle_seed": 7,
        **given,
    }


def of_hub(parquet: Path, cache: Path, **given: Any) -> HFHubDataConfig:
    return HFHubDataConfig(
        hf_path="parquet", hf_data_files={"train": str(parquet)}, hf_cache_dir=cache, **given
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_data_set_of_the_hub_and_its_records_give_the_same_batches(
    packing: bool, shuffle: bool, parquet: Path, records: Path, gpt2: str, tmp_path: Path
) -> None:
    pytest.importorskip("datasets")
    shared = options(gpt2, shuffle_data=shuffle, grain_packing=packing, drop_remainder=True)
    hub = of_hub(parquet, tmp_path, **shared)
    files = GrainArrayRecordsDataConfig(data_path=records, **shared)
    theirs, ours = load_huggingface_dataset(hub), load_array_record_dataset(records / "train")
    assert [row["text"].encode() for row in theirs] == [ours[i] for i in range(len(ours))]
    with (
        make_grain_iterator(hub, mesh_of(), [0]) as one,
        make_grain_iterator(files, mesh_of(), [0]) as other,
    ):
        assert one.iterator_length == other.iterator_length
        for _ in range(2):
            pairs = list(zip(one, other, strict=True))
            assert len(pairs) == len(ours) // 8
            assert all(same(a, b) for a, b in pairs)


def test_the_first_steps_of_an_epoch(records: Path, gpt2: str) -> None:
    shared = options(gpt2, data_path=records, drop_remainder=False)
    whole = GrainArrayRecordsDataConfig(**shared)
    capped = GrainArrayRecordsDataConfig(**shared, max_steps_per_epoch=20)
    with (
        make_grain_iterator(whole, mesh_of(), [0]) as all_of_it,
        make_grain_iterator(capped, mesh_of(), [0]) as first,
    ):
        expected = [batch for batch, _ in zip(all_of_it, range(20), strict=False)]
        for _ in range(2):
            found = list(first)
            assert len(found) == 20
            assert all(same(a, b) for a, b in zip(found, expected, strict=True))


def test_batches_of_documents(documents: list[str], records: Path, gpt2: str) -> None:
    tokenizer = Tokenizer(gpt2)
    eod = tokenizer.eos_token_id
    assert eod is not None
    config = GrainArrayRecordsDataConfig(
        data_path=records,
        **options(
            gpt2,
            shuffle_data=True,
            grain_packing=True,
            grain_packing_bin_count=64,
            drop_remainder=True,
        ),
    )
    mesh = mesh_of()
    starts = {tuple(tokenizer.encode(text)[:LENGTH]) for text in documents}
    tokens = padding = ends = 0
    with make_grain_iterator(config, mesh, [0], exact=True) as iterator:
        lengths = []
        for _ in range(3):
            count = 0
            for batch in iterator:
                count += 1
                assert batch.inputs.shape == (8, LENGTH)
                assert batch.inputs.sharding.is_equivalent_to(
                    jax.sharding.NamedSharding(
                        mesh, jax.sharding.PartitionSpec(tuple(mesh.axis_names))
                    ),
                    2,
                )
                row = arrays(batch)
                live = row["targets_segmentation"] > 0
                tokens += live.size
                padding += int((~live).sum())
                ends += int((row["targets"] == eod)[live].sum())
                check_rows(row, live, eod)
                np.testing.assert_array_equal(
                    np.asarray(batch.get_document_borders())[live], (row["inputs"] == eod)[live]
                )
                if count == 1:
                    assert all(each in starts for each in documents_of(row, live, eod))
            lengths.append(count)
    assert padding < 0.1 * tokens
    assert ends < 0.05 * tokens
    assert max(lengths) - min(lengths) <= 2


def check_rows(row: dict[str, np.ndarray], live: np.ndarray, eod: int) -> None:
    """Inputs are one behind targets; segments begin where a document ended; padding is 0."""
    np.testing.assert_array_equal(row["inputs"][:, 1:], row["targets"][:, :-1])
    assert (row["inputs"][:, 0] == eod).all()
    assert (row["targets"][~live] == 0).all()
    steps = np.diff(row["targets_segmentation"], axis=1)
    within = live[:, 1:]
    assert set(np.unique(steps[within])) <= {0, 1}
    np.testing.assert_array_equal((steps == 1)[within], (row["inputs"][:, 1:] == eod)[within])
    for part in ("position", "segmentation"):
        np.testing.assert_array_equal(row[f"inputs_{part}"], row[f"targets_{part}"])


def documents_of(row: dict[str, np.ndarray], live: np.ndarray, eod: int) -> list[tuple[int, ...]]:
    """The tokens of each document of some rows, without their ends."""
    found = []
    for targets, segments in zip(row["targets"], row["targets_segmentation"] * live, strict=True):
        for segment in range(1, int(segments.max()) + 1):
            of_one = targets[segments == segment].tolist()
            found.append(tuple(of_one[:-1] if of_one[-1] == eod else of_one))
    return found


def test_masked_rows_of_an_evaluation(texts: Path, tokens: str) -> None:
    """The last batch is filled up with rows that are masked whole."""
    config = GrainArrayRecordsDataConfig(
        data_path=texts, tokenizer_path=tokens, global_batch_size=8, max_target_length=48,
        drop_remainder=False,
    )  # fmt: skip
    with make_grain_iterator(config, mesh_of(), [0]) as iterator:
        epochs = [[arrays(batch) for batch in iterator] for _ in range(3)]
    for epoch in epochs:
        assert len(epoch) == 26  # 201 texts
        assert (epoch[-1]["targets_segmentation"][1:] == 0).all()
        assert (epoch[-1]["targets"][0] == EOS).sum() == 1
