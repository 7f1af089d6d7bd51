"""What a pipeline must give, worked out slowly and literally."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from batches import Batch
from build_pipeline import Data, Document, beside, documents_of, left_out_of_files
from pipeline_specs import (
    DOCUMENTS_PER_SOURCE,
    EOS,
    FIRST_ID,
    PAD,
    STRIDE,
    MixSpec,
    PackSpec,
    PipelineSpec,
    SourceSpec,
)

Tokens = tuple[int, ...]


def is_exact(spec: SourceSpec) -> bool:
    """Whether every pass has the same rows: a limit behind a shuffle takes others each time."""
    return spec.limit is None or spec.shuffle is None or spec.shuffle[3] == "behind"


def rows_of_pass(spec: SourceSpec, *, whole: bool = False) -> list[Document]:
    """The rows of a pass in front of the tokenizer, unshuffled; `whole`: without the limit."""
    limit, where = (None, None) if spec.limit is None or whole else spec.limit
    rows = documents_of(spec)
    if where == "before":
        rows = rows[:limit]
    for step, by in spec.steps:
        if step == "keep":
            rows = [row for row in rows if len(row.ids or ()) % by]
        elif step == "expand":
            rows = [half for row in rows for half in halves(row, by)]
    return rows[:limit] if where == "behind" else rows


def halves(row: Document, by: int) -> list[Document]:
    size = len(row.ids or ())
    if size % by == 1:
        return []
    if row.ids is None:
        return [row, row]
    half = -(-size // 2)
    return [Document(row.number, row.ids[:half]), Document(row.number, row.ids[half:])]


def tokens_of_pass(spec: SourceSpec, data: Data, *, whole: bool = False) -> list[Tokens]:
    """The documents of a pass in front of the mix or packer; those without a text are skipped."""
    rows = rows_of_pass(spec, whole=whole)
    return [data.tokens(spec, row.ids) for row in rows if row.ids is not None]


def left_out_rows(spec: SourceSpec) -> set[tuple[str, int]]:
    """(file, row) of the rows of files that come to nothing in a pass, and are put aside."""
    nulls = {row.number for row in rows_of_pass(spec) if row.ids is None}
    return left_out_of_files(spec, nulls)


def cut_documents(spec: SourceSpec, data: Data) -> int:
    """Documents that tokenizing cuts to max_length."""
    uncut = replace(spec, max_length=2**30)
    return sum(len(tokens) > spec.max_length for tokens in tokens_of_pass(uncut, data))


def is_overlong(tokens: Tokens, spec: PackSpec) -> bool:
    return bool(tokens) and len(closed(tokens, spec)) > spec.seq_length


def closed(tokens: Tokens, spec: PackSpec) -> Tokens:
    return tokens if tokens[-1] == EOS or not spec.adds_eos else (*tokens, EOS)


def packed_document(tokens: Tokens, spec: PackSpec) -> Tokens:
    """What a packer puts into rows of a document."""
    if not tokens or (is_overlong(tokens, spec) and spec.overlong == "drop"):
        return ()
    whole = closed(tokens, spec)
    if is_overlong(tokens, spec) and spec.overlong == "truncate":
        if spec.adds_eos:
            return (*whole[: spec.seq_length - 1], EOS)
        return whole[: spec.seq_length]
    return whole


def ends_in_error(spec: PackSpec) -> bool:
    """Whether a document that is longer than a row is an error."""
    cannot_split = spec.strategy in ("grain_first_fit", "grain_best_fit")
    return spec.overlong == "error" or (cannot_split and spec.overlong == "split")


def greedy_rows(documents: Sequence[Tokens], seq_length: int) -> list[Tokens]:
    """Documents end to end, cut into rows; padding fills the last."""
    flat = [token for document in documents for token in document]
    rows = [flat[start : start + seq_length] for start in range(0, len(flat), seq_length)]
    return [(*row, *[PAD] * (seq_length - len(row))) for row in rows]


def weights_at(mix: MixSpec, step: float) -> list[float]:
    """The weights of a schedule at a step, as shares of 1."""
    points = [(at, [w / math.fsum(weights) for w in weights]) for at, weights in mix.points]
    if step <= points[0][0]:
        return points[0][1]
    for (start, before), (end, after) in itertools.pairwise(points):
        if step < end:
            part = (step - start) / (end - start)
            if mix.interpolation == "step":
                return before
            if mix.interpolation == "cosine":
                part = (1 - math.cos(math.pi * part)) / 2
            return [a + (b - a) * part for a, b in zip(before, after, strict=True)]
    return points[-1][1]


# ---- what came -----------------------------------------------------------------------------------


def plain_rows(batch: Batch, spec: PipelineSpec) -> list[Tokens]:
    """The token lists of an unpacked batch; padding is taken off."""
    pad = spec.load.pad_of("input_ids").value
    return [tuple(int(t) for t in row[row != pad]) for row in batch["input_ids"]]


def check_padded_rows(batch: Batch, spec: PipelineSpec) -> None:
    """Each row of each column of lists is what goes with its tokens, padded as its PadSpec says."""
    rows = plain_rows(batch, spec)
    wanted: dict[str, list[list[int]]] = {"input_ids": [list(tokens) for tokens in rows]}
    for name in spec.fields:
        wanted[name] = [[beside(name, token) for token in tokens] for tokens in rows]
    if "attention_mask" in batch:
        wanted["attention_mask"] = [[1] * len(tokens) for tokens in rows]
    for name, values in wanted.items():
        pad = spec.load.pad_of(name)
        width = max(map(len, rows)) if pad.length is None else pad.length
        filling = [[int(pad.value)] * (width - len(row)) for row in values]
        if pad.side == "left":
            expected = [fill + row for fill, row in zip(filling, values, strict=True)]
        else:
            expected = [row + fill for fill, row in zip(filling, values, strict=True)]
        assert batch[name].tolist() == expected, f"{name}, padded by {pad}"


def tokens_by_source(spec: PipelineSpec, batches: Sequence[Batch]) -> list[list[int]]:
    """The traced tokens of each source, in the order in which they came."""
    made: list[list[int]] = [[] for _ in spec.sources]
    for batch in batches:
        for row in batch["input_ids"].tolist():
            for token in row:
                if token >= FIRST_ID:
                    made[(token - FIRST_ID) // STRIDE // DOCUMENTS_PER_SOURCE].append(token)
    return made


def sources_of(batch: Batch) -> list[str]:
    return [str(name) for name in batch["__source__"]]


def token_counts(batches: Sequence[Batch]) -> Counter[int]:
    """Tokens of packed batches, EOS included, padding not."""
    counts: Counter[int] = Counter()
    for batch in batches:
        counts.update(batch["input_ids"][batch["attention_mask"] == 1].tolist())
    return counts


def beside_tokens(
    name: str, tokens: list[int], position: list[int], values: list[int]
) -> list[int]:
    """What goes with the tokens of a packed row; `values` are its own.

    A closing EOS is trained on where the token before it is. Of one that a document's last part
    has alone, that token is in another row: there it is either.
    """
    wanted = []
    for index, token in enumerate(tokens):
        if token != EOS:
            wanted.append(beside(name, token))
        elif name == "labels":
            wanted.append(EOS)
        elif position[index] > 0:
            wanted.append(beside(name, tokens[index - 1]))
        else:
            assert values[index] in (0, 1)
            wanted.append(values[index])
    return wanted


def check_packed_rows(batch: Batch, spec: PipelineSpec) -> None:
    """Rows of a packer are well formed, whatever is in them."""
    pack = spec.pack
    assert pack is not None
    ids, mask, positions = batch["input_ids"], batch["attention_mask"], batch["position_ids"]
    assert ("segment_ids" in batch) == pack.include_segment_ids
    for name in spec.fields:
        assert name in batch
    assert all(array.dtype == np.int32 for array in batch.values())
    assert all(array.shape == (len(ids), pack.seq_length) for array in batch.values())
    for row in range(len(ids)):
        length = int(mask[row].sum())
        assert mask[row].tolist() == [1] * length + [0] * (pack.seq_length - length)
        assert not ids[row, length:].any()
        tokens, position = ids[row, :length], positions[row, :length]
        starts = np.flatnonzero(position == 0)
        assert length == 0 or starts[0] == 0
        expected = np.arange(length) - np.repeat(starts, np.diff([*starts, length]))
        assert position.tolist() == expected.tolist()
        if pack.include_segment_ids:
            segments = batch["segment_ids"][row]
            assert segments[:length].tolist() == (np.cumsum(position == 0) - 1).tolist()
            assert (segments[length:] == len(starts)).all()
        for segment in np.split(tokens, starts[1:]):
            ends = np.flatnonzero(segment == EOS)
            assert pack.adds_eos or not len(ends)
            assert len(ends) == 0 or ends.tolist() == [len(segment) - 1]
            if spec.traced and len(segment):
                body = segment[segment != EOS]
                assert (np.diff(body) == 1).all(), f"a segment of several documents: {segment}"
        for name in spec.fields:
            values = batch[name][row]
            wanted = beside_tokens(name, tokens.tolist(), position.tolist(), values.tolist())
            assert values[:length].tolist() == wanted
            assert (values[length:] == (-100 if name == "labels" else 0)).all()


def grain_picks(mix: MixSpec) -> Iterator[int]:
    """The source of each row in Grain's order, by its index; Grain's rule in its own words."""
    weights = mix.points[0][1]
    scale = 100 / min(weights)
    shares = [int(weight * scale) for weight in weights]
    row = 0
    while True:
        before, behind, left = row, row + 1, sum(shares)
        for index, share in enumerate(shares):
            rest = before * (left - share) // left, behind * (left - share) // left
            if before - rest[0] != behind - rest[1]:
                yield index
                break
            (before, behind), left = rest, left - share
        row += 1


def blocks(mix: MixSpec, rows_per_step: int) -> Iterator[list[float]]:
    """Each source's share of examples up to the end of each block."""
    total = [0.0] * len(mix.points[0][1])
    block = 0
    while True:
        start = block * mix.block_size
        scheduled = len(mix.points) > 1 and mix.schedule_unit == "steps"
        shares = weights_at(mix, start // rows_per_step if scheduled else start)
        total = [sum_ + share * mix.block_size for sum_, share in zip(total, shares, strict=True)]
        yield total
        block += 1
