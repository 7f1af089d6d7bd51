"""What rows a host gets: shares, orders, padding, long documents, and what is refused."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from easydata.grain_data_processing import (
    PaddedDataset,
    load_array_record_dataset,
    pad_dataset,
    preprocess_dataset,
)
from small_records import TEXTS, write_texts
from small_tokenizer import EOS

from easydata import AsyncDataLoader


def rows_of(
    folder: Path, tokens: str | None, host: int = 0, hosts: int = 1, **options: Any
) -> list[dict[str, np.ndarray]]:
    data = load_array_record_dataset(folder / "train")
    arguments = {
        "data_column_name": "text",
        "tokenize": tokens is not None,
        "global_batch_size": 8,
        "max_target_length": 48,
        "shuffle": False,
        "data_shuffle_seed": 42,
        "tokenizer_path": tokens,
        "add_bos": False,
        "add_eos": False,
        "num_epochs": 1,
        **options,
    }
    return list(preprocess_dataset(host, hosts, data, **arguments)[0])


def number_of(row: dict[str, np.ndarray]) -> int:
    """The number that a document begins with; -1: an empty row."""
    letters = bytes(int(each) for each in row["targets"] if 0 < each < 256)
    return int(letters.split(b":")[0]) if letters else -1


@pytest.mark.parametrize("hosts", [1, 2, 4])
@pytest.mark.parametrize("drop_remainder", [True, False])
def test_hosts_have_contiguous_shares(
    hosts: int, drop_remainder: bool, texts: Path, tokens: str
) -> None:
    found = []
    for host in range(hosts):
        rows = rows_of(texts, tokens, host, hosts, drop_remainder=drop_remainder)
        found.append([number_of(row) for row in rows])
    sizes = [len(each) for each in found]
    assert max(sizes) - min(sizes) <= 1
    padding = [] if drop_remainder else [-1] * (-TEXTS % 8)
    assert [row for rows in found for row in rows] == [*range(TEXTS), *padding]


def test_epochs_have_orders_of_their_own(texts: Path, tokens: str) -> None:
    rows = rows_of(texts, tokens, 1, 2, shuffle=True, num_epochs=4)
    numbers = [number_of(row) for row in rows]
    epochs = [numbers[begin : begin + 100] for begin in range(0, 400, 100)]
    for epoch in epochs:
        assert sorted(epoch) == list(range(101, TEXTS))
        assert epoch != sorted(epoch)
    assert len({tuple(epoch) for epoch in epochs}) == 4


def test_padding_is_masked_and_an_empty_document_is_not(tmp_path: Path, tokens: str) -> None:
    write_texts(tmp_path / "train", ["0:", "", "2:"])
    rows = rows_of(tmp_path, tokens, drop_remainder=False)
    assert [int(row["targets_segmentation"].sum()) for row in rows] == [3, 1, 3, 0, 0, 0, 0, 0]
    assert rows[1]["inputs"][:3].tolist() == [EOS, EOS, 0]
    for row in rows[3:]:
        assert not any(values.any() for values in row.values())


def test_bos_and_eos_act(texts: Path, tokens: str) -> None:
    plain = rows_of(texts, tokens)
    both = rows_of(texts, tokens, add_eos=True)
    # The tokenizer's EOS is the end of a document: it is there once.
    for one, other in zip(plain, both, strict=True):
        assert one["targets"].tolist() == other["targets"].tolist()
    with pytest.raises(ValueError, match="add_bos: the tokenizer has no BOS token"):
        rows_of(texts, tokens, add_bos=True)
    closed = rows_of(texts, tokens, add_eos=True, eod_token_id=7)
    for one, other in zip(plain, closed, strict=True):
        length = int((one["targets"] != 0).sum())
        assert other["targets"][length - 1 : length + 1].tolist() == [EOS, 7]


def test_long_texts_are_cut_or_split(
    texts: Path, tokens: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = rows_of(texts, tokens)
    with caplog.at_level(logging.WARNING):
        cut = rows_of(texts, tokens, max_target_length=16)
    assert 'overlong="split" keeps them whole' in caplog.text
    assert len(cut) == len(whole)
    split = rows_of(texts, tokens, max_target_length=16, overlong="split")
    # A part that fills a row has no room for the token that ends a document.
    flat = [int(token) for row in split for token in row["targets"] if token not in (0, EOS)]
    texts_of = [int(token) for row in whole for token in row["targets"] if token not in (0, EOS)]
    assert flat == texts_of
    with pytest.raises(ValueError, match=r"row \d+: the document has \d+ tokens"):
        rows_of(texts, tokens, max_target_length=16, overlong="error")


def test_a_cut_text_fills_its_row(tmp_path: Path, tokens: str) -> None:
    write_texts(tmp_path / "train", ["abcdefgh" * 4, "ab"] * 4)
    for options in ({}, {"eod_token_id": 7}):
        for row in rows_of(tmp_path, tokens, max_target_length=16, add_eos=True, **options)[::2]:
            assert row["targets"].all()
            assert row["targets"][-1] == EOS


@pytest.mark.parametrize("packing", [False, True])
def test_long_records_of_tokens_are_an_error_unless_said(numbers: Path, packing: bool) -> None:
    options = {"eod_token_id": 9, "max_target_length": 12, "grain_packing": packing}
    with pytest.raises(ValueError, match="more than max_target_length, 12; set overlong"):
        rows_of(numbers, None, **options)
    for overlong, keeps_all in (("truncate", False), ("split", True)):
        rows = rows_of(numbers, None, overlong=overlong, **options)
        tokens = sum(int((row["targets"] != 0).sum()) for row in rows)
        whole = rows_of(numbers, None, eod_token_id=9, max_target_length=32)
        all_tokens = sum(int((row["targets"] != 0).sum()) for row in whole)
        # A document that fills a row has no room for the token that ends it.
        assert (tokens > all_tokens - 100) == keeps_all


@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_data_set_in_memory_gives_the_same_rows(
    packing: bool, shuffle: bool, texts: Path, tokens: str
) -> None:
    """Any data set with numbers will do: bytes, rows, the library datasets'."""
    records = load_array_record_dataset(texts / "train")
    listed = [records[i] for i in range(len(records))]
    kinds: list[Any] = [records, listed, [{"text": each.decode()} for each in listed]]
    try:
        import datasets
    except ModuleNotFoundError:
        pass
    else:
        kinds.append(datasets.Dataset.from_list(kinds[2]))
    found = []
    for data in kinds:
        rows, _ = preprocess_dataset(
            1, 2, data, "text", True, 8, 48, shuffle, 3, tokens,
            add_bos=False, add_eos=False, grain_packing=packing, drop_remainder=packing,
            num_epochs=2,
        )  # fmt: skip
        found.append([{k: v.tolist() for k, v in row.items()} for row in rows])
    for other in found[1:]:
        assert other == found[0]


@pytest.mark.parametrize("options", [{}, {"grain_packing": True, "grain_packing_bin_count": 5}])
def test_one_order_for_any_number_of_ranks(
    options: dict[str, Any], texts: Path, tokens: str
) -> None:
    """Batches of 1, 2 and 4 ranks are the parts of the same ones; states go from each to each."""
    data = load_array_record_dataset(texts / "train")

    def loaders(ranks: int) -> list[AsyncDataLoader]:
        made = []
        for rank in range(ranks):
            rows, _ = preprocess_dataset(
                rank, ranks, data, "text", True, 8, 48, True, 3, tokens,
                add_bos=False, add_eos=False, order="global", **options,
            )  # fmt: skip
            made.append(AsyncDataLoader(rows, batch_size=8, rank=rank, world_size=ranks))
        return made

    def step(parts: list[AsyncDataLoader]) -> list[Any]:
        batches = [next(iter(part)) for part in parts]
        return np.concatenate([batch["targets"] for batch in batches]).tolist()

    (alone,) = loaders(1)
    want = [batch["targets"].tolist() for batch, _ in zip(alone, range(40), strict=False)]
    alone.close()
    state = None
    at = 0
    for ranks in (4, 2, 1, 2, 4):
        parts = loaders(ranks)
        if state is not None:
            for part in parts:
                part.load_state_dict(state)
        for _ in range(7):
            assert step(parts) == want[at]
            at += 1
        states = [part.state_dict() for part in parts]
        assert all(each == states[0] for each in states)
        state = states[0]
        for part in parts:
            part.close()


@pytest.mark.parametrize("as_list", [False, True])
def test_data_sets_that_were_cut_or_filled_up_stay_so(
    as_list: bool, texts: Path, tokens: str
) -> None:
    records: Any = load_array_record_dataset(texts / "train")
    if as_list:
        records = [records[i] for i in range(len(records))]

    def numbers_of(data: Any, **options: Any) -> list[int]:
        rows, _ = preprocess_dataset(
            0, 1, data, "text", True, 16, 48, False, 3, tokens,
            add_bos=False, add_eos=False, num_epochs=1, **options,
        )  # fmt: skip
        return [number_of(row) for row in rows]

    cut = PaddedDataset(records, 10, "text")
    assert numbers_of(cut) == list(range(10))
    assert numbers_of(cut, drop_remainder=False) == [*range(10), *[-1] * 6]
    assert numbers_of(pad_dataset(cut, 4, "text")) == [*range(10), -1, -1]
    # Empty documents are not packed with the others.
    rows, _ = preprocess_dataset(
        0, 1, pad_dataset(cut, 64, "text"), "text", True, 16, 48, False, 3, tokens,
        add_bos=False, add_eos=False, num_epochs=1, grain_packing=True,
    )  # fmt: skip
    assert sum(int((row["targets"] == EOS).sum()) for row in rows) == 10


def test_padded_data_sets(texts: Path) -> None:
    records = load_array_record_dataset(texts / "train")
    padded = pad_dataset(records, 16, "text")
    assert len(padded) == 208
    assert padded[200] == records[200]
    assert padded[207] == b""
    assert padded.empty_sequence == b""
    cut = PaddedDataset(records, 10, "text")
    assert len(cut) == 10
    assert cut[50] == records[50]
    rows = PaddedDataset([{"body": "a"}], 2, "body")
    assert rows[1] == {"body": ""}
    again = pickle.loads(pickle.dumps(padded))
    assert len(again) == 208
    assert again[5] == records[5]
    with pytest.raises(ValueError, match="full_dataset_length must be at least 0"):
        PaddedDataset(records, -1, "text")


def test_files_come_by_their_numbers(texts: Path) -> None:
    records = load_array_record_dataset(texts / "train")
    assert [int(records[i].split(b":")[0]) for i in range(len(records))] == list(range(TEXTS))


def test_folders_that_cannot_be_read_are_named(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no_such"):
        load_array_record_dataset(tmp_path / "no_such")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty"):
        load_array_record_dataset(tmp_path / "empty")
    file = next((texts / "train").glob("*_3.arecord"))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.arecord").symlink_to(file)
    with pytest.raises(ValueError, match=r"train\.arecord: the name does not end in _<number>"):
        load_array_record_dataset(tmp_path / "a")
    (tmp_path / "b").mkdir()
    for name in ("x_3", "x_03"):
        (tmp_path / "b" / f"{name}.arecord").symlink_to(file)
    with pytest.raises(ValueError, match="has the same number as"):
        load_array_record_dataset(tmp_path / "b")


def test_what_cannot_be_is_refused(texts: Path, numbers: Path, tokens: str) -> None:
    with pytest.raises(ValueError, match="8 rows cannot be split evenly over 3"):
        rows_of(texts, tokens, 0, 3)
    with pytest.raises(ValueError, match="eod_token_id: say which token ends a document"):
        rows_of(numbers, None)
    with pytest.raises(ValueError, match="tokenizer_path"):
        rows_of(texts, None, tokenize=True)
    with pytest.raises(ValueError, match="tokenize=False takes records that are bytes"):
        preprocess_dataset(
            0, 1, [{"text": "a"}], "text", False, 8, 8, False, 1, eod_token_id=1
        )  # fmt: skip
    with pytest.raises(ValueError, match="must be more than the tokens that are added"):
        rows_of(texts, tokens, max_target_length=1, add_eos=True)


def test_a_token_of_the_callers_is_warned_of(
    texts: Path, tokens: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="easydata.grain_data_processing"):
        rows = rows_of(texts, tokens, eod_token_id=7)
    assert "the tokenizer's end-of-document token 256; 7 is used" in caplog.text
    assert rows[0]["inputs"][0] == 7


@pytest.mark.parametrize("packing", [False, True])
def test_tokens_are_counted(packing: bool, texts: Path, tokens: str) -> None:
    data = load_array_record_dataset(texts / "train")
    rows, _ = preprocess_dataset(
        0, 1, data, "text", True, 8, 48, False, 1, tokens, add_bos=False, add_eos=False,
        grain_packing=packing, drop_remainder=packing, num_epochs=1, name="texts",
    )  # fmt: skip
    with AsyncDataLoader(rows, batch_size=8) as loader:
        found = 0
        for batch in loader:
            found += int((batch["targets_segmentation"] > 0).sum())
            assert loader.stats()["tokens"] == found
    assert found == sum(len(data[i]) + 1 for i in range(TEXTS)) or packing
    assert loader.stats()["sources"]["texts"]["tokens"] == found
