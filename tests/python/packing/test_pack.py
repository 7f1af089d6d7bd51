"""Packing: EasyDeL's recorded rows, conservation of tokens, and the defects that EasyDeL has."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from easydata.sources import HFDatasetShardedSource, JsonShardedSource
from hypothesis import given, settings
from hypothesis import strategies as st
from python_rows import Rows
from small_tokenizer import small_tokenizer

from easydata import (
    AsyncDataLoader,
    DatasetConfig,
    FirstFitPacker,
    GreedyPacker,
    MixedShardedSource,
    PackedShardedSource,
    PackStageConfig,
    ParquetShardedSource,
    Pipeline,
    PipelineConfig,
    PoolPacker,
    ShardedDataSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    pack_constant_length,
    pack_pre_tokenized,
)

EOS = 999
STRATEGIES: list[Any] = ["greedy", "pool", "first_fit", "best_fit"]


def document(number: int, length: int) -> list[int]:
    return [1 + (131 * number + 7 * index) % 997 for index in range(length)]


def documents(lengths: Sequence[int]) -> Rows:
    return Rows([{"input_ids": document(d, length)} for d, length in enumerate(lengths)])


def pack(source: ShardedDataSource[Any], seq_length: int, **options: Any) -> list[dict[str, Any]]:
    options = {"shuffle": False, **options}
    packed = PackedShardedSource(source, seq_length, options.pop("eos_token_id", EOS), **options)
    return list(packed.open_shard(packed.shard_names[0]))


def segments(row: dict[str, Any]) -> list[list[int]]:
    """The tokens of a row by segment, padding left out."""
    out: list[list[int]] = []
    last = -1
    for token, segment, mask in zip(
        row["input_ids"], row["segment_ids"], row["attention_mask"], strict=True
    ):
        if not mask:
            continue
        if segment != last:
            assert segment == last + 1
            out.append([])
            last = segment
        out[-1].append(int(token))
    return out


def test_the_tokens_are_called_input_ids_whatever_they_were_called() -> None:
    packed = PackedShardedSource(
        [{"tokens": [5, 6, 7]}], 4, eos_token_id=1, input_field="tokens", shuffle=False
    )
    (row,) = packed
    assert row["input_ids"].tolist() == [5, 6, 7, 1]
    assert "tokens" not in row


def test_recorded_rows_of_easydel(shared: Path) -> None:
    path = shared / "data/golden/easydel/packing.json"
    cases = [case for case in json.loads(path.read_text())["cases"] if "eos_omitted" not in case]
    assert len(cases) > 60
    for case in cases:
        rows = pack(
            documents(case["doc_lengths"]),
            case["seq_length"],
            eos_token_id=case["eos"],
            pad_token_id=case["pad"],
            strategy=case["strategy"],
            num_packers=case["num_packers"],
            include_segment_ids=case["segment_ids"],
        )
        assert len(rows) == len(case["rows"]), case
        for row, expected in zip(rows, case["rows"], strict=True):
            assert row["input_ids"].tolist() == expected["input_ids"], case
            mask = expected.get("attention_mask", [1] * case["seq_length"])
            assert row["attention_mask"].tolist() == mask
            assert ("segment_ids" in row) == case["segment_ids"]
            if case["segment_ids"]:
                assert row["segment_ids"].tolist() == expected["segment_ids"]


@given(
    lengths=st.lists(st.integers(0, 40), max_size=60),
    seq_length=st.integers(2, 24),
    strategy=st.sampled_from(STRATEGIES),
    pack_window=st.integers(1, 20),
    overlong=st.sampled_from(["split", "truncate", "drop"]),
)
@settings(max_examples=80, deadline=None)
def test_tokens_are_conserved(
    lengths: list[int], seq_length: int, strategy: Any, pack_window: int, overlong: Any
) -> None:
    rows = pack(
        documents(lengths),
        seq_length,
        strategy=strategy,
        pack_window=pack_window,
        overlong=overlong,
    )
    expected = []
    for number, length in enumerate(lengths):
        closed = [*document(number, length), EOS]
        if length == 0 or (len(closed) > seq_length and overlong == "drop"):
            continue
        if len(closed) > seq_length and overlong == "truncate":
            closed = [*closed[: seq_length - 1], EOS]
        expected += closed
    given_out = [token for row in rows for segment in segments(row) for token in segment]
    assert sorted(given_out) == sorted(expected)
    if strategy == "greedy":
        assert given_out == expected
    for row in rows:
        for name in ("input_ids", "attention_mask", "position_ids", "segment_ids"):
            assert row[name].dtype == np.int32
            assert row[name].shape == (seq_length,)
        position = 0
        for index in range(seq_length):
            new = index == 0 or row["segment_ids"][index] != row["segment_ids"][index - 1]
            position = 0 if new else position + 1
            assert row["position_ids"][index] == position
        used = int(row["attention_mask"].sum())
        assert row["attention_mask"].tolist() == [1] * used + [0] * (seq_length - used)
        assert set(row["segment_ids"][used:].tolist()) <= {len(segments(row))}


def test_d1_no_row_of_a_long_document_is_lost() -> None:
    rows = pack(documents([30]), 8)
    assert [token for row in rows for token in row["input_ids"].tolist()] == [
        *document(0, 30),
        EOS,
        0,
    ]
    packer = GreedyPacker(8, EOS)
    given_out = [*packer.add(document(0, 30)), *packer.flush()]
    assert [row.input_ids.tolist() for row in given_out] == [r["input_ids"].tolist() for r in rows]


def test_d2_first_fit_rows_have_the_length_of_a_row() -> None:
    for row in pack(documents([8, 7, 9, 20]), 8, strategy="first_fit"):
        assert {len(values) for values in row.values()} == {8}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_d3_every_row_has_the_same_fields(strategy: Any) -> None:
    rows = pack(documents([5, 8, 2, 19, 3]), 8, strategy=strategy)
    names = {"input_ids", "attention_mask", "position_ids", "segment_ids"}
    assert all(set(row) == names for row in rows)


def test_d10_packed_and_mixed_sources_name_their_shard() -> None:
    packed = PackedShardedSource(documents([3]), 8, EOS)
    assert packed.shard_names == ["packed_shard_0"]
    with pytest.raises(KeyError, match="packed_shard_0"):
        next(packed.open_shard("rows"))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_d21_every_document_is_closed_and_the_tail_is_kept(strategy: Any) -> None:
    rows = pack(documents([8, 16, 24, 1]), 8, strategy=strategy)
    assert sum(row["input_ids"].tolist().count(EOS) for row in rows) == 4


def test_a_document_that_ends_in_eos_gets_no_second() -> None:
    rows = pack(Rows([{"input_ids": [5, EOS]}, {"input_ids": [6]}, {"input_ids": [EOS]}]), 6)
    assert [row["input_ids"].tolist() for row in rows] == [[5, EOS, 6, EOS, EOS, 0]]
    assert rows[0]["segment_ids"].tolist() == [0, 0, 1, 1, 2, 3]


def test_d31_shuffles_leave_the_process_random_state_alone() -> None:
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    first = pack(documents([5] * 400), 8, shuffle=True, seed=3)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    random.seed(2)
    second = pack(documents([5] * 400), 8, shuffle=True, seed=3)
    assert all((a["input_ids"] == b["input_ids"]).all() for a, b in zip(first, second, strict=True))


def test_d32_packed_rows_have_an_order_per_epoch() -> None:
    packed = PackedShardedSource(documents([7] * 300), 8, EOS, seed=1, shuffle_buffer_factor=1)

    def orders() -> tuple[list[int], list[int]]:
        firsts = [row["input_ids"][0] for row in loaded_rows(packed, epochs=2)]
        return firsts[:300], firsts[300:]

    plain = [row["input_ids"][0] for row in pack(documents([7] * 300), 8)]
    first, second = orders()
    assert first != second
    assert first != plain
    assert orders() == (first, second)
    for window in range(3):
        part = slice(100 * window, 100 * (window + 1))
        assert sorted(first[part]) == sorted(plain[part])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_token_fields_are_cut_like_the_tokens(strategy: Any) -> None:
    rows = [
        {
            "input_ids": document(d, length),
            "labels": [-token for token in document(d, length)],
            "completion_mask": [index % 2 for index in range(length)],
            "text": "left behind",
        }
        for d, length in enumerate([5, 11, 3, 20])
    ]
    for row in pack(Rows(rows), 8, strategy=strategy):
        assert set(row) == {
            "input_ids",
            "attention_mask",
            "position_ids",
            "segment_ids",
            "labels",
            "completion_mask",
        }
        for index in range(8):
            token, label = row["input_ids"][index], row["labels"][index]
            if not row["attention_mask"][index]:
                assert (label, row["completion_mask"][index]) == (-100, 0)
            elif token == EOS:
                assert label == EOS
                if index > 0:  # it is trained on as the token before it
                    assert row["completion_mask"][index] == row["completion_mask"][index - 1]
            else:
                assert label == -token


def test_token_fields_can_be_named() -> None:
    rows = Rows([{"input_ids": [1, 2], "labels": [3, 4], "weights": [0, 1]}])
    assert "labels" not in pack(rows, 4, token_fields=["weights"])[0]
    assert pack(rows, 4, token_fields=["weights"])[0]["weights"].tolist() == [0, 1, 1, 0]
    assert set(pack(rows, 4, token_fields=[])[0]) == {
        "input_ids",
        "attention_mask",
        "position_ids",
        "segment_ids",
    }


def test_input_field_names_the_tokens() -> None:
    row = pack(Rows([{"ids": [1, 2]}]), 4, input_field="ids")[0]
    assert row["input_ids"].tolist() == [1, 2, EOS, 0]


def test_loaders_batches_are_the_packers_memory() -> None:
    packed = PackedShardedSource(documents([7] * 64), 8, EOS, shuffle=False)
    rows = [batch["input_ids"] for batch in AsyncDataLoader(packed, batch_size=4)]
    assert [row.tolist() for batch in rows for row in batch] == [
        row["input_ids"].tolist() for row in pack(documents([7] * 64), 8)
    ]
    assert not any(batch.flags.owndata for batch in rows)


def test_rows_in_memory_are_packed() -> None:
    rows: Any = [{"input_ids": [1, 2]}, {"input_ids": [3]}]
    assert [row["input_ids"].tolist() for row in pack(rows, 5)] == [[1, 2, EOS, 3, EOS]]


def test_mixed_sources_are_packed() -> None:
    mixed = MixedShardedSource(
        {"a": documents([3, 4]), "b": documents([5, 6])},
        block_size=2,
        stop_strategy="first_exhausted",
    )
    rows = pack(mixed, 64)
    assert len(segments(rows[0])) == 4


def test_overlong_documents_can_be_an_error() -> None:
    with pytest.raises(ValueError, match=r"rows row 1: the document does not fit .* 8"):
        pack(documents([3, 8]), 8, overlong="error")


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match=r'strategy: must be one of "greedy", .*"grain_concat"'):
        PackedShardedSource(documents([1]), 8, EOS, strategy="wost")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="overlong: must be one of"):
        PackedShardedSource(documents([1]), 8, EOS, overlong="wrap")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seq_length: must be at least 2"):
        PackedShardedSource(documents([1]), 1, EOS)
    with pytest.raises(ValueError, match="shuffle_buffer_factor"):
        PackedShardedSource(documents([1]), 8, EOS, shuffle_buffer_factor=0)
    with pytest.raises(ValueError, match=r"^balance_groups: must be at least 1, not 0$"):
        PackedShardedSource(documents([1]), 8, EOS, balance_groups=0)
    with pytest.raises(TypeError, match="not known before"):
        len(PackedShardedSource(documents([1]), 8, EOS))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("shuffled", [False, True])
def test_documents_packed_where_they_were_read_are_as_those_that_were_copied(
    shuffled: bool, strategy: Any, tmp_path: Path
) -> None:
    """Tokens of several types, a column that one source lacks and one that has nulls."""
    random = np.random.default_rng(3)
    sources: dict[str, ShardedDataSource[Any]] = {}
    for index, (name, kind) in enumerate(
        {
            "a": pa.list_(pa.int32()),
            "b": pa.large_list(pa.int64()),
            "c": pa.list_(pa.uint16()),
        }.items()
    ):
        rows = [document(100 * index + n, int(random.integers(1, 30))) for n in range(70)]
        columns = {"input_ids": pa.array(rows, kind)}
        if name != "b":
            masks = [[n % 2 for n in row] if len(row) % 3 else None for row in rows]
            columns["loss_mask"] = pa.array(masks, pa.list_(pa.int8()))
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", row_group_size=9)
        source: ShardedDataSource[Any] = ParquetShardedSource(str(tmp_path / f"{name}.parquet"))
        sources[name] = source.shuffle("rows", 2, window_bytes=3000) if shuffled else source
    weights = {"a": 0.5, "b": 0.3, "c": 0.2}
    mix = MixedShardedSource(sources, weights, block_size=10, stop_strategy="all_exhausted")
    options = {"strategy": strategy, "pack_window": 20}
    for whole in (mix, sources["a"]):
        # Rows that go through Python are copied on the way.
        copied = pack(whole.map(dict), 64, **options)
        assert len(copied) > 10
        for row, other in zip(pack(whole, 64, **options), copied, strict=True):
            assert row.keys() == other.keys() >= {"loss_mask", "position_ids"}
            assert all(np.array_equal(row[key], other[key]) for key in row)


@pytest.mark.parametrize("packer", [GreedyPacker, PoolPacker, FirstFitPacker])
def test_packers_give_the_sources_rows(packer: Any) -> None:
    lengths = [5, 0, 9, 3, 17, 2, 2, 2, 8, 30]
    strategy = {GreedyPacker: "greedy", PoolPacker: "pool", FirstFitPacker: "first_fit"}[packer]
    made = packer(8, EOS)
    rows = []
    for number, length in enumerate(lengths):
        rows += made.add(document(number, length), source_id=f"doc-{number}")
    rows += made.flush()
    expected = pack(documents(lengths), 8, strategy=strategy)
    assert [row.input_ids.tolist() for row in rows] == [r["input_ids"].tolist() for r in expected]
    for row, other in zip(rows, expected, strict=True):
        assert set(row.to_dict()) == set(other)
        for name, values in row.to_dict().items():
            assert values.tolist() == other[name].tolist()
        assert len(row.source_ids) == len(segments(other))
        for source_id, tokens in zip(row.source_ids, segments(other), strict=True):
            number = int(source_id.removeprefix("doc-"))
            closed = [*document(number, lengths[number]), EOS]
            assert any(
                closed[i : i + len(tokens)] == tokens for i in range(len(closed) - len(tokens) + 1)
            )
    assert made.flush() == []


def test_packers_take_arrays_and_can_leave_segments_out() -> None:
    packer = GreedyPacker(4, EOS, include_segment_ids=False)
    (row,) = [*packer.add(np.array([1, 2], dtype=np.int64)), *packer.flush()]
    assert row.segment_ids is None
    assert row.input_ids.tolist() == [1, 2, EOS, 0]
    assert row.source_ids is None


def test_d21_pre_tokenized_samples_are_packed_whole_and_again() -> None:
    samples = [{"tokens": document(d, 5)} for d in range(7)]
    rows = pack_pre_tokenized(samples, 8, EOS, shuffle=False)
    first = [row["input_ids"].tolist() for row in rows()]
    expected = [token for d in range(7) for token in [*document(d, 5), EOS]]
    assert [token for row in first for token in row][: len(expected)] == expected
    assert [row["input_ids"].tolist() for row in rows()] == first
    shuffled = pack_pre_tokenized(samples, 8, EOS, seed=5)
    order = [row["input_ids"].tolist() for row in shuffled()]
    assert sorted(order) == sorted(first)
    assert order != first
    assert [row["input_ids"].tolist() for row in shuffled()] == order
    windows = pack_pre_tokenized(samples, 8, EOS, batch_size=2, buffer_factor=1, seed=5)
    pairs = [row["input_ids"].tolist() for row in windows()]
    assert [sorted(pairs[k : k + 2]) for k in (0, 2)] == [sorted(first[k : k + 2]) for k in (0, 2)]
    named = [{"ids": document(d, 5)} for d in range(7)]
    other = pack_pre_tokenized(named, 8, EOS, shuffle=False, tokens_field="ids")
    assert [row["input_ids"].tolist() for row in other()] == first


def test_pack_constant_length_tokenizes_on_the_way() -> None:
    rows = pack_constant_length(
        ["ab", "c"], lambda text: [ord(c) for c in text], 8, 0, shuffle=False
    )
    assert [row["input_ids"].tolist() for row in rows()] == [[97, 98, 0, 99, 0, 0, 0, 0]]


def test_a_closing_token_is_one_of_the_tokenizer(tmp_path: Path) -> None:  # C13
    tokenizer = small_tokenizer(tmp_path / "tokenizer")
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "some words"}) + "\n")
    tokens = TokenizedShardedSource(
        JsonShardedSource(path), Tokenizer(tokenizer), TokenizerConfig(tokenizer)
    )
    said = "eos_token_id: 257 is no id of the tokenizer: its ids end at 256"
    for source in (tokens, MixedShardedSource({"a": tokens, "b": tokens})):
        with pytest.raises(ValueError, match=said):
            PackedShardedSource(source, 8, 257)
        with pytest.raises(ValueError, match="pad_token_id: 257 is no id of the tokenizer"):
            PackedShardedSource(source, 8, 256, 257)
    config = PipelineConfig(
        [DatasetConfig(str(path), tokenizer=tokenizer)],
        pack=PackStageConfig(enabled=True, seq_length=8, eos_token_id=257),
    )
    with pytest.raises(ValueError, match=said):
        Pipeline.from_config(config).source().tokenize().pack().build()
    # Of tokens that come from elsewhere nothing is known.
    assert PackedShardedSource(HFDatasetShardedSource([{"input_ids": [1]}]), 8, 257)
