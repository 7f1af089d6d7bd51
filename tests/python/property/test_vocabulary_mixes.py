"""Random mixes of tokens of several tokenizers, configured or stored, packed, padded and resumed.

EOS, pad and limit are right, or an error that names the tokenizers comes.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from data_folders import OWN, SHARED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from python_rows import Rows

from easydata import (
    AsyncDataLoader,
    DatasetConfig,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    ShardedDataSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
)

FOLDERS = {name: OWN / "tokenizers" / name for name in ("byte-level", "metaspace", "split")}
if SHARED.is_dir():
    FOLDERS["tiny-bytelevel"] = SHARED / "data" / "tokenizers" / "tiny-bytelevel"
WORDS = ["the cat", "met", "the fox by the river", "again and again", "x", "one more line here"]


@dataclass(frozen=True)
class Input:
    """A source of the mix: how its tokens come, and of which tokenizer."""

    tokenizer: str
    kind: str  # "configured", "stored", "unknown"
    documents: int


inputs = st.lists(
    st.builds(
        Input,
        st.sampled_from(sorted(FOLDERS)),
        st.sampled_from(["configured", "configured", "stored", "unknown"]),
        st.integers(2, 5),
    ),
    min_size=2,
    max_size=4,
)


@pytest.fixture(scope="module")
def outputs() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def texts(index: int, count: int) -> list[str]:
    return [f"{WORDS[(index + n) % len(WORDS)]} {index}" for n in range(count)]


def encoded(one: Input, index: int) -> list[list[int]]:
    made = Tokenizer(FOLDERS[one.tokenizer])
    return [made.encode(text, False).tolist() for text in texts(index, one.documents)]


def source_of(one: Input, index: int, outputs: Path) -> ShardedDataSource[Any]:
    if one.kind == "unknown":
        return Rows([{"input_ids": ids} for ids in encoded(one, index)])
    rows = [{"text": text} for text in texts(index, one.documents)]
    folder = str(FOLDERS[one.tokenizer])
    tokenizer = TokenizerConfig(folder, add_special_tokens=False)
    if one.kind == "configured":
        return TokenizedShardedSource(Rows(rows), folder, tokenizer)
    path = outputs / f"{one.tokenizer}-{index}-{one.documents}"
    if not path.exists():
        config = PipelineConfig(
            [DatasetConfig(rows, tokenizer=tokenizer)], save=SaveStageConfig(output_dir=str(path))
        )
        Pipeline.from_config(config).source().tokenize().save().build()
    return ParquetShardedSource(str(path))


def must_be_refused(mix: list[Input], *, allowed: bool, eos: int | None) -> str | None:
    """What the error says that must come; None: none may."""
    known = [one for one in mix if one.kind != "unknown"]
    differ = [
        (one, other)
        for one, other in itertools.combinations(known, 2)
        if one.tokenizer != other.tokenizer and "stored" in (one.kind, other.kind)
    ]
    if differ and not allowed:
        # An id that is named is judged before a file is asked.
        return "have tokens of two tokenizers" + ("|packing: eos_token_id" if eos else "")
    if eos is None:
        return "must be named" if len(known) < len(mix) else None
    if known and eos >= max(Tokenizer(FOLDERS[one.tokenizer]).id_limit for one in known):
        return "is no id of the tokenizer"
    for one in known:
        made = Tokenizer(FOLDERS[one.tokenizer])
        if eos < made.id_limit and made.id_to_token(eos) not in made.special_tokens.values():
            return "is an ordinary token"
    return None


@given(
    mix=inputs,
    allowed=st.booleans(),
    strategy=st.sampled_from(["greedy", "pool", "first_fit", "best_fit"]),
    eos=st.sampled_from([None, None, None, 2, 40, 5_000_000]),
    stopped=st.integers(0, 3),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_every_document_keeps_its_own_meaning(
    outputs: Path, mix: list[Input], allowed: bool, strategy: Any, eos: int | None, stopped: int
) -> None:
    named = {f"s{index}": source_of(one, index, outputs) for index, one in enumerate(mix)}
    mixed = MixedShardedSource(
        named, stop_strategy="all_exhausted", block_size=4, allow_vocabularies=allowed
    )

    def loader() -> AsyncDataLoader:
        packed = PackedShardedSource(mixed, 24, eos, strategy=strategy, shuffle=False)
        return AsyncDataLoader(packed, batch_size=1, drop_last=False)

    said = must_be_refused(mix, allowed=allowed, eos=eos)
    if said is not None:
        with pytest.raises(ValueError, match=said):
            loader()
        return
    with loader() as whole:
        rows = [{name: column[0].tolist() for name, column in batch.items()} for batch in whole]
    # Resumed in the middle, the rest is the same.
    with loader() as first:
        for _ in range(min(stopped, len(rows))):
            next(iter(first))
        state = first.state_dict()
    with loader() as second:
        second.load_state_dict(state)
        rest = [{name: column[0].tolist() for name, column in batch.items()} for batch in second]
    assert rest == rows[min(stopped, len(rows)) :]
    check(rows, mix, eos, strategy)


def check(rows: list[dict[str, Any]], mix: list[Input], eos: int | None, strategy: str) -> None:
    pad = next((pad_of(one) for one in mix if one.kind != "unknown"), 0)
    expected = set()
    for index, one in enumerate(mix):
        end = Tokenizer(FOLDERS[one.tokenizer]).eos_token_id if eos is None else eos
        for document in encoded(one, index):
            expected.add((*document, *(() if document[-1] == end else (end,))))
    pieces: list[tuple[int, ...]] = []
    for row in rows:
        mask, segments = row["attention_mask"], row["segment_ids"]
        assert {t for t, m in zip(row["input_ids"], mask, strict=True) if not m} <= {pad}
        for _, piece in itertools.groupby(range(sum(mask)), key=lambda i: segments[i]):
            pieces.append(tuple(row["input_ids"][i] for i in piece))
    if strategy == "greedy":  # a document goes on in the next row
        assert is_made_of([token for piece in pieces for token in piece], expected)
    elif strategy == "pool":
        assert all(any(is_part(piece, whole) for whole in expected) for piece in pieces)
    else:
        assert set(pieces) <= expected


def is_made_of(tokens: list[int], documents: set[tuple[int, ...]]) -> bool:
    """Whether documents, one after the other, make these tokens."""
    reached = {0}
    for at in range(len(tokens)):
        if at in reached:
            reached |= {
                at + len(each) for each in documents if tuple(tokens[at : at + len(each)]) == each
            }
    return len(tokens) in reached


def is_part(piece: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    return any(whole[at : at + len(piece)] == piece for at in range(len(whole)))


def pad_of(one: Input) -> int:
    made = Tokenizer(FOLDERS[one.tokenizer])
    pad = made.pad_token_id if made.pad_token_id is not None else made.eos_token_id
    assert pad is not None
    return pad
