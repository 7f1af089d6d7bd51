"""`easydata bench`: the user's own text, measured."""

import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from easydata import _native
from easydata.cli.report import Report
from easydata.core.config import (
    DatasetConfig,
    LoadStageConfig,
    PackStageConfig,
    PipelineConfig,
    TokenizerConfig,
    TokenizeStageConfig,
)
from easydata.core.shown_text import rounded
from easydata.execution.chain import Pipeline
from easydata.sources.create import create_source
from easydata.tokenizers.tokenizer import Tokenizer

_PEER_BATCH = 1000


def bench_files(
    data: Sequence[str],
    tokenizer: str,
    content_field: str,
    seq_length: int,
    megabytes: float,
    rounds: int,
    report: Report,
) -> None:
    """Measures files → tokens → packed rows, in turn with the `tokenizers` library.

    The library only encodes texts that are in memory already; EasyData reads, tokenizes, packs and
    hands out batches.
    """
    engine = Tokenizer(tokenizer)
    texts, size = _read_texts(data, content_field, megabytes)

    seconds: dict[str, list[float]] = {"easydata": [], "tokenizers": []}
    tokens = 0
    with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
        sample = _write_sample(texts, Path(folder))
        for _ in range(rounds):
            elapsed, tokens = _ours(sample, engine, seq_length)
            seconds["easydata"].append(elapsed)
            peer = _theirs(texts, engine)
            if peer is not None:
                seconds["tokenizers"].append(peer)
    _say(texts, size, tokens, seconds, engine, report)


def bench_tokenizer(
    data: Sequence[str],
    tokenizer: str,
    content_field: str,
    megabytes: float,
    rounds: int,
    report: Report,
) -> None:
    """Measures text → ids, in turn with the `tokenizers` library, and compares the ids."""
    import pyarrow as pa

    engine = Tokenizer(tokenizer)
    texts, size = _read_texts(data, content_field, megabytes)
    column = pa.array(texts, pa.large_string())
    library = _library(engine)
    seconds: dict[str, list[float]] = {"easydata": [], "tokenizers": []}
    tokens = 0
    for _ in range(rounds):
        begin = time.perf_counter()
        ids = engine.encode_batch(column)
        seconds["easydata"].append(time.perf_counter() - begin)
        tokens = len(ids.values)
        if library is not None:
            seconds["tokenizers"].append(_compare(library, texts, ids))
    values: dict[str, Any] = {
        "documents": len(texts),
        "bytes": size,
        "tokens": tokens,
        "cores": os.cpu_count(),
        "engine": engine.engine,
        "ids_equal": None if library is None else True,
        "megabytes_per_second": {},
    }
    report.line(
        f"{rounded(len(texts))} documents, {size / 1e6:.1f} MB, {rounded(tokens)} tokens, "
        f"{os.cpu_count()} cores, engine: {engine.engine}"
        + ("" if library is None else "; ids equal in every document")
    )
    rates = {
        name: {"first": size / runs[0] / 1e6, "best": size / min(runs) / 1e6}
        for name, runs in seconds.items()
        if runs
    }
    values["megabytes_per_second"] = rates
    base = rates.get("tokenizers")
    report.table(
        ("MB/s", "first pass", "best pass", "ratio", "best ratio"),
        [
            (
                name,
                *(f"{rate[run]:.1f}" for run in ("first", "best")),
                *("" if base is None else f"{rate[run] / base[run]:.1f}×" for run in rate),
            )
            for name, rate in rates.items()
        ],
    )
    if base is None:
        report.note("the library is not installed: pip install 'easydata[hf]' shows it beside")
    else:
        values["ratio"] = {run: rates["easydata"][run] / base[run] for run in base}
    report.result(values)


def _library(engine: Any) -> Any:
    """A fresh object of the `tokenizers` library for the same file; None: not installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    return tokenizers.Tokenizer.from_str(engine.json.decode())


def _compare(library: Any, texts: Sequence[str], ids: Any) -> float:
    """Seconds that the library takes for the texts.

    Raises:
        RuntimeError: its ids are not these.
    """
    elapsed = 0.0
    for start in range(0, len(texts), _PEER_BATCH):
        batch = list(texts[start : start + _PEER_BATCH])
        begin = time.perf_counter()
        encodings = library.encode_batch_fast(batch)
        elapsed += time.perf_counter() - begin
        for row, encoding in enumerate(encodings, start):
            if ids[row].as_py() != encoding.ids:
                raise RuntimeError(
                    f"the ids of document {row} are not those of the tokenizers library; "
                    "please report it with the text"
                )
    return elapsed


def _read_texts(data: Sequence[str], content_field: str, megabytes: float) -> tuple[list[str], int]:
    """Texts of the files, up to so many megabytes, and their size in bytes."""
    source = create_source(DatasetConfig(data[0] if len(data) == 1 else list(data)))
    texts: list[str] = []
    size = 0
    for row in source:
        if content_field not in row:
            hint = _native.suggestion(content_field, list(row))
            raise _native.MissingKey(f"the rows have no column {content_field!r}{hint}")
        texts.append(str(row[content_field]))
        size += len(texts[-1].encode())
        if size >= megabytes * 2**20:
            break
    if not texts:
        raise ValueError(f"the files hold no rows: {', '.join(data)}")
    return texts, size


def _write_sample(texts: Sequence[str], folder: Path) -> str:
    """The texts that are measured, as one JSONL file."""
    import json

    path = folder / "sample.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return str(path)


def _ours(sample: str, engine: Any, seq_length: int) -> tuple[float, int]:
    """Seconds for files → tokens → packed batches, and the tokens there were."""
    options = TokenizerConfig(engine, truncation=False)
    eos = engine.eos_token_id
    config = PipelineConfig(
        datasets=[DatasetConfig(sample, tokenizer=options)],
        tokenize=TokenizeStageConfig(num_workers=os.cpu_count() or 1),
        pack=PackStageConfig(
            seq_length=seq_length, eos_token_id=0 if eos is None else eos, shuffle_packed=False
        ),
        load=LoadStageConfig(batch_size=8, drop_last=False),
    )
    begin = time.perf_counter()
    tokens = 0
    with Pipeline(config).source().tokenize().pack().load().build() as loader:
        for batch in loader:
            tokens += int(batch["attention_mask"].sum())
    return time.perf_counter() - begin, tokens


def _theirs(texts: Sequence[str], engine: Tokenizer) -> float | None:
    """Seconds that the `tokenizers` library takes to encode the texts; None: not installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    live = tokenizers.Tokenizer.from_str(engine.json.decode())
    begin = time.perf_counter()
    for start in range(0, len(texts), _PEER_BATCH):
        live.encode_batch_fast(list(texts[start : start + _PEER_BATCH]))
    return time.perf_counter() - begin


def _say(
    texts: Sequence[str],
    size: int,
    tokens: int,
    seconds: dict[str, list[float]],
    engine: Any,
    report: Report,
) -> None:
    rates = {name: tokens / statistics.median(runs) for name, runs in seconds.items() if runs}
    values: dict[str, Any] = {
        "documents": len(texts),
        "bytes": size,
        "tokens": tokens,
        "cores": os.cpu_count(),
        "engine": engine.engine,
        "tokens_per_second": rates,
    }
    report.line(
        f"{rounded(len(texts))} documents, {size / 2**20:.1f} MB, {rounded(tokens)} tokens, "
        f"{os.cpu_count()} cores, engine: {engine.engine}"
    )
    what = {
        "easydata": "easydata: read, tokenize, pack, batch",
        "tokenizers": "tokenizers: encode_batch_fast only",
    }
    base = rates.get("tokenizers")
    report.table(
        ("", "tokens/s", "ratio"),
        [
            (what[name], rounded(rate), "" if base is None else f"{rate / base:.1f}×")
            for name, rate in rates.items()
        ],
    )
    if base is None:
        report.note("the library is not installed: pip install 'easydata[hf]' shows it beside")
    else:
        values["ratio"] = rates["easydata"] / base
    report.result(values)
