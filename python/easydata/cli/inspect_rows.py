"""`easydata inspect`: rows as they are in the files, tokens with their documents' boundaries."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from easydata.cli.report import Report
from easydata.core.config import DatasetConfig
from easydata.reports.batch_description import COLOURS
from easydata.sources.create import create_source
from easydata.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    from rich.text import Text


_TOKEN_COLUMN = "input_ids"


def inspect_rows(
    data: Sequence[str], rows: int, skip: int, tokenizer: str | None, width: int, report: Report
) -> None:
    """Shows rows `skip` .. `skip + rows` of the files."""
    text = None if tokenizer is None else Tokenizer(tokenizer)
    source = create_source(DatasetConfig(data[0] if len(data) == 1 else list(data)))
    shown = []
    for number, row in enumerate(itertools.islice(iter(source), skip, skip + rows), skip):
        shown.append(_described(number, row, text))
        if not report.as_json:
            _print(number, row, text, width, report)
    if not shown:
        report.line(f"no rows after row {skip}")
    report.result({"files": list(source.shard_names), "rows": shown})


def _segments(row: dict[str, Any]) -> list[tuple[int, int, bool]]:
    """Where documents lie in a row of tokens: (begin, end, whether it is padding)."""
    ids = row[_TOKEN_COLUMN]
    mask = row.get("attention_mask")
    if row.get("segment_ids") is not None:
        marks = list(row["segment_ids"])
    elif row.get("position_ids") is not None:
        starts = (position == 0 for position in row["position_ids"])
        marks = list(itertools.accumulate(int(start) for start in starts))
    else:
        marks = [0] * len(ids)
    if mask is not None:
        marks = [mark if kept else -1 for mark, kept in zip(marks, mask, strict=True)]
    out = []
    begin = 0
    for mark, run in itertools.groupby(marks):
        end = begin + sum(1 for _ in run)
        out.append((begin, end, mark == -1))
        begin = end
    return out


def _has_tokens(row: dict[str, Any]) -> bool:
    ids = row.get(_TOKEN_COLUMN)
    return isinstance(ids, list) and all(isinstance(token, int) for token in ids[:1])


def _described(number: int, row: dict[str, Any], text: "Tokenizer | None") -> dict[str, Any]:
    """A row for --json."""
    out: dict[str, Any] = {"row": number, "columns": row}
    if _has_tokens(row):
        out["segments"] = [
            {"begin": begin, "end": end, "padding": padding}
            | ({} if text is None else {"text": text.decode(row[_TOKEN_COLUMN][begin:end])})
            for begin, end, padding in _segments(row)
        ]
    return out


def _print(
    number: int, row: dict[str, Any], text: "Tokenizer | None", width: int, report: Report
) -> None:
    from rich.text import Text

    report.line(Text(f"row {number}", style="bold"))
    for name, value in row.items():
        if name == _TOKEN_COLUMN and _has_tokens(row):
            segments = _segments(row)
            documents = sum(1 for segment in segments if not segment[2])
            padding = sum(end - begin for begin, end, padded in segments if padded)
            said = f"  {name} ({len(value)} tokens, {documents} segments, {padding} padding): "
            report.line(Text(said, style="dim").append_text(_tokens(value, segments, text, width)))
        else:
            line = Text(f"  {name}: ", style="dim")
            report.line(line.append(_short(value, width), style="default"))


def _tokens(
    ids: list[int], segments: list[tuple[int, int, bool]], text: "Tokenizer | None", width: int
) -> "Text":
    from rich.text import Text

    out = Text()
    for position, (begin, end, padding) in enumerate(segments):
        if begin >= width:
            out.append(" ...", style="dim")
            break
        if position > 0:
            out.append(" ┃ ", style="bold")
        part = ids[begin : min(end, width)]
        if padding:
            out.append(f"{end - begin} × padding", style="dim")
        else:
            shown = " ".join(map(str, part)) if text is None else text.decode(part)
            out.append(shown, style=COLOURS[position % len(COLOURS)])
        if end > width and not padding:
            out.append(" ...", style="dim")
    return out


def _short(value: Any, width: int) -> str:
    shown = value if isinstance(value, str) else repr(value)
    return shown if len(shown) <= width else shown[:width] + " ..."
