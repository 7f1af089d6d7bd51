"""What is in a batch of tokens, for people to look at: text, and where it comes from."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from easydata.core.shown_text import shown

if TYPE_CHECKING:
    from easydata.tokenizers.tokenizer import Tokenizer

# Segments side by side never share a colour: rich's names, and those of HTML.
COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")
_HTML_COLOURS = ("#0aa5c0", "#b8860b", "#2e8b57", "#b0479b", "#4169e1", "#c0392b")
_IGNORED_LABEL = -100
_MASKS = ("loss_mask", "completion_mask", "assistant_masks")
_NO_SOURCES = "where the segments come from is told with pack(segment_sources=True)"
# Characters of a segment's text.
_WIDTH = 150


@dataclass(frozen=True)
class Segment:
    """A part of a row that comes from one document.

    Attributes:
        begin: its first token in the row.
        end: the token after its last.
        text: its tokens as text; None where no tokenizer is known.
        trained: how many of its tokens are trained on; None where all are.
        source: the dataset that it comes from; None where the rows do not tell.
        file: the file, or what else of the dataset has rows.
        row: the row of the file, from 0.
        offset: tokens of its document in the rows before.
    """

    begin: int
    end: int
    text: str | None = None
    trained: int | None = None
    source: str | None = None
    file: str | None = None
    row: int | None = None
    offset: int | None = None

    @property
    def tokens(self) -> int:
        """How many tokens it has."""
        return self.end - self.begin

    def where(self) -> str:
        """Where it comes from, in words; "" where that is not known."""
        told = [shown(each) for each in (self.source, self.file) if each]
        if self.row is not None:
            told.append(f"row {self.row:,}")
        if self.offset:
            told.append(f"from token {self.offset:,}")
        return " ".join(told)


@dataclass(frozen=True)
class DescribedRow:
    """A row of a batch.

    Attributes:
        number: which row of the batch it is.
        segments: its documents, in order.
        padding: tokens that fill it up.
    """

    number: int
    segments: list[Segment]
    padding: int


@dataclass(frozen=True)
class BatchDescription:
    """What is in a batch. Printed, it shows its first rows with their text.

    Attributes:
        rows: the first rows.
        num_rows: all rows of the batch.
        row_tokens: tokens of a row, with padding.
        padding: tokens of all rows that are padding.
        columns: of each column its shape and type.
        notes: what is to be said of it.
    """

    rows: list[DescribedRow]
    num_rows: int
    row_tokens: int
    padding: int
    columns: dict[str, str]
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts and lists, for JSON."""
        return asdict(self)

    def summary(self) -> str:
        """How many rows and tokens there are."""
        rows = "1 row" if self.num_rows == 1 else f"{self.num_rows:,} rows"
        tokens = self.num_rows * self.row_tokens
        share = 100 * self.padding / tokens if tokens else 0.0
        return f"{rows} of {self.row_tokens:,} tokens, {share:.1f} % padding"

    def __repr__(self) -> str:
        return f"<batch: {self.summary()}; print it to see its text>"

    def __str__(self) -> str:
        return "\n".join(line.plain for line in self.lines())

    def lines(self, width: int = _WIDTH) -> Iterator[Text]:
        """The text to show.

        Args:
            width: Characters of a segment's text.
        """
        yield Text(self.summary(), style="bold")
        for row in self.rows:
            yield from self.lines_of(row, width)
        if len(self.rows) < self.num_rows:
            yield Text(f"... and {self.num_rows - len(self.rows):,} rows more", style="dim")
        for note in self.notes:
            yield Text(note, style="dim")

    def lines_of(self, row: DescribedRow, width: int = _WIDTH) -> Iterator[Text]:
        """The text of a row."""
        count = "1 segment" if len(row.segments) == 1 else f"{len(row.segments)} segments"
        padding = f", {row.padding:,} padding" if row.padding else ""
        yield Text(f"row {row.number}: {self.row_tokens:,} tokens, {count}{padding}", style="bold")
        for number, segment in enumerate(row.segments):
            line = Text(f"  {number} ", style="dim")
            where = segment.where()
            if where:
                line.append(f"{where}: ", style=COLOURS[number % len(COLOURS)])
            yield line.append(_counts(segment), style="dim")
            if segment.text is not None:
                yield Text("    ").append(
                    _one_line(segment.text, width), style=COLOURS[number % len(COLOURS)]
                )

    def _repr_html_(self) -> str:
        left = "text-align:left;vertical-align:top;padding:2px 8px"
        lines = []
        for row in self.rows:
            about = f"row {row.number}" + (f", {row.padding:,} padding" if row.padding else "")
            lines.append(f'<tr><th colspan="3" style="{left}">{about}</th></tr>')
            for number, segment in enumerate(row.segments):
                colour = _HTML_COLOURS[number % len(_HTML_COLOURS)]
                text = "" if segment.text is None else _one_line(segment.text, 4 * _WIDTH)
                cells = "".join(
                    f'<td style="{left}">{html.escape(cell)}</td>'
                    for cell in (segment.where(), _counts(segment), text)
                )
                lines.append(f'<tr style="border-left:4px solid {colour}">{cells}</tr>')
        more = self.num_rows - len(self.rows)
        notes = [f"... and {more:,} rows more"] if more > 0 else []
        said = "".join(f"<p>{html.escape(note)}</p>" for note in [*notes, *self.notes])
        return (
            '<table style="border-collapse:collapse">'
            f'<caption style="{left}">{html.escape(self.summary())}</caption>'
            f"{''.join(lines)}</table>{said}"
        )


def describe_batch(
    batch: Mapping[str, Any], tokenizers: Sequence[Tokenizer] = (), rows: int = 2
) -> BatchDescription:
    """Looks at a batch of tokens, packed or padded.

    Args:
        batch: `{column: array [rows, tokens]}`, as a loader gives it.
        tokenizers: What tokens are made text by; several where they are known to differ: then
            there is no text.
        rows: How many rows are shown.

    Raises:
        ValueError: No column of the batch has tokens.
    """
    columns = {name: _shape(values) for name, values in batch.items()}
    name = _token_column(batch)
    ids = np.asarray(batch[name])
    notes = []
    tokenizer = None
    if len({each.fingerprint for each in tokenizers}) > 1:
        notes.append("the tokens are of several tokenizers: give tokenizer= to see text")
    elif tokenizers:
        tokenizer = tokenizers[0]
    else:
        notes.append("no tokenizer is known: give tokenizer= to see text")
    is_packed = "segment_ids" in batch or "position_ids" in batch
    if is_packed and "segment_sources" not in batch:
        notes.append(_NO_SOURCES)
    kept = _kept(batch, name, ids)
    described = [_row(batch, ids, kept, number, tokenizer) for number in range(min(rows, len(ids)))]
    return BatchDescription(
        described,
        len(ids),
        ids.shape[1],
        int(ids.size - np.count_nonzero(kept)),
        columns,
        notes,
    )


def _token_column(batch: Mapping[str, Any]) -> str:
    names = sorted(batch, key=lambda name: (name != "input_ids", not name.endswith("input_ids")))
    for name in names:
        is_of_tokens = name.endswith("ids") and name not in ("segment_ids", "position_ids")
        if is_of_tokens and np.ndim(batch[name]) == 2:
            return name
    raise ValueError(
        "the batch has no column of tokens, as input_ids is: there is nothing to describe; its "
        f"columns are {', '.join(batch) or 'none'}"
    )


def _shape(values: Any) -> str:
    if hasattr(values, "shape") and hasattr(values, "dtype"):
        return f"{values.dtype} {tuple(values.shape)}"
    return f"{type(values).__name__} of {len(values):,}"


def _kept(batch: Mapping[str, Any], name: str, ids: Any) -> Any:
    """Which tokens are no padding."""
    mask = batch.get(name.replace("input_ids", "attention_mask"))
    if mask is not None:
        return np.not_equal(mask, 0)
    if "segment_ids" in batch:  # of Grain's packers, which number from 1
        return np.not_equal(batch["segment_ids"], 0)
    return np.ones(ids.shape, bool)


def _row(
    batch: Mapping[str, Any],
    ids: Any,
    kept: Any,
    number: int,
    tokenizer: Tokenizer | None,
) -> DescribedRow:
    length = ids.shape[1]
    begins = np.zeros(length, bool)
    begins[:1] = True
    begins[1:] |= kept[number][1:] != kept[number][:-1]
    if "segment_ids" in batch:
        marks = np.asarray(batch["segment_ids"][number])
        begins[1:] |= marks[1:] != marks[:-1]
    elif "position_ids" in batch:
        begins |= np.asarray(batch["position_ids"][number]) == 0
    edges = [*np.flatnonzero(begins).tolist(), length]
    trained = _trained(batch, number)
    sources = batch["segment_sources"][number] if "segment_sources" in batch else None
    segments: list[Segment] = []
    for begin, end in itertools.pairwise(edges):
        if not kept[number][begin]:
            continue
        told: dict[str, Any] = {}
        if sources is not None and len(segments) < len(sources):
            told = dict(sources[len(segments)])
        elif "__source__" in batch:
            told = {"source": batch["__source__"][number]}
        segments.append(
            Segment(
                begin,
                end,
                None if tokenizer is None else tokenizer.decode(ids[number][begin:end].tolist()),
                None if trained is None else int(np.count_nonzero(trained[begin:end])),
                **told,
            )
        )
    return DescribedRow(number, segments, int(length - np.count_nonzero(kept[number])))


def _trained(batch: Mapping[str, Any], number: int) -> Any | None:
    """Which tokens of a row are trained on, where that is said."""
    if "labels" in batch and np.ndim(batch["labels"]) == 2:
        return np.not_equal(batch["labels"][number], _IGNORED_LABEL)
    masks = [np.asarray(batch[name][number]) != 0 for name in _MASKS if name in batch]
    return np.logical_and.reduce(masks) if masks else None


def _counts(segment: Segment) -> str:
    tokens = "1 token" if segment.tokens == 1 else f"{segment.tokens:,} tokens"
    if segment.trained is None or segment.trained == segment.tokens:
        return tokens
    return f"{tokens}, {segment.trained:,} trained"


def _one_line(text: str, width: int) -> str:
    """The text in a line, its middle left out where it is long."""
    text = shown(text.replace("\n", "⏎"))
    if len(text) <= width:
        return text
    end = width // 3
    return f"{text[: width - end - 5]} ... {text[-end:]}"
